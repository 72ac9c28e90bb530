// The CPU backend's run-time side.
#ifndef BELAY_BACKENDS_CPU_RUNTIME_CPU_RUNTIME_H_
#define BELAY_BACKENDS_CPU_RUNTIME_CPU_RUNTIME_H_

#include <memory>

#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay::cpu {

// Loads the blob as a program file (backends/cpu/aot/cpu_backend.h) and executes its method
// "forward". The file is checked like any other; delegates in it are refused.
class CpuRuntime final : public BackendRuntime {
 public:
  // What programs in blobs may use: the standard kernels and the backend's own. Must outlive the
  // handles. What a program may ask for is also within the limits of the one around it.
  explicit CpuRuntime(const KernelRegistry& kernels, const Limits& limits = Limits())
      : kernels_(kernels), limits_(limits) {}

  std::string_view id() const override { return "cpu"; }
  std::string_view target() const override { return "//backends/cpu:runtime"; }
  // As OpenProgramDelegate says (runtime/executor/program_delegate.h).
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

 private:
  const KernelRegistry& kernels_;
  Limits limits_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_RUNTIME_CPU_RUNTIME_H_
