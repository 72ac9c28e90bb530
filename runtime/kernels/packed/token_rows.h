// Operators on rows of tokens between the GEMMs of language models.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_TOKEN_ROWS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_TOKEN_ROWS_H_

#include <cstddef>

namespace belay {

// out[j] = in[j] / sqrt(mean(in[i]^2) + epsilon) * weight[j], for rows of n; a null `weight` stands
// for ones (Zhang and Sennrich, 2019). `out` may be `in`. Accuracy, relative: (n / 2 + 8) * 2^-24,
// if no square overflows or is subnormal.
void RmsNormRows(const float* in, const float* weight, float epsilon, size_t rows, size_t n,
                 float* out);

// Rotary embedding: rotates each pair (in[j], in[half + j]) by an angle (Su et al., 2021,
// half-split layout):
//   out[j] = in[j] * cosine[j] - in[half + j] * sine[j]
//   out[half + j] = in[half + j] * cosine[second + j] + in[j] * sine[second + j]
// `second` is 0, or `half` if both elements of a pair have their own cosines. Accuracy: 2^-23 of
// the sum of both products' absolute values. `out` does not overlap the other arrays.
void RotateRow(const float* in, const float* cosine, const float* sine, size_t half, size_t second,
               float* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_TOKEN_ROWS_H_
