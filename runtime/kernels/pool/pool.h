// Pooling of one row of outputs.
#ifndef BELAY_RUNTIME_KERNELS_POOL_POOL_H_
#define BELAY_RUNTIME_KERNELS_POOL_POOL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Windows of one row of outputs over one volume [depth, height, width]. Window x covers columns
// x * stride - padding + k * dilation, rows first_row + j * row_dilation and planes first_plane +
// i * plane_dilation. Positions outside the volume are skipped. Precondition if positions are
// returned: depth * height * width < 2^31.
template <class T>
struct PoolRowOf {
  const T* volume = nullptr;
  int64_t depth = 1, height = 0, width = 0;
  int64_t first_plane = 0, kernel_depth = 1, plane_dilation = 1;
  int64_t first_row = 0, kernel_height = 0, row_dilation = 1;
  int64_t kernel_width = 0, stride = 1, padding = 0, dilation = 1;
  int64_t outputs = 0;
  // Not 0: elements from row to row of a copy of the volume (MaxPoolRowF32, AveragePoolRowF32).
  // Windows are within padding around each row, whose elements do not change results: -infinity or
  // 0. A vector of windows from a multiple of 16 on can be read, and kPoolSlack elements after the
  // last row. Preconditions: the stride is at most 2, the dilations are 1, and each window has an
  // element of the volume.
  int64_t padded_pitch = 0;
};
inline constexpr int64_t kPoolSlack = 64;
using PoolRow = PoolRowOf<float>;

// Returns the largest element of each window and its position, (plane * height + row) * width +
// column. Of equal elements, the first wins. NaN wins over every number; of several NaN, the last
// wins. Exact.
//
// A window without an element inside the volume gives -infinity. Its position is the window's first
// nonnegative plane, row and column, even beyond the volume, as in the reference kernel and PyTorch.
void MaxPoolRowF32(const PoolRow& row, float* out, int64_t* index);

// The same for channels-last images: the volume is [depth, height, width, channels], results are
// [outputs, channels]. If `index` is null, positions are not written.
void MaxPoolChannelsF32(const PoolRow& row, int64_t channels, float* out, int64_t* index);

// The same maxima without positions. A window without an element gives 0 for uint8. If a bfloat16
// window has several NaN, the result is 0x7FFF.
void MaxPoolChannels(const PoolRowOf<BFloat16>& row, int64_t channels, BFloat16* out);
void MaxPoolChannels(const PoolRowOf<uint8_t>& row, int64_t channels, uint8_t* out);
inline void MaxPoolChannels(const PoolRow& row, int64_t channels, float* out) {
  MaxPoolChannelsF32(row, channels, out, /*index=*/nullptr);
}

// out[x] = sum of window x / (lines * columns[x]). Error: that of a float sum in the order of
// planes, rows, columns, and of two roundings.
void AveragePoolRowF32(const PoolRow& row, float lines, const float* columns, float* out);

// max_pool2d_with_indices and max_pool3d_with_indices, average and adaptive average pooling of one to three dimensions, on
// float32, float16 and bfloat16 tensors of any layout. Maxima are exact and adaptive averages
// within 1 ULP. The other averages have the error of a float sum over the window: one ULP of the
// largest sum per element.
absl::Span<const Kernel> PoolHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POOL_POOL_H_
