#include "backends/cpu/kernels/cpu_kernels.h"

#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

absl::Span<const absl::Span<const Kernel>> CpuKernelTables() {
  static const absl::Span<const Kernel> kTables[] = {LinearKernels(),
                                                     BFloat16ProductKernels(),
                                                     WeightOnlyLinearKernels(),
                                                     DynamicQuantizedLinearKernels(),
                                                     Conv2dKernels(),
                                                     Conv2dChainKernels(),
                                                     WinogradConv2dKernels(),
                                                     MaxPool2dKernels(),
                                                     AttentionKernels(),
                                                     TokenRowKernels(),
                                                     QuantizedLinearKernels(),
                                                     QuantizedConv2dKernels(),
                                                     QuantizedPointwiseKernels()};
  return kTables;
}

absl::Status AddCpuKernels(KernelRegistry& registry) {
  for (const absl::Span<const Kernel> kernels : CpuKernelTables()) {
    ABSL_RETURN_IF_ERROR(registry.Add(kernels));
  }
  return absl::OkStatus();
}

}  // namespace belay::cpu
