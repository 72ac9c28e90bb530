// All kernels of the CPU backend's operators (kernel_tables.h), based on the microkernels of
// runtime/kernels/packed.
//
// Images and rows with dense channels or features are read in place. Other layouts, and images with
// fewer than 8 channels, go through working memory a few rows at a time.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CPU_KERNELS_H_
#define BELAY_BACKENDS_CPU_KERNELS_CPU_KERNELS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::cpu {

// kAlreadyExists as KernelRegistry::Add.
absl::Status AddCpuKernels(KernelRegistry& registry);

// The kernel tables of all operators.
absl::Span<const absl::Span<const Kernel>> CpuKernelTables();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CPU_KERNELS_H_
