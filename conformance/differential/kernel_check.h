// Compares kernels with each other while a program is interpreted.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_KERNEL_CHECK_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_KERNEL_CHECK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/engine/call.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

// Interprets with the kernels that the runtime prefers, and compares every result of every node of
// the top graph with that of the reference kernel on the same arguments, within the operator's
// tolerance (OpDef::tolerance, scaled to the dtype). A call in which one differs fails with
// kFailedPrecondition, which names the first node, with the element.
//   what Interpreter::Create returns
absl::StatusOr<std::vector<exir::CallOutcome>> InterpretAndCheckKernels(
    const exir::ExportedProgram& program, const KernelRegistry& kernels,
    const KernelRegistry& reference, const exir::CallSequence& calls);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_KERNEL_CHECK_H_
