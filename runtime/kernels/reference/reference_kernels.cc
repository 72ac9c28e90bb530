#include "runtime/kernels/reference/reference_kernels.h"

#include "runtime/kernels/reference/families.h"

namespace belay {

absl::Status AddReferenceKernels(KernelRegistry& registry) {
  absl::Status status;
#define BELAY_OP_FAMILY(family) \
  if (status.ok()) status = registry.Add(family##Kernels());
#include "runtime/kernels/reference/families.inc"
#undef BELAY_OP_FAMILY
  return status;
}

}  // namespace belay
