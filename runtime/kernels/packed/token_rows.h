// What language models do to rows of tokens between products.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_TOKEN_ROWS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_TOKEN_ROWS_H_

#include <cstddef>

namespace belay {

// out[j] = in[j] / sqrt(mean of in[i]^2 + epsilon) * weight[j], for rows of n; `weight` null for ones
// (Zhang and Sennrich, 2019). `out` may be `in`. Accuracy, relative: (n / 2 + 8) * 2^-24, where no
// square overflows or is subnormal.
void RmsNormRows(const float* in, const float* weight, float epsilon, size_t rows, size_t n,
                 float* out);

// Turns the pairs (in[j], in[half + j]) by an angle each (Su et al., 2021, in halves):
//   out[j] = in[j] * cosine[j] - in[half + j] * sine[j]
//   out[half + j] = in[half + j] * cosine[second + j] + in[j] * sine[second + j]
// `second` is 0, or half where both numbers of a pair have cosines of their own. Accuracy: 2^-23 of the
// sum of both products' absolute values. `out` does not overlap the others.
void RotateRow(const float* in, const float* cosine, const float* sine, size_t half, size_t second,
               float* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_TOKEN_ROWS_H_
