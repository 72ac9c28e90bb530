// Convolutions of images and volumes with few filters per group, over padded copies.
//
// The channels of a group are copied from some image rows to pixels of 16 channels, so that each tap
// of a line of results is an operand of PixelGemm (runtime/kernels/packed/pixel_gemm.h). In place, pixels
// a multiple of 4096 bytes apart would evict each other in the L1 cache.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PIXEL_CONVOLUTION_H_
#define BELAY_BACKENDS_CPU_KERNELS_PIXEL_CONVOLUTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/convolution_calls.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay::cpu {

// Whether the convolution is supported and faster so: channels last operands, results of several lines
// of at least 14 pixels, strides in a plane of at most the window, and groups of 9 to 16 filters that
// are not narrow (runtime/kernels/packed/narrow_groups.h), or a single one with at least 8 channels.
bool IsPixelConvolution(const TensorView& images, const VolumeWindow& window, int64_t groups,
                        const TensorView& out);

// Computes a result that is not empty. `filters`: prepacked groups (packed_weights.h). Needs the working
// memory that PixelConvolutionScratch returns. Precondition: IsPixelConvolution.
absl::Status RunPixelConvolution(const KernelContext& context, const TensorView& images,
                                 const TensorView& filters, const VolumeWindow& window,
                                 int64_t groups, const EpilogueF32& epilogue,
                                 const TensorView& out);

uint64_t PixelConvolutionScratch(const KernelContext& context, const TensorView& images,
                                 const VolumeWindow& window, int64_t groups);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_PIXEL_CONVOLUTION_H_
