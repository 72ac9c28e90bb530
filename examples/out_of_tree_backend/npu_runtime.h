// The run-time side: checks and executes blobs. Does not depend on the compiler.
#ifndef NPU_RUNTIME_H_
#define NPU_RUNTIME_H_

#include "runtime/backend/backend_runtime.h"

namespace npu {

class NpuRuntime final : public belay::BackendRuntime {
 public:
  std::string_view id() const override { return "npu"; }
  //   kDataLoss           the blob is malformed
  //   kUnimplemented      an unknown instruction
  //   kInvalidArgument    the blob does not match the call
  //   kResourceExhausted  no memory for its registers
  absl::StatusOr<std::unique_ptr<belay::DelegateHandle>> Init(
      const belay::DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace npu

#endif  // NPU_RUNTIME_H_
