// Chooses the kernel of an operator for a call, and runs it.
#ifndef BELAY_EXIR_INTERPRETER_RUN_KERNEL_H_
#define BELAY_EXIR_INTERPRETER_RUN_KERNEL_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::exir {

// The preferred kernel that takes the call; of this engine alone, if one is named. nullptr when
// there is none.
const Kernel* ChooseKernel(const KernelRegistry& kernels, std::string_view op,
                           std::optional<KernelEngine> engine, const KernelContext& context);

// Gives the kernel the scratch memory that it asks for. kResourceExhausted when there is not so
// much; what the thread's Budget says, from which the work is taken; else what the kernel returns.
absl::Status RunKernel(const Kernel& kernel, absl::Span<EValue* const> arguments,
                       absl::Span<EValue* const> outputs, OutputAllocator* allocator);

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_RUN_KERNEL_H_
