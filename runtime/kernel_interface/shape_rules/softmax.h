// Calls of softmax and log_softmax.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SOFTMAX_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SOFTMAX_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// _softmax, _log_softmax along one dimension; the result has the same shape and dtype.
template <class Arguments>
struct SoftmaxCall {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0

  static absl::StatusOr<SoftmaxCall> Read(const Arguments& arguments) {
    SoftmaxCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.dim, NormalizeDim(dim, call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(const bool half_to_float, arguments.Bool("half_to_float"));
    if (!half_to_float) return call;
    return absl::InvalidArgumentError("half_to_float: expected false, as on every CPU");
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SOFTMAX_H_
