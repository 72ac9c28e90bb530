// The runtime of the CPU backend.
#ifndef BELAY_BACKENDS_CPU_RUNTIME_CPU_RUNTIME_H_
#define BELAY_BACKENDS_CPU_RUNTIME_CPU_RUNTIME_H_

#include <memory>

#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay::cpu {

// Loads the blob as a program file (backends/cpu/aot/cpu_backend.h) and executes its method
// "forward". The file is validated like any other; delegates inside it are refused.
class CpuRuntime final : public BackendRuntime {
 public:
  // `kernels` are available to programs in blobs: the standard kernels and the backend's own. They
  // must outlive the handles. Programs in blobs are also subject to the limits of the enclosing
  // program.
  explicit CpuRuntime(const KernelRegistry& kernels, const Limits& limits = Limits())
      : kernels_(kernels), limits_(limits) {}

  std::string_view id() const override { return "cpu"; }
  std::string_view target() const override { return "//backends/cpu:runtime"; }
  BackendOptionTable options() const override;  // threads
  // See OpenProgramDelegate (runtime/executor/program_delegate.h). Replaceable weights are packed
  // (packed_parameters.h).
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

 private:
  const KernelRegistry& kernels_;
  Limits limits_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_RUNTIME_CPU_RUNTIME_H_
