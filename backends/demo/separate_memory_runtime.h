// The runtime of separate_memory_backend.h: the device, its copies, its delegates.
#ifndef BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_RUNTIME_H_
#define BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_RUNTIME_H_

#include <memory>

#include "absl/types/span.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay::demo {

// Kernels that copy to the device and back (et_copy). Register them after the standard kernels, so
// that they take precedence. Device tensors reside in memory that only these kernels and the
// delegates know. A tensor's address in the arena is its key there.
//   kResourceExhausted   the device memory, 2^26 bytes in total, is exhausted
//   kFailedPrecondition  a copy to the host of a tensor that is not on the device
absl::Span<const Kernel> SeparateMemoryKernels();

class SeparateMemoryRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "SeparateMemoryDemo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  // Errors as DemoRuntime. The handle's Execute is kFailedPrecondition for an argument in host
  // memory, and names it. The first Execute allocates the device tensors.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_RUNTIME_H_
