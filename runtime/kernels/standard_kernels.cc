#include "runtime/kernels/standard_kernels.h"

namespace belay {

absl::Status AddStandardKernels(KernelRegistry& registry) { return AddReferenceKernels(registry); }

}  // namespace belay
