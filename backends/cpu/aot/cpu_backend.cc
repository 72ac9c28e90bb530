#include "backends/cpu/aot/cpu_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/passes/cpu_passes.h"
#include "exir/emit/emitter.h"
#include "exir/pass/pass_manager.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

absl::StatusOr<exir::PreprocessResult> CpuBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  if (!compile_specs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown compile spec '", compile_specs[0].key, "'; there are none"));
  }
  FusedHandles handles;
  ABSL_ASSIGN_OR_RETURN(program, exir::RunPasses(std::move(program), CpuPasses(handles)));
  exir::PreprocessResult result;
  result.debug_handle_map = handles.MapOf(program);
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
  result.processed = file.ToStorage();
  return result;
}

}  // namespace belay::cpu
