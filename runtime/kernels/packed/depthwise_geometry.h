// Sizes of a depthwise convolution.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_GEOMETRY_H_
#define BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_GEOMETRY_H_

#include <cstdint>

namespace belay {

// All images are dense [n, h, w, c]. 0 <= padding_x; all sizes are at least 1. A negative padding_y
// skips rows: it is that of a strip of results below the first one.
struct DepthwiseGeometry {
  int64_t batch = 0, channels = 0;
  int64_t height = 0, width = 0;
  int64_t out_height = 0, out_width = 0;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t padding_y = 0, padding_x = 0;
  int64_t dilation_y = 1, dilation_x = 1;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_GEOMETRY_H_
