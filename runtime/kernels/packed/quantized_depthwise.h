// Depthwise convolutions of quantized channels-last images: depthwise.h in integers.
//
// Four vertically adjacent pixels are interleaved once and multiplied by the weights of every
// window column that contains them, four products at a time.
//
// Sums are exact: every instruction set and every range gives the same bits (requantize.h).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_DEPTHWISE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_DEPTHWISE_H_

#include <cstdint>

#include "runtime/kernels/packed/depthwise_geometry.h"
#include "runtime/kernels/packed/requantize.h"

namespace belay {

// Positions outside the image have the value of the input's zero point.
struct QuantizedDepthwiseArgs : DepthwiseGeometry {
  const uint8_t* in = nullptr;
  // PackedQuantizedDepthwiseSize(channels, kernel_height, kernel_width) bytes.
  const int8_t* weight = nullptr;
  void* out = nullptr;  // float or uint8_t, as the epilogue says
  QuantizedEpilogue epilogue = {};
};

// Computes rows [first, last) of the batch * out_height rows of results. `out` overlaps no input.
void QuantizedDepthwiseRows(const QuantizedDepthwiseArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_DEPTHWISE_H_
