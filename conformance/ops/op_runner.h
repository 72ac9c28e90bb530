// Runs conformance cases of operators: meta kernel, then kernel, then comparison.
#ifndef BELAY_CONFORMANCE_OPS_OP_RUNNER_H_
#define BELAY_CONFORMANCE_OPS_OP_RUNNER_H_

#include <string>
#include <vector>

#include "conformance/ops/op_case.h"
#include "exir/op/op_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

enum class CaseOutcome : uint8_t { kPassed, kFailed, kSkipped };

struct CaseResult {
  CaseOutcome outcome = CaseOutcome::kPassed;
  // What failed: "meta" (shape inference), "kernel" (it returned an error), "values", "layout"
  // (strides), "mutated", "memory" (it wrote where it must not), "error" (it accepted what must be
  // rejected), "symbolic", "case" (the file).
  std::string check;
  std::string detail;  // what was expected and what came; the reason when skipped
};

// Thread-safe: const and without state.
class OpRunner {
 public:
  // Both must outlive the runner. Only kernels of `engine` are run.
  OpRunner(const exir::OpRegistry& ops, const KernelRegistry& kernels, KernelEngine engine)
      : ops_(ops), kernels_(kernels), engine_(engine) {}

  // Why the whole file is skipped: the operator is unknown, has no meta kernel or no kernel of the
  // engine. "" when it runs.
  std::string SkipReason(const OpCaseFile& file) const;
  // Differences between the file's facts and the operator's declaration: schema, tags. Empty when
  // they agree.
  std::vector<std::string> CheckDeclaration(const OpCaseFile& file) const;
  // Precondition: SkipReason(file) is empty.
  CaseResult Run(const OpCaseFile& file, const OpCase& op_case) const;

 private:
  const exir::OpRegistry& ops_;
  const KernelRegistry& kernels_;
  KernelEngine engine_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_OP_RUNNER_H_
