// The compile-time side: which nodes the backend takes, and sub-programs → payloads.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_XNNPACK_BACKEND_H_
#define BELAY_BACKENDS_XNNPACK_AOT_XNNPACK_BACKEND_H_

#include <memory>
#include <vector>

#include "backends/xnnpack/aot/operation.h"
#include "executorch/format/xnnpack_payload.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::xnnpack {

// Compile specs: target=local (what the runtime of this backend executes; the default) or
// target=executorch-1.5.
class XnnpackBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return kBackendId; }
  std::string_view target() const override { return "//backends/xnnpack:aot"; }
  //   kInvalidArgument  as TargetOf
  //   kUnimplemented    as WritePayload
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Takes what CheckTaken takes, outside of bodies of control flow, in few large partitions; one
// that would only move elements stays where it is. Partition() fails as TargetOf does.
std::unique_ptr<exir::Partitioner> CreateXnnpackPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_XNNPACK_BACKEND_H_
