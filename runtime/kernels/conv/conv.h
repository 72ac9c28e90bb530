// Convolutions of one, two and three dimensions.
//
// Dense convolutions are matrix products whose right side is never written out: panels of patches
// are gathered as the product asks for them (Chetlur et al., 2014, "implicit GEMM"). Depthwise ones
// take a plane at a time. Transposed ones are a product per kernel place, added to the results that
// it reaches.
// Accuracy: as gemm.h says, with k the size of a patch; half precision computes as float and is
// rounded once.
#ifndef BELAY_RUNTIME_KERNELS_CONV_CONV_H_
#define BELAY_RUNTIME_KERNELS_CONV_CONV_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// A convolution with three spatial dimensions: depth, height, width; missing ones are of size 1.
struct ConvGeometry {
  int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t plane() const { return size[0] * size[1] * size[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_filters() const { return filters / groups; }
  // Meaningless, but defined, for weights that do not fit.
  int64_t patch() const {
    return static_cast<int64_t>(static_cast<uint64_t>(group_channels()) *
                                static_cast<uint64_t>(taps()));
  }
  bool depthwise() const { return group_channels() == 1; }
  // The product's right side is the image itself.
  bool pointwise() const {
    for (int d = 0; d < 3; ++d) {
      if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
    }
    return true;
  }
  // Where kernel place k begins to read (or, transposed, to write).
  int64_t shift(int d, int64_t k) const { return k * dilation[d] - padding[d]; }
};

// The places x < count whose counterpart x * stride + shift lies in [0, size): first <= x < last.
struct InsideRange {
  int64_t first, last;
};
inline InsideRange Inside(int64_t stride, int64_t shift, int64_t size, int64_t count) {
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t last = size - shift <= 0 ? 0 : (size - shift + stride - 1) / stride;
  return {std::min(first, count), std::max(std::min(first, count), std::min(last, count))};
}

// One image plane by one filter of g.taps() weights, plus bias: g.out_plane() results. Sums in order
// of the taps, from the bias on.
void DepthwisePlaneF32(const ConvGeometry& g, const float* image, const float* weight, float bias,
                       float* out);

// out[i] += in[i] for i < count.
void AddRowF32(const float* in, int64_t count, float* out);

// aten.convolution: plain and transposed, any stride, padding, dilation and groups, on float32,
// float16 and bfloat16 tensors of any layout.
absl::Span<const Kernel> ConvHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CONV_CONV_H_
