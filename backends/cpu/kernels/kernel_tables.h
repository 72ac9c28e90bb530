// The kernel tables of the CPU backend. Each is in a file and library of its own, so that
// applications link only the kernels they need. The operators are described in calls.h,
// bfloat16_calls.h, chain_calls.h, convolution_calls.h, quantized_calls.h, weight_only_calls.h, dynamic_calls.h,
// embedding_calls.h, pointwise_calls.h and token_calls.h of backends/cpu.
#ifndef BELAY_BACKENDS_CPU_KERNELS_KERNEL_TABLES_H_
#define BELAY_BACKENDS_CPU_KERNELS_KERNEL_TABLES_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay::cpu {

absl::Span<const Kernel> LinearKernels();
absl::Span<const Kernel> BFloat16ProductKernels();
absl::Span<const Kernel> WeightOnlyLinearKernels();
absl::Span<const Kernel> DynamicQuantizedLinearKernels();
absl::Span<const Kernel> Conv2dKernels();
absl::Span<const Kernel> Conv2dChainKernels();
absl::Span<const Kernel> ConvolutionKernels();
absl::Span<const Kernel> WinogradConv2dKernels();
absl::Span<const Kernel> MaxPool2dKernels();
absl::Span<const Kernel> AttentionKernels();
absl::Span<const Kernel> TokenRowKernels();
absl::Span<const Kernel> PackedEmbeddingKernels();
absl::Span<const Kernel> PointwiseGroupKernels();
absl::Span<const Kernel> QuantizedLinearKernels();
absl::Span<const Kernel> QuantizedConv2dKernels();
absl::Span<const Kernel> QuantizedPointwiseKernels();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_KERNEL_TABLES_H_
