// The compile-time side: selects nodes for the npu and compiles them.
#ifndef NPU_BACKEND_H_
#define NPU_BACKEND_H_

#include <memory>
#include <string_view>

#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace npu {

class NpuBackend final : public belay::exir::Backend {
 public:
  std::string_view id() const override { return "npu"; }
  //   kUnimplemented    a node that the partitioner does not support, or state
  //   kInvalidArgument  any compile spec; the backend has none
  absl::StatusOr<belay::exir::PreprocessResult> Preprocess(
      belay::exir::ExportedProgram program,
      absl::Span<const belay::exir::CompileSpec> compile_specs) const override;
};

// Selects add, mul and relu of contiguous f32 tensors of one static size, in few large partitions.
std::unique_ptr<belay::exir::Partitioner> CreateNpuPartitioner();

}  // namespace npu

#endif  // NPU_BACKEND_H_
