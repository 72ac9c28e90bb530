// Parameters of Fourier transforms.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_FFT_PARAMETERS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_FFT_PARAMETERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/shape_rules/fft.h"

namespace belay {

// Returns the scale of the results: 1, 1 / sqrt(n) or 1 / n for the n elements of `dims`.
inline double FftScale(const FftParams& params, const Sizes& sizes, const Sizes& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(sizes[static_cast<int>(d)]);
  if (params.normalization == 0) return 1;
  return params.normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
}

// Returns the largest size; at least `least`.
inline int64_t LongestDim(const Sizes& sizes, int64_t least = 1) {
  for (int64_t size : sizes) least = std::max(least, size);
  return least;
}

// Upper bound of the sizes of the input and the result of _fft_c2r; the result is as planned.
inline int64_t LongestInverseDim(const TensorView& self, const TensorView& out) {
  int64_t longest = LongestDim(out.sizes);
  // A result has less than twice as many elements as the input.
  for (int64_t size : self.sizes) {
    longest = std::max(longest, size < int64_t{1} << 60 ? 2 * size : size);
  }
  return longest;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_FFT_PARAMETERS_H_
