// Tables of all families, one function each (families.inc).
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_FAMILIES_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

#define BELAY_OP_FAMILY(family) absl::Span<const Kernel> family##Kernels();
#include "runtime/kernels/reference/families.inc"
#undef BELAY_OP_FAMILY

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_FAMILIES_H_
