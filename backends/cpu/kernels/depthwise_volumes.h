// Depthwise convolutions of volumes by the kernel of depthwise convolutions of images.
#ifndef BELAY_BACKENDS_CPU_KERNELS_DEPTHWISE_VOLUMES_H_
#define BELAY_BACKENDS_CPU_KERNELS_DEPTHWISE_VOLUMES_H_

#include "backends/cpu/convolution_calls.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay::cpu {

// Whether RunDepthwiseVolumes supports the call: not transposed, one channel and one filter per group, a
// channels-last result, and no operand that multiplies it.
bool IsDepthwiseVolume(const GeneralConvolutionCall<KernelArguments>& call,
                       const EpilogueF32& epilogue, const TensorView& out);

// Computes a convolution that IsDepthwiseVolume(). Each plane of the window is a depthwise convolution of
// planes of the input, which adds to the result:
//   out[z] = epilogue(sum over d of depthwise(in[z * stride - padding + d * dilation], weight[d]))
// A window of one pixel per plane is one of kernel x 1 over images [depth, height * width].
// Accuracy: that of runtime/kernels/packed/depthwise.h, for all taps of the window.
void RunDepthwiseVolumes(const KernelContext& context,
                         const GeneralConvolutionCall<KernelArguments>& call,
                         const EpilogueF32& epilogue, const TensorView& out);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_DEPTHWISE_VOLUMES_H_
