#include "exir/interpreter/run_kernel.h"

#include <cstdint>
#include <memory>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/work.h"

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
                       absl::Span<EValue* const> outputs, OutputAllocator* allocator,
                       ThreadPool* threads, BufferPool* pool) {
  const KernelContext plan(arguments, outputs, allocator, {}, threads);
  const WorkRule rule = kernel.Facts().work;
  ABSL_RETURN_IF_ERROR(TakeWork(WorkOfArguments(rule, plan)));
  const uint64_t bytes = kernel.ScratchBytes(plan);
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> scratch, CreateBuffer(pool, bytes));
  KernelContext context(arguments, outputs, allocator,
                        absl::MakeSpan(scratch.get(), static_cast<size_t>(bytes)), threads);
  ABSL_RETURN_IF_ERROR(kernel.Run(context));
  ABSL_RETURN_IF_ERROR(TakeWork(WorkOfOutputs(rule, context)));
  return CheckBudget();
}

}  // namespace belay::exir
