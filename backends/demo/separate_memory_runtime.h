// The run-time side of separate_memory_backend.h: the device, its copies, its delegates.
#ifndef BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_RUNTIME_H_
#define BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_RUNTIME_H_

#include <memory>

#include "absl/types/span.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel/kernel.h"

namespace belay::demo {

// The copies to the device and back (et_copy): to be added behind the standard kernels, so that they
// are preferred. What lies on the device lies in memory that only these kernels and the delegates know;
// the tensor's place in the arena is its name there.
//   kResourceExhausted   the device has no memory left: all that lies there may have 2^26 bytes
//   kFailedPrecondition  a copy back of what does not lie there
absl::Span<const Kernel> SeparateMemoryKernels();

class SeparateMemoryRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "SeparateMemoryDemo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  // As DemoRuntime's. The handle's Execute is kFailedPrecondition for an argument that lies in the
  // host's memory, and names it. It allocates what lies on the device the first time.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_RUNTIME_H_
