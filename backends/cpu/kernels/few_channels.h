// Convolutions of images with few channels, such as the first of a network, and those with few
// filters.
//
// The terms of a window row are runs of its image rows, one per channel of contiguous images, so
// that a row of results is a GEMM of short sums (runtime/kernels/packed/short_gemm.h). Only rows
// with padding on the left or right are copied.
#ifndef BELAY_BACKENDS_CPU_KERNELS_FEW_CHANNELS_H_
#define BELAY_BACKENDS_CPU_KERNELS_FEW_CHANNELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/calls.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay::cpu {

// Whether the convolution is supported and faster so: fewer than kFewChannels channels, contiguous
// or channels last, or channels last and at most half a panel of filters; windows without holes in
// a row, rows of results of at least a tile, and filters that stay in the L2 cache.
bool IsOfFewChannels(const TensorView& images, const TensorView& filters, const Window& window,
                     const TensorView& out);

// Computes a result that is not empty: channels last, or contiguous without epilogue.other. Needs
// the working memory that FewChannelsScratch returns. Precondition: IsOfFewChannels.
absl::Status RunOfFewChannels(const KernelContext& context, const TensorView& images,
                              const TensorView& filters, const Window& window,
                              const EpilogueF32& epilogue, const TensorView& out);

uint64_t FewChannelsScratch(const KernelContext& context, const TensorView& images,
                            const TensorView& filters, const Window& window);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_FEW_CHANNELS_H_
