#include "backends/demo/separate_memory_backend.h"

#include <utility>

#include "backends/demo/demo_backend.h"
#include "exir/backend/transforms/target_device.h"

namespace belay::demo {

absl::StatusOr<exir::PreprocessResult> SeparateMemoryBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  if (compile_specs.size() != 1 || compile_specs[0].key != exir::kTargetDeviceKey) {
    return absl::InvalidArgumentError("expected one compile spec, the target_device");
  }
  return DemoBackend().Preprocess(std::move(program), {});
}

}  // namespace belay::demo
