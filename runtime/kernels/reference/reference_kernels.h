// Every operator as plain, readable C++: complete, correct, slow. The oracle for all other kernels.
//
// One file per family; each family exports its table of rows. Reference kernels support tensors of
// any strides and all dtypes that PyTorch's CPU kernels support, unless the family's header states
// otherwise.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_REFERENCE_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_REFERENCE_KERNELS_H_

#include "runtime/kernel_interface/kernel_registry.h"

namespace belay {

// Adds the reference kernels of all families (families.inc). kAlreadyExists if some are registered
// already.
absl::Status AddReferenceKernels(KernelRegistry& registry);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_REFERENCE_KERNELS_H_
