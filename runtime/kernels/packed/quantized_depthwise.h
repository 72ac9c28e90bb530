// Depthwise convolutions of quantized images whose channels lie together: depthwise.h in integers.
//
// Four pixels one below the other are interleaved once, and meet the weights of all columns of the
// window that they are in, four products at a time.
//
// Sums are exact: every instruction set and every range gives the same bits (requantize.h).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_DEPTHWISE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_DEPTHWISE_H_

#include <cstdint>

#include "runtime/kernels/packed/depthwise_geometry.h"
#include "runtime/kernels/packed/requantize.h"

namespace belay {

// What lies outside of an image is the input's zero point.
struct QuantizedDepthwiseArgs : DepthwiseGeometry {
  const uint8_t* in = nullptr;
  // PackedQuantizedDepthwiseSize(channels, kernel_height, kernel_width) bytes.
  const int8_t* weight = nullptr;
  void* out = nullptr;  // float or uint8_t, as the epilogue says
  QuantizedEpilogue epilogue = {};
};

// Rows [first, last) of the batch * out_height rows of results. `out` overlaps no input.
void QuantizedDepthwiseRows(const QuantizedDepthwiseArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_DEPTHWISE_H_
