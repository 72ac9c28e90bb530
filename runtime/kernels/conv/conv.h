// Convolutions of one, two and three dimensions.
//
// Dense convolutions are implicit GEMMs: panels of im2col patches are gathered on demand, and the
// full patch matrix is never stored (Chetlur et al., 2014, "implicit GEMM"). Depthwise convolutions
// of two dimensions are computed channels last, in copies of 16 channels and some rows; others one
// plane at a time. Transposed convolutions are one GEMM per kernel position, whose results are
// accumulated into the outputs. Windows of 3 x 3 over large images are Winograd convolutions
// (winograd_strips.h). Accuracy: as in gemm.h, with k the size of a patch, or in winograd.h.
// Half precision is computed as float and rounded once.
#ifndef BELAY_RUNTIME_KERNELS_CONV_CONV_H_
#define BELAY_RUNTIME_KERNELS_CONV_CONV_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/conv/patch_row.h"

namespace belay {

// Convolves one image plane with one filter of g.taps() weights and adds bias: g.out_plane()
// results. Accumulates the taps in order, starting from the bias.
void DepthwisePlaneF32(const ConvGeometry& g, const float* image, const float* weight, float bias,
                       float* out);

// aten.convolution: plain and transposed, any stride, padding, dilation and groups, on float32,
// float16 and bfloat16 tensors of any layout.
absl::Span<const Kernel> ConvHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CONV_CONV_H_
