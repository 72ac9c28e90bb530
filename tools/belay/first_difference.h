// Finds the first node of a program whose value is not what it should be once the program was
// lowered.
#ifndef BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_
#define BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"
#include "exir/engine/compare.h"
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

struct NodeDifference {
  std::string node;        // in text form, with its source line
  std::string backend;     // whose delegate computes it; "" for a kernel
  std::string difference;  // where, what was expected, what came
  bool alone = false;      // only seen when no other value was looked at: something was fused
};

// Gives the nodes of the top graph as further results, some at a time: the program with them is
// lowered and executed, and interpreted, and the values are compared in order. Where the values of
// all are as they should be, looks for the first whose value differs when it alone is a result.
// nullopt when there is none. `inputs` are not changed.
//   whatever lowering and executing return
absl::StatusOr<std::optional<NodeDifference>> FindFirstDifference(
    const exir::ExportedProgram& program, absl::Span<const EValue> inputs,
    const LoweringSetup& setup, const exir::Closeness& closeness);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_
