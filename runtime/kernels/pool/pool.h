// Pooling of rows of images.
#ifndef BELAY_RUNTIME_KERNELS_POOL_POOL_H_
#define BELAY_RUNTIME_KERNELS_POOL_POOL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// The windows of one row of outputs over one plane: window x covers columns x * stride - padding +
// k * dilation, and the rows first_row + j * row_dilation. What lies outside the plane is left out.
// height * width < 2^31 where places are wanted.
template <class T>
struct PoolRowOf {
  const T* plane = nullptr;
  int64_t height = 0, width = 0;
  int64_t first_row = 0, kernel_height = 0, row_dilation = 1;
  int64_t kernel_width = 0, stride = 1, padding = 0, dilation = 1;
  int64_t outputs = 0;
};
using PoolRow = PoolRowOf<float>;

// The largest element of each window and where it is (row * width + column). Of equals the first
// counts; NaN wins over every number, and of several the last. A window without an element inside
// the plane has -infinity, at its first row and column that are not before 0, be they behind the
// end or not (as the reference kernel and PyTorch). Exact.
void MaxPoolRowF32(const PoolRow& row, float* out, int64_t* index);

// The same of images whose channels lie together: the plane is [height, width, channels], and so are
// the rows of results [outputs, channels]. No places where `index` is null.
void MaxPoolChannelsF32(const PoolRow& row, int64_t channels, float* out, int64_t* index);

// Those maxima alone; of bytes 0 for a window without an element. Of several NaN of bfloat16 the bits
// are 0x7FFF.
void MaxPoolChannels(const PoolRowOf<BFloat16>& row, int64_t channels, BFloat16* out);
void MaxPoolChannels(const PoolRowOf<uint8_t>& row, int64_t channels, uint8_t* out);
inline void MaxPoolChannels(const PoolRow& row, int64_t channels, float* out) {
  MaxPoolChannelsF32(row, channels, out, /*index=*/nullptr);
}

// The sum of each window. Error: that of a float sum in the order of rows, then columns.
void SumPoolRowF32(const PoolRow& row, float* out);

// max_pool2d_with_indices, averages and adaptive averages of one to three dimensions, on float32,
// float16 and bfloat16 tensors of any layout. Maxima are exact, adaptive averages within 1 ULP, the
// other averages within what summing a window in float costs: a unit of the largest sum per
// element.
absl::Span<const Kernel> PoolHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POOL_POOL_H_
