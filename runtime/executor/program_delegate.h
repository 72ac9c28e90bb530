// A delegate that is a program: what backends make of a blob that is a program file.
#ifndef BELAY_RUNTIME_EXECUTOR_PROGRAM_DELEGATE_H_
#define BELAY_RUNTIME_EXECUTOR_PROGRAM_DELEGATE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay {

// Opens `blob` as a program file, which is checked like any other, and loads its method "forward"
// for the call that `context` describes. The blob, the registries and the context's threads must
// outlive the handle. Weights are used where the blob has them, or in the context's named data.
//   kInvalidArgument  the program has not as many inputs and outputs as the call, or mutates an
//                     input
//   what Program::OpenBytes and Method::Load return
// What the method loads and executes is logged as the context says (DelegateInitContext::events).
// The handle uses arguments in place where Method::SetInput does, and copies results: a method's
// outputs lie in its own memory.
//   kInvalidArgument  a result is of another kind or dtype than the call's
//   what Method::SetInput and Execute return
absl::StatusOr<std::unique_ptr<DelegateHandle>> OpenProgramDelegate(
    const DelegateInitContext& context, absl::Span<const std::byte> blob, const Limits& limits,
    const KernelRegistry& kernels, const BackendRegistry& backends);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_PROGRAM_DELEGATE_H_
