// Normalization of runs of floats.
#ifndef BELAY_RUNTIME_KERNELS_NORM_NORM_H_
#define BELAY_RUNTIME_KERNELS_NORM_NORM_H_

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// out = (in - mean) * rstd * weight + bias over one row; weight and bias may be null. Returns the
// mean and rstd = 1 / sqrt(variance + eps). Two passes, so that large means cost no accuracy. n >
// 0. `out` may be `in`. Error: 16 ULP of the largest |out|; of the mean, 2 ULP of the largest |in|.
struct RowStatistics {
  float mean, rstd;
};
RowStatistics LayerNormRowF32(const float* in, size_t n, const float* weight, const float* bias,
                              float eps, float* out);
// The same for `rows` rows that are stored together. Writes the statistics of each row.
void LayerNormRowsF32(const float* in, size_t rows, size_t n, const float* weight,
                      const float* bias, float eps, float* out, float* mean, float* rstd);

// out[i] = (in[i] - mean) * factor + offset. Error: 4 ULP of the largest |out| or |offset|.
void NormalizeF32(const float* in, size_t n, float mean, float factor, float offset, float* out);

// out[r, c] = (in[r, c] - mean[c]) * factor[c] + offset[c], of rows of `columns` elements that are
// stored together. Error: that of NormalizeF32. `out` may be `in`.
void NormalizeColumnsF32(const float* in, size_t rows, size_t columns, const float* mean,
                         const float* factor, const float* offset, float* out);

// Layer norm, group norm and all variants of batch norm, on float64, float32, float16 and bfloat16
// tensors of any layout. Half precision is computed as float and rounded once. Means and variances of
// groups and batches are accumulated in double precision. Scales outside the range of float32 are
// applied in double precision.
absl::Span<const Kernel> NormHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_NORM_NORM_H_
