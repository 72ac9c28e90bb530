// The kernels that a program of either format may need.
#ifndef BELAY_EXECUTORCH_READER_PROGRAM_KERNELS_H_
#define BELAY_EXECUTORCH_READER_PROGRAM_KERNELS_H_

#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"

namespace belay::pte {

// Adds the standard kernels, and PrimKernels if the program uses one of them: those of OpenProgram,
// and program files converted from such (executorch/payload_import/program_image.h).
// Errors of KernelRegistry::Add.
absl::Status AddProgramKernels(const belay::Program& program, KernelRegistry& kernels);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_PROGRAM_KERNELS_H_
