// Rounding to narrower floating-point types, for operators that PyTorch defines step by step.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_ROUNDING_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_ROUNDING_H_

#include "runtime/core/element.h"

namespace belay {

using RoundFn = double (*)(double);

template <class T>
double RoundVia(double x) {
  return static_cast<double>(static_cast<ComputeType<T>>(ConvertElement<T>(x)));
}

// Returns the function that rounds to float16, bfloat16 or float32. For other dtypes it is the
// identity.
inline RoundFn RoundingTo(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return &RoundVia<Half>;
    case DType::kBFloat16:
      return &RoundVia<BFloat16>;
    case DType::kFloat32:
      return &RoundVia<float>;
    default:
      return &RoundVia<double>;
  }
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_ROUNDING_H_
