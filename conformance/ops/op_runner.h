// Runs conformance cases of operators: meta kernel, then kernel, then comparison.
#ifndef BELAY_CONFORMANCE_OPS_OP_RUNNER_H_
#define BELAY_CONFORMANCE_OPS_OP_RUNNER_H_

#include <string>
#include <vector>

#include "conformance/ops/op_case.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::conformance {

enum class CaseOutcome : uint8_t { kPassed, kFailed, kSkipped };

struct CaseResult {
  CaseOutcome outcome = CaseOutcome::kPassed;
  // The check that failed: "meta" (shape inference), "kernel" (it returned an error), "values",
  // "layout" (strides), "mutated", "memory" (an out-of-bounds or forbidden write), "error" (it
  // accepted invalid arguments), "symbolic", "case" (the file).
  std::string check;
  std::string detail;  // expected and actual; the reason if skipped
};

// Thread-safe: all methods are const and stateless.
class OpRunner {
 public:
  // Both must outlive the runner. Runs only kernels of `engine`.
  OpRunner(const exir::OpRegistry& ops, const KernelRegistry& kernels, KernelEngine engine)
      : ops_(ops), kernels_(kernels), engine_(engine) {}

  // Returns why the whole file is skipped: the operator is unknown, or has no meta kernel or no
  // kernel of the engine. "" if it runs.
  std::string SkipReason(const OpCaseFile& file) const;
  // Returns the differences between the file and the operator's declaration: schema, tags. Empty if
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
