// Selects the kernel of an operator for a call, and runs it.
#ifndef BELAY_EXIR_INTERPRETER_RUN_KERNEL_H_
#define BELAY_EXIR_INTERPRETER_RUN_KERNEL_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/interpreter/buffer_pool.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Returns the preferred kernel that supports the call, restricted to `engine` if it is set. nullptr
// if no kernel does.
const Kernel* ChooseKernel(const KernelRegistry& kernels, std::string_view op,
                           std::optional<KernelEngine> engine, const KernelContext& context);

// Runs the kernel with the scratch memory that it requests. Charges the work to the thread's
// Budget. kResourceExhausted if the scratch memory cannot be allocated; errors of the Budget and of
// the kernel. `threads` work on the call, unless it is null. The scratch memory is a buffer of `pool`,
// unless it is null.
absl::Status RunKernel(const Kernel& kernel, absl::Span<EValue* const> arguments,
                       absl::Span<EValue* const> outputs, OutputAllocator* allocator,
                       ThreadPool* threads = nullptr, BufferPool* pool = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_RUN_KERNEL_H_
