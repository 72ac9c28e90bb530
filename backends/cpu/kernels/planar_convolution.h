// Convolutions of few input channels with a contiguous result.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PLANAR_CONVOLUTION_H_
#define BELAY_BACKENDS_CPU_KERNELS_PLANAR_CONVOLUTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/calls.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay::cpu {

// Whether RunPlanarConvolution computes this convolution: the images have fewer than kFewChannels
// channels, images and result are contiguous, and a window has at most half as many elements as
// there are filters.
bool IsPlanarConvolution(const TensorView& images, const Window& window, const TensorView& out);

// Computes the planes of a result [n, c, h, w] as rows of a GEMM, whose right operand are the
// patches of the images. `filters` are packed as by PackMatrix, with rows in the order of
// FewChannelTaps. Needs PlanarConvolutionScratch bytes of working memory. Precondition:
// IsPlanarConvolution, and the epilogue has no operand.
absl::Status RunPlanarConvolution(const KernelContext& context, const TensorView& images,
                                  const TensorView& filters, const Window& window,
                                  const EpilogueF32& epilogue, const TensorView& out);
uint64_t PlanarConvolutionScratch(const KernelContext& context, const TensorView& images,
                                  const Window& window);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_PLANAR_CONVOLUTION_H_
