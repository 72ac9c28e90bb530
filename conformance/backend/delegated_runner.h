// Runs conformance cases of operators through backends. Backends compile and execute the nodes that
// they accept, kernels execute the rest. Results are compared by the rules for kernels.
#ifndef BELAY_CONFORMANCE_BACKEND_DELEGATED_RUNNER_H_
#define BELAY_CONFORMANCE_BACKEND_DELEGATED_RUNNER_H_

#include "conformance/backend/chosen_backends.h"
#include "conformance/ops/op_case.h"
#include "conformance/ops/op_runner.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::conformance {

class DelegatedRunner {
 public:
  // All must outlive the runner. `backends` counts the delegated nodes.
  DelegatedRunner(const exir::OpRegistry& ops, const KernelRegistry& kernels,
                  ChosenBackends& backends)
      : ops_(ops), kernels_(kernels), backends_(backends) {}

  // Skips cases without a delegated node, and cases that MakeCallProgram does not support. Has
  // three checks in addition to those of OpRunner: "lower", "load", "execute".
  CaseResult Run(const OpCaseFile& file, const OpCase& op_case);

 private:
  const exir::OpRegistry& ops_;
  const KernelRegistry& kernels_;
  ChosenBackends& backends_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_DELEGATED_RUNNER_H_
