// Convolutions of one, two and three dimensions.
//
// Dense convolutions are matrix products whose right side is never written out: panels of patches
// are gathered as the product asks for them (Chetlur et al., 2014, "implicit GEMM"). Depthwise ones
// walk rows. Transposed ones are a product per kernel place, added to the results that it reaches.
// Accuracy: as gemm.h says, with k the size of a patch; half precision computes as float and is
// rounded once.
#ifndef BELAY_RUNTIME_KERNELS_CONV_CONV_H_
#define BELAY_RUNTIME_KERNELS_CONV_CONV_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// One image plane by one filter: adds w[kh,kw] * in to a row of outputs.
//   out[x] += w * in[x * stride + shift] for first <= x < last. Every place read lies in [0,
//   width).
void AccumulateRowF32(const float* in, int64_t width, float w, int64_t stride, int64_t shift,
                      int64_t first, int64_t last, float* out);

// aten.convolution: plain and transposed, any stride, padding, dilation and groups, on float32,
// float16 and bfloat16 tensors of any layout.
absl::Span<const Kernel> ConvHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CONV_CONV_H_
