#include "backends/cpu/runtime/cpu_runtime.h"

#include "backends/cpu/runtime/packed_parameters.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/backend/delegate_threads.h"
#include "runtime/executor/program_delegate.h"

namespace belay::cpu {

BackendOptionTable CpuRuntime::options() const { return ThreadsOptionTable(); }

absl::StatusOr<std::unique_ptr<DelegateHandle>> CpuRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  // Programs in blobs may not contain delegates.
  static const BackendRegistry& none = *new BackendRegistry;
  const auto parameters =
      std::make_shared<const PackedParameters>(*context.named_data, *context.memory);
  DelegateInitContext packing = context;
  packing.named_data = parameters.get();
  return OpenProgramDelegate(packing, blob, limits_, kernels_, none, parameters);
}

}  // namespace belay::cpu
