// Calls of cumulative operators (sum, product, max, min) along one dimension. Results have the
// input's shape.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SCAN_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SCAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/dims.h"
#include "runtime/kernel_interface/shape_rules/reduction.h"

namespace belay {

// Default dtype of sums.
inline DType SumDType(DType dtype) { return IsIntegral(dtype, true) ? DType::kInt64 : dtype; }

// cumsum, cumprod.
template <class Arguments>
struct CumulateCall {
  typename Arguments::TensorRef self;
  int dim = 0;                    // counted from 0
  DType dtype = DType::kFloat32;  // of the result

  static absl::StatusOr<CumulateCall> Read(const Arguments& arguments) {
    CumulateCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kSummableTypes));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", SumDType(call.self->dtype)));
    return call;
  }
};

// logcumsumexp, of the input's dtype.
template <class Arguments>
struct LogCumulateCall {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0

  static absl::StatusOr<LogCumulateCall> Read(const Arguments& arguments) {
    LogCumulateCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    return call;
  }
};

// cummax, cummin -> (values, indices).
template <class Arguments>
struct RunningExtremeCall {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0

  static absl::StatusOr<RunningExtremeCall> Read(const Arguments& arguments) {
    RunningExtremeCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kRealTypes));
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    return call;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SCAN_H_
