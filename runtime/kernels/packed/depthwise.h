// Depthwise convolutions of channels-last images.
//
// For a vector of channels, the weights of a window's row stay in registers and are applied to
// several neighboring pixels, which share inputs: 13 loads for 24 multiply-adds of a 3x3 window
// with stride 1 (as in ONNX Runtime's NCHWc kernels; one pixel at a time takes 2 loads each).
//
// Accuracy: float sums in window order, starting from the bias, with fused multiply-add: at most
// (taps + 4) * 2^-24 * sum |x w| from the exact result. Positions outside the image add nothing.
// The result depends neither on the range that is computed nor on the instruction set: every
// element is summed in the same order.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_H_

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/packed/depthwise_geometry.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay {

template <class T>
struct DepthwiseArgsOn : DepthwiseGeometry {
  const T* in = nullptr;
  const float* weight = nullptr;  // PackedDepthwiseSize(channels, taps) floats
  // Distance of the taps of two panels of channels of `weight`, in taps; for a plane of a volume's window,
  // the taps of the volume's window. 0: those of this window.
  int64_t weight_taps = 0;
  T* out = nullptr;  // epilogue.other has the same layout
  EpilogueOn<T> epilogue = {};
  // Ring buffer of rows: row y is stored at row y & mask. A mask is a power of two minus one; the
  // buffer has at least the rows that one row of results reads. All bits set: no ring buffer. Only
  // for one image.
  int64_t in_row_mask = -1, out_row_mask = -1;
};

using DepthwiseArgs = DepthwiseArgsOn<float>;

// Computes rows [first, last) of the batch * out_height rows of results. `out` may alias
// epilogue.other, but no input.
void DepthwiseRows(const DepthwiseArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_H_
