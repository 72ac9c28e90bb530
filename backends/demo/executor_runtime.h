// The runtime of executor_backend.h.
#ifndef BELAY_BACKENDS_DEMO_EXECUTOR_RUNTIME_H_
#define BELAY_BACKENDS_DEMO_EXECUTOR_RUNTIME_H_

#include <memory>

#include "runtime/backend/backend_registry.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay::demo {

// Loads the blob as a program file and executes its method "forward". The file is validated like
// any other.
class ExecutorRuntime final : public BackendRuntime {
 public:
  // `kernels` and `backends` are available to programs in blobs; all must outlive the handles. A
  // program in a blob may contain an ExecutorBackend blob itself only if `backends` has an
  // ExecutorRuntime. The nesting depth is therefore bounded by the number of ExecutorRuntimes.
  ExecutorRuntime(const KernelRegistry& kernels, const BackendRegistry& backends,
                  const Limits& limits = DefaultLimits())
      : kernels_(kernels), backends_(backends), limits_(limits) {}
  // 1 GiB of each kind of memory, 10^7 executed instructions. The limits of the enclosing program
  // apply as well.
  static Limits DefaultLimits();

  std::string_view id() const override { return "ExecutorBackend"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  // See OpenProgramDelegate (runtime/executor/program_delegate.h).
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

 private:
  const KernelRegistry& kernels_;
  const BackendRegistry& backends_;
  Limits limits_;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTOR_RUNTIME_H_
