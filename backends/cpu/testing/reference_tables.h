// The tables that CpuReferenceKernels joins.
#ifndef BELAY_BACKENDS_CPU_TESTING_REFERENCE_TABLES_H_
#define BELAY_BACKENDS_CPU_TESTING_REFERENCE_TABLES_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay::cpu {

absl::Span<const Kernel> ReferenceConvolutions();
absl::Span<const Kernel> ReferenceMatmuls();
absl::Span<const Kernel> ReferenceQuantized();
absl::Span<const Kernel> ReferenceRows();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_TESTING_REFERENCE_TABLES_H_
