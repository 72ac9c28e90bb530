// Depthwise convolutions of images whose channels lie together.
//
// For a vector of channels, the weights of a window's row stay in registers while they meet several
// neighboring pixels, whose inputs are shared: 13 loads for 24 multiply-adds of a 3x3 window with
// stride 1 (as in ONNX Runtime's NCHWc kernels; a pixel at a time takes 2 loads each).
//
// Accuracy: plain sums of floats in order of the window, from the bias on, with fused multiply-add:
// at most (taps + 4) * 2^-24 * sum |x w| from the exact result. Places outside of the image add
// nothing. The result does not depend on the range that is computed. Instruction sets differ in
// nothing: every element is summed in the same order.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_H_

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/packed/depthwise_geometry.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay {

struct DepthwiseArgs : DepthwiseGeometry {
  const float* in = nullptr;
  const float* weight = nullptr;  // PackedDepthwiseSize(channels, taps) floats
  float* out = nullptr;           // epilogue.other lies alike
  EpilogueF32 epilogue = {};
  // Where only the last rows are kept, row y lies where row y & mask would: one less than a power of
  // two, at least the rows that one row of results meets. All bits: every row has its place. Only
  // of one image.
  int64_t in_row_mask = -1, out_row_mask = -1;
};

// Rows [first, last) of the batch * out_height rows of results. `out` overlaps no input but perhaps
// epilogue.other.
void DepthwiseRows(const DepthwiseArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_H_
