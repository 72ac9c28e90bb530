// The logistic function.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_LOGISTIC_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_LOGISTIC_H_

#include <cmath>
#include <type_traits>

namespace belay {

// 1 / (1 + exp(-x)). Real arguments below 0 take exp(x) / (1 + exp(x)), which is exact to a few ULP
// where exp(-x) overflows.
template <class T>
T Logistic(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x < 0) {
      const T e = std::exp(x);
      return e / (T{1} + e);
    }
  }
  return T{1} / (T{1} + std::exp(-x));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_LOGISTIC_H_
