// The run-time sides of the backends that lowering cases name: a delegate computes what the program
// computes that was lowered, in the interpreter.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_RUNTIMES_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_RUNTIMES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/exported_program.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

// Blobs of test backends do not hold what is needed to compute, so each delegate gets one more
// compile spec that says which module it is. Thread-compatible; must outlive the handles.
class CaseRuntimes {
 public:
  explicit CaseRuntimes(const KernelRegistry& kernels) : kernels_(kernels) {}

  // The program with those specs, for emission. May be called for several methods.
  exir::ExportedProgram Prepare(const exir::ExportedProgram& lowered);
  // A runtime for each backend that the prepared programs name.
  const BackendRegistry& registry() const { return registry_; }
  // State that a delegate owns which was loaded since the last ForgetLoaded. kNotFound.
  absl::StatusOr<TensorView> GetState(std::string_view name) const;
  void ForgetLoaded() { loaded_.clear(); }

 private:
  class Runtime;
  class Handle;

  const KernelRegistry& kernels_;
  std::vector<std::shared_ptr<const exir::LoweredBackendModule>> modules_;
  std::vector<std::unique_ptr<BackendRuntime>> runtimes_;
  BackendRegistry registry_;
  mutable std::vector<std::shared_ptr<exir::Interpreter>> loaded_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_RUNTIMES_H_
