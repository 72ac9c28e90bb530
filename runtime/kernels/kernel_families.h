// Source file of each kernel row, for builds that compile a subset (belay_runtime,
// bazel/runtime.bzl).
#ifndef BELAY_RUNTIME_KERNELS_KERNEL_FAMILIES_H_
#define BELAY_RUNTIME_KERNELS_KERNEL_FAMILIES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

struct KernelFamily {
  std::string function;  // returns the rows: "belay::GemmKernels"
  std::string file;      // defines it: "runtime/kernels/gemm/gemm_kernels.cc"
  absl::Span<const Kernel> rows;
};

// Returns the families that AddStandardKernels adds, in that order.
std::vector<KernelFamily> StandardKernelFamilies();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_KERNEL_FAMILIES_H_
