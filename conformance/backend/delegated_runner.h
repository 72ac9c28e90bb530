// Runs conformance cases of operators through backends: what they take of a call is compiled and
// executed by them, the rest by kernels, and the results are compared as those of kernels are.
#ifndef BELAY_CONFORMANCE_BACKEND_DELEGATED_RUNNER_H_
#define BELAY_CONFORMANCE_BACKEND_DELEGATED_RUNNER_H_

#include "conformance/backend/chosen_backends.h"
#include "conformance/ops/op_case.h"
#include "conformance/ops/op_runner.h"
#include "exir/op/op_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

class DelegatedRunner {
 public:
  // All must outlive the runner. `backends` counts the nodes that are taken.
  DelegatedRunner(const exir::OpRegistry& ops, const KernelRegistry& kernels,
                  ChosenBackends& backends)
      : ops_(ops), kernels_(kernels), backends_(backends) {}

  // Skipped are cases that no backend takes a node of, and those that are no program of tensors
  // (MakeCallProgram). Checks besides those of OpRunner: "lower", "load", "execute".
  CaseResult Run(const OpCaseFile& file, const OpCase& op_case);

 private:
  const exir::OpRegistry& ops_;
  const KernelRegistry& kernels_;
  ChosenBackends& backends_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_DELEGATED_RUNNER_H_
