#include "runtime/kernels/reference/reference_kernels.h"

#include "runtime/kernels/reference/families.h"

namespace belay {

// Families that are used only here.
absl::Span<const Kernel> MatrixAlgebraKernels();
absl::Span<const Kernel> SpecialFunctionsKernels();

absl::Status AddReferenceKernels(KernelRegistry& registry) {
  absl::Status status;
#define BELAY_OP_FAMILY(family) \
  if (status.ok()) status = registry.Add(family##Kernels());
#include "runtime/kernels/reference/families.inc"
#undef BELAY_OP_FAMILY
  if (status.ok()) status = registry.Add(MatrixAlgebraKernels());
  if (status.ok()) status = registry.Add(SpecialFunctionsKernels());
  return status;
}

}  // namespace belay
