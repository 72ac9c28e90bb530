// Lowers a program in memory and executes the result.
#ifndef BELAY_TOOLS_BELAY_LOWERED_RUN_H_
#define BELAY_TOOLS_BELAY_LOWERED_RUN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"
#include "exir/compare/call.h"
#include "exir/ir/exported_program.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "tools/belay/max_sizes.h"

namespace belay::tools {

// Options for lowering and executing.
struct LoweringSetup {
  std::vector<const exir::Partitioner*> partitioners;  // in order of priority
  const exir::BackendSet* aot = nullptr;
  const BackendRegistry* runtime = nullptr;
  const KernelRegistry* kernels = nullptr;
  const KernelRegistry* reference = nullptr;  // for the interpreter
  MaxSizes max_sizes = {};  // symbols that a part of the program lacks are ignored
};

// Outcomes of one call, interpreted and lowered; both succeeded with the same number of outputs.
struct BothOutcomes {
  exir::CallOutcome expected, got;
  exir::ExportedProgram lowered;  // after all partitioners
};

// `inputs` are unchanged. Errors of lowering, interpreting and executing.
absl::StatusOr<BothOutcomes> RunBoth(const exir::ExportedProgram& program,
                                     absl::Span<const EValue> inputs, const LoweringSetup& setup);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWERED_RUN_H_
