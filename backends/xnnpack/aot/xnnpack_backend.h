// The compile-time part of the XNNPACK backend: partitioning, and conversion of sub-programs to
// payloads.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_XNNPACK_BACKEND_H_
#define BELAY_BACKENDS_XNNPACK_AOT_XNNPACK_BACKEND_H_

#include <memory>
#include <vector>

#include "backends/xnnpack/aot/operation.h"
#include "executorch/format/xnnpack_payload.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::xnnpack {

// Compile specs: target=local (default: what this backend's runtime executes) or
// target=executorch-1.5; operators=NAME,NAME limits the operators that compute, precision=float32 or
// precision=int8 their datatypes (ExecuTorch's per-op configurations and ConfigPrecisionType).
class XnnpackBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return kBackendId; }
  std::string_view target() const override { return "//backends/xnnpack:aot"; }
  //   kInvalidArgument  as ChoicesOf
  //   kUnimplemented    as WritePayload
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Groups the nodes that CheckSupported accepts into few large partitions, in the program and in its
// control flow subgraphs. Partitions that only move elements are dropped. Partition() returns the
// errors of ChoicesOf.
std::unique_ptr<exir::Partitioner> CreateXnnpackPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_XNNPACK_BACKEND_H_
