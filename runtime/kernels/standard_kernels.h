// All kernels of Belay: Highway kernels if available, else reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_STANDARD_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_STANDARD_KERNELS_H_

#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay {

// Adds only the Highway kernels. A family is a folder and a line in families.bzl.
absl::Status AddHighwayKernels(KernelRegistry& registry);

// Adds the reference kernels, then the Highway kernels, which are preferred if they accept a call.
// kAlreadyExists if a kernel is registered already.
absl::Status AddStandardKernels(KernelRegistry& registry);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_STANDARD_KERNELS_H_
