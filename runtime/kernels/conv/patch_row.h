// Rows of im2col matrices, packed for GEMMs whose columns are the pixels of a result.
#ifndef BELAY_RUNTIME_KERNELS_CONV_PATCH_ROW_H_
#define BELAY_RUNTIME_KERNELS_CONV_PATCH_ROW_H_

#include <cstddef>
#include <cstdint>

namespace belay {

// A convolution with three spatial dimensions: depth, height, width. Missing dimensions have size
// 1.
struct ConvGeometry {
  // For fewer filters per group, packing patches costs more than it saves.
  static constexpr int64_t kGemmFilters = 4;

  int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t plane() const { return size[0] * size[1] * size[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_filters() const { return filters / groups; }
  // Wraps if the weight is too large for int64.
  int64_t patch() const {
    return static_cast<int64_t>(static_cast<uint64_t>(group_channels()) *
                                static_cast<uint64_t>(taps()));
  }
  // Whether it is computed without a GEMM: few filters read each channel.
  bool depthwise() const { return group_channels() == 1 && group_filters() < kGemmFilters; }
  // Whether the image itself is the right operand of the GEMM.
  bool pointwise() const {
    for (int d = 0; d < 3; ++d) {
      if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
    }
    return true;
  }
  // First position that kernel position k reads (or, transposed, writes).
  int64_t shift(int d, int64_t k) const { return k * dilation[d] - padding[d]; }
};

// Source of PackPatches: the channels of one group of one image.
struct PatchSource {
  const ConvGeometry* g;
  const float* image;
  // Whether the rows of a panel are those of kernel positions with all channels. Otherwise they are
  // those of channels with all kernel positions.
  bool channels_innermost = false;
};

// Implements PackPanelFn (runtime/kernels/packed/packed_gemm.h) for a PatchSource.
void PackPatches(const void* source, size_t first, size_t count, size_t stride, float* panel);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CONV_PATCH_ROW_H_
