// The call of an operator of one tensor, for kernels defined in tests.
#ifndef BELAY_TOOLS_PROFILE_TESTING_UNARY_CALL_H_
#define BELAY_TOOLS_PROFILE_TESTING_UNARY_CALL_H_

#include "absl/status/statusor.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace belay::tools {

struct UnaryCall {
  const TensorView* self = nullptr;
  static absl::StatusOr<UnaryCall> Read(const KernelArguments& arguments) {
    UnaryCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    return call;
  }
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_TESTING_UNARY_CALL_H_
