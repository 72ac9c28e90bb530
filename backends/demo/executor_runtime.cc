#include "backends/demo/executor_runtime.h"

#include "runtime/executor/program_delegate.h"

namespace belay::demo {

Limits ExecutorRuntime::DefaultLimits() {
  Limits limits;
  limits.arena_bytes = uint64_t{1} << 30;
  limits.scratch_bytes = uint64_t{1} << 30;
  limits.delegate_bytes = uint64_t{1} << 30;
  limits.executed_instructions = 10'000'000;
  return limits;
}

absl::StatusOr<std::unique_ptr<DelegateHandle>> ExecutorRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  return OpenProgramDelegate(context, blob, limits_, kernels_, backends_);
}

}  // namespace belay::demo
