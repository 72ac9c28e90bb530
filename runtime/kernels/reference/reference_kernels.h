// Every operator as plain, readable C++: complete, correct, slow. The oracle for everything else.
//
// One file per family; each family exports its table of rows. Reference kernels take tensors of any
// strides and all dtypes that PyTorch's CPU kernels take, except where the family's header says
// otherwise.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_REFERENCE_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_REFERENCE_KERNELS_H_

#include "runtime/kernel/kernel_registry.h"

namespace belay {

// All reference kernels of all families (families.inc). kAlreadyExists when some are there already.
absl::Status AddReferenceKernels(KernelRegistry& registry);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_REFERENCE_KERNELS_H_
