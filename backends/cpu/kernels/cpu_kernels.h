// The kernels of the CPU backend's operators (calls.h, bfloat16_calls.h, quantized_calls.h,
// weight_only_calls.h, dynamic_calls.h and token_calls.h of backends/cpu), on the microkernels of runtime/kernels/packed.
//
// Images and rows are read in place when their channels, or features, lie together; images of other
// layouts, and those with fewer than 8 channels, go through working memory a few rows at a time.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CPU_KERNELS_H_
#define BELAY_BACKENDS_CPU_KERNELS_CPU_KERNELS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::cpu {

// kAlreadyExists as KernelRegistry::Add.
absl::Status AddCpuKernels(KernelRegistry& registry);

absl::Span<const Kernel> LinearKernels();
absl::Span<const Kernel> BFloat16ProductKernels();
absl::Span<const Kernel> WeightOnlyLinearKernels();
absl::Span<const Kernel> DynamicQuantizedLinearKernels();
absl::Span<const Kernel> Conv2dKernels();
absl::Span<const Kernel> Conv2dChainKernels();
absl::Span<const Kernel> WinogradConv2dKernels();
absl::Span<const Kernel> MaxPool2dKernels();
absl::Span<const Kernel> AttentionKernels();
absl::Span<const Kernel> TokenRowKernels();
absl::Span<const Kernel> QuantizedLinearKernels();
absl::Span<const Kernel> QuantizedConv2dKernels();
absl::Span<const Kernel> QuantizedPointwiseKernels();

// All of them.
absl::Span<const absl::Span<const Kernel>> CpuKernelTables();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CPU_KERNELS_H_
