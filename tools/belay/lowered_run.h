// Lowers a program in memory and executes what comes of it.
#ifndef BELAY_TOOLS_BELAY_LOWERED_RUN_H_
#define BELAY_TOOLS_BELAY_LOWERED_RUN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"
#include "exir/engine/call.h"
#include "exir/ir/exported_program.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::tools {

// How programs are lowered and executed.
struct LoweringSetup {
  std::vector<const exir::Partitioner*> partitioners;  // in their sequence
  const exir::BackendSet* aot = nullptr;
  const BackendRegistry* runtime = nullptr;
  const KernelRegistry* kernels = nullptr;
  const KernelRegistry* reference = nullptr;   // of the interpreter
  std::optional<int64_t> unbounded_size = {};  // PipelineOptions::unbounded_size
};

// One call of a program, interpreted, and lowered and executed; both succeeded, with as many outputs.
struct BothOutcomes {
  exir::CallOutcome expected, got;
  exir::ExportedProgram lowered;  // who computes what, once all partitioners are done
};

// `inputs` are not changed. Errors of lowering, interpreting and executing.
absl::StatusOr<BothOutcomes> RunBoth(const exir::ExportedProgram& program,
                                     absl::Span<const EValue> inputs, const LoweringSetup& setup);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWERED_RUN_H_
