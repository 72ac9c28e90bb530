// The call of relu, for kernels that tests make wrong on purpose.
#ifndef BELAY_TOOLS_BELAY_RELU_CALL_H_
#define BELAY_TOOLS_BELAY_RELU_CALL_H_

#include "absl/status/statusor.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel_arguments.h"

namespace belay::tools {

struct ReluCall {
  const TensorView* self = nullptr;
  static absl::StatusOr<ReluCall> Read(const KernelArguments& arguments) {
    ReluCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    return call;
  }
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_RELU_CALL_H_
