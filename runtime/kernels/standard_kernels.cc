#include "runtime/kernels/standard_kernels.h"

#include "absl/types/span.h"
#include "runtime/core/status_macros.h"

namespace belay {

#define BELAY_KERNEL_FAMILY(function, file) absl::Span<const Kernel> function();
#include "runtime/kernels/highway_families.inc"
#undef BELAY_KERNEL_FAMILY

absl::Status AddHighwayKernels(KernelRegistry& registry) {
#define BELAY_KERNEL_FAMILY(function, file) ABSL_RETURN_IF_ERROR(registry.Add(function()));
#include "runtime/kernels/highway_families.inc"
#undef BELAY_KERNEL_FAMILY
  return absl::OkStatus();
}

absl::Status AddStandardKernels(KernelRegistry& registry) {
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(registry));
  return AddHighwayKernels(registry);
}

}  // namespace belay
