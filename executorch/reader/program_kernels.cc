#include "executorch/reader/program_kernels.h"

#include "executorch/reader/prim_kernels.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::pte {

absl::Status AddProgramKernels(const belay::Program& program, KernelRegistry& kernels) {
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  return program.format().empty() ? absl::OkStatus() : kernels.Add(PrimKernels());
}

}  // namespace belay::pte
