// Images of other sizes: nearest neighbors and bilinear interpolation.
//
// The arguments are read and places and weights are computed as in the reference kernels, whose
// text is shared (runtime/kernels/call/upsample_kernels.h). Nearest neighbors have the same
// bits; bilinear interpolation weighs in float, with an error of 4 ULP of the largest element.
#ifndef BELAY_RUNTIME_KERNELS_RESIZE_RESIZE_H_
#define BELAY_RUNTIME_KERNELS_RESIZE_RESIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// out[i] = (1 - share) * a[i] + share * b[i].
void BlendRows(const float* a, const float* b, float share, size_t n, float* out);

// out[i] = (1 - share[i]) * row[first[i]] + share[i] * row[second[i]].
void BlendColumns(const float* row, const int32_t* first, const int32_t* second, const float* share,
                  size_t n, float* out);

absl::Span<const Kernel> ResizeHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_RESIZE_RESIZE_H_
