// Compares kernels with reference kernels while a program is interpreted.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_KERNEL_CHECK_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_KERNEL_CHECK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/compare/call.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::conformance {

// Interprets `program` with the kernels that the runtime prefers. Compares every result of every
// node of the top graph with the reference kernel's result on the same arguments, within the
// operator's tolerance (OpDef::tolerance, scaled to the dtype). On a difference, the call fails
// with kFailedPrecondition, which names the first node and the element.
//   errors of Interpreter::Create
absl::StatusOr<std::vector<exir::CallOutcome>> InterpretAndCheckKernels(
    const exir::ExportedProgram& program, const KernelRegistry& kernels,
    const KernelRegistry& reference, const exir::CallSequence& calls);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_KERNEL_CHECK_H_
