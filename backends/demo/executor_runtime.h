// The run-time side of executor_backend.h.
#ifndef BELAY_BACKENDS_DEMO_EXECUTOR_RUNTIME_H_
#define BELAY_BACKENDS_DEMO_EXECUTOR_RUNTIME_H_

#include <memory>

#include "runtime/backend/backend_registry.h"
#include "runtime/backend/backend_runtime.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay::demo {

// Loads the blob as a program file and executes its method "forward". The file is checked like any
// other.
class ExecutorRuntime final : public BackendRuntime {
 public:
  // What programs in blobs may use; all must outlive the handles. A blob may hold a program that
  // has an ExecutorBackend blob in its turn only if `backends` has an ExecutorRuntime, so how deep
  // that goes is bounded by how many of them were made.
  ExecutorRuntime(const KernelRegistry& kernels, const BackendRegistry& backends,
                  const Limits& limits = DefaultLimits())
      : kernels_(kernels), backends_(backends), limits_(limits) {}
  // 1 GiB of each kind of memory, 10^7 executed instructions; all of it also within the limits of
  // the program that the delegate is part of.
  static Limits DefaultLimits();

  std::string_view id() const override { return "ExecutorBackend"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  // As OpenProgramDelegate says (runtime/executor/program_delegate.h).
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

 private:
  const KernelRegistry& kernels_;
  const BackendRegistry& backends_;
  Limits limits_;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTOR_RUNTIME_H_
