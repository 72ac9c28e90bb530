// Image resampling: nearest neighbor and bilinear interpolation.
//
// Arguments, positions and weights are computed by code shared with the reference kernels
// (runtime/kernels/operands/upsample_kernels.h). Nearest-neighbor results have the same bits. Bilinear
// interpolation computes in float, with an error of 4 ULP of the largest element.
#ifndef BELAY_RUNTIME_KERNELS_RESIZE_RESIZE_H_
#define BELAY_RUNTIME_KERNELS_RESIZE_RESIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// out[i] = (1 - share) * a[i] + share * b[i].
void BlendRows(const float* a, const float* b, float share, size_t n, float* out);

// The positions and weights of n columns.
struct BlendedColumns {
  const int32_t *first, *second;
  const float* share;
  size_t n = 0;
};

// out[i] = (1 - share[i]) * row[first[i]] + share[i] * row[second[i]] for each column, with
// row = BlendRows(a, b, row_share) of `width` > 0 elements, which is written to `blend`. Without
// `b`, the row is `a`.
void BlendImageRow(const float* a, const float* b, float row_share, size_t width,
                   const BlendedColumns& columns, float* blend, float* out);

// The same for pixels of adjacent channels:
// out[i][c] = (1 - share[i]) * row[first[i]][c] + share[i] * row[second[i]][c].
void BlendPixels(const float* row, const int32_t* first, const int32_t* second, const float* share,
                 size_t n, size_t channels, float* out);

// sums[i] += weight * row[i].
void AddScaledRow(const float* row, float weight, size_t n, float* sums);

// out[i] = sum over k < counts[i] of weights[k * n + i] * row[first[i] + k]. Weights of larger k,
// up to the largest count, must be 0.
void BlendWindows(const float* row, const int32_t* first, const int32_t* counts,
                  const float* weights, size_t n, float* out);

// out[2 i] = out[2 i + 1] = row[i], for n elements of `bytes` bytes: 1, 2 or 4.
void RepeatEach(const void* row, size_t n, size_t bytes, void* out);

absl::Span<const Kernel> ResizeHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_RESIZE_RESIZE_H_
