// All kernels that Belay brings: Highway kernels where there is one, reference kernels for
// everything else.
#ifndef BELAY_RUNTIME_KERNELS_STANDARD_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_STANDARD_KERNELS_H_

#include "runtime/kernel/kernel_registry.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay {

// The Highway kernels alone. A family is a folder and a line in standard_kernels.cc.
absl::Status AddHighwayKernels(KernelRegistry& registry);

// Reference kernels first, so that the others are preferred where they accept a call.
// kAlreadyExists when some are there.
absl::Status AddStandardKernels(KernelRegistry& registry);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_STANDARD_KERNELS_H_
