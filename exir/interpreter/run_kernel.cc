#include "exir/interpreter/run_kernel.h"

#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

const Kernel* ChooseKernel(const KernelRegistry& kernels, std::string_view op,
                           std::optional<KernelEngine> engine, const KernelContext& context) {
  for (const Kernel* kernel : kernels.Candidates(op)) {
    if (engine.has_value() && kernel->engine != *engine) continue;
    if (kernel->Accepts(context)) return kernel;
  }
  return nullptr;
}

absl::Status RunKernel(const Kernel& kernel, absl::Span<EValue* const> arguments,
                       absl::Span<EValue* const> outputs, OutputAllocator* allocator) {
  const KernelContext plan(arguments, outputs, allocator, {});
  ABSL_ASSIGN_OR_RETURN(const AlignedBuffer scratch,
                        AlignedBuffer::Create(kernel.ScratchBytes(plan)));
  KernelContext context(arguments, outputs, allocator, scratch.span());
  return kernel.Run(context);
}

}  // namespace belay::exir
