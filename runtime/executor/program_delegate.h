// A delegate that runs a program: for backends whose blobs are program files.
#ifndef BELAY_RUNTIME_EXECUTOR_PROGRAM_DELEGATE_H_
#define BELAY_RUNTIME_EXECUTOR_PROGRAM_DELEGATE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay {

// Opens `blob` as a program file, validated like any other, and loads its method "forward" for the
// call described by `context`. The blob, the registries and the context's threads must outlive the
// handle. Weights are used in place, in the blob or in the context's named data, which `owner` may
// keep alive.
//   kInvalidArgument  the program's numbers of inputs and outputs differ from the call's, or it
//                     mutates an input
//   errors of Program::OpenBytes and Method::Load
// The backend's option `threads` (runtime/backend/delegate_threads.h), if it has it, limits the
// threads of the program. Loading and executing are logged as the context says
// (DelegateInitContext::events). The handle uses arguments in place where Method::SetInput does, and
// copies results, since a method's outputs are in its own memory. Contiguous inputs and outputs of
// fixed sizes may have other sizes in the program than in the call, with as many elements: they are
// reshaped without a copy. Its Execute returns
//   kInvalidArgument  a result's kind or dtype differs from the call's
//   errors of Method::SetInput and Execute
absl::StatusOr<std::unique_ptr<DelegateHandle>> OpenProgramDelegate(
    const DelegateInitContext& context, absl::Span<const std::byte> blob, const Limits& limits,
    const KernelRegistry& kernels, const BackendRegistry& backends,
    std::shared_ptr<const void> owner = nullptr);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_PROGRAM_DELEGATE_H_
