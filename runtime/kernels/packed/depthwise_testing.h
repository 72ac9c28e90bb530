// Problems shared by tests of depthwise convolutions.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_TESTING_H_
#define BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_TESTING_H_

#include <cstdint>

#include "runtime/kernels/packed/depthwise_geometry.h"

namespace belay {

struct TestWindow {
  int64_t height, width, stride, padding, dilation;
};

// Number of positions of a window of `kernel` elements in `size`; 0 if it does not fit.
inline int64_t WindowPlaces(int64_t size, int64_t kernel, const TestWindow& w) {
  const int64_t room = size + 2 * w.padding - w.dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / w.stride + 1;
}

// Geometry for a batch of two images.
inline DepthwiseGeometry TestGeometry(int64_t channels, int64_t height, int64_t width,
                                      const TestWindow& w) {
  return {.batch = 2,
          .channels = channels,
          .height = height,
          .width = width,
          .out_height = WindowPlaces(height, w.height, w),
          .out_width = WindowPlaces(width, w.width, w),
          .kernel_height = w.height,
          .kernel_width = w.width,
          .stride_y = w.stride,
          .stride_x = w.stride,
          .padding_y = w.padding,
          .padding_x = w.padding,
          .dilation_y = w.dilation,
          .dilation_x = w.dilation};
}
// Number of elements of the result.
inline size_t OutputSize(const DepthwiseGeometry& g) {
  return static_cast<size_t>(g.batch * g.out_height * g.out_width * g.channels);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_TESTING_H_
