#include "backends/cpu/kernels/cpu_kernels.h"

#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

absl::Span<const absl::Span<const Kernel>> CpuKernelTables() {
#define BELAY_KERNEL_FAMILY(function, file) function(),
  static const absl::Span<const Kernel> kTables[] = {
#include "backends/cpu/kernels/cpu_families.inc"
  };
#undef BELAY_KERNEL_FAMILY
  return kTables;
}

absl::Status AddCpuKernels(KernelRegistry& registry) {
  for (const absl::Span<const Kernel> kernels : CpuKernelTables()) {
    ABSL_RETURN_IF_ERROR(registry.Add(kernels));
  }
  return absl::OkStatus();
}

}  // namespace belay::cpu
