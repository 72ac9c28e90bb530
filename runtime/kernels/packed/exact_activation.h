// Activations in double precision, for tests and reference loops.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_EXACT_ACTIVATION_H_
#define BELAY_RUNTIME_KERNELS_PACKED_EXACT_ACTIVATION_H_

#include <algorithm>
#include <cmath>

#include "runtime/kernels/packed/epilogue.h"

namespace belay {

inline double ExactActivation(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kHardsigmoid:
      return std::isnan(x) ? x : std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kHardswish:
      return std::isnan(x) ? x : x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5)));
    case Activation::kGeluTanh:
      return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_EXACT_ACTIVATION_H_
