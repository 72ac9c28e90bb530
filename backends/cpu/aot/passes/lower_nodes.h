// How passes that rewrite nodes one by one go through a program.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {

// Calls `lower` of every node of the top graph, of which `editor` is, that is still there when it is
// its turn, in execution order; it returns whether it changed something. If any did, dead nodes go
// afterwards, and parameters, buffers and tensor constants that nothing uses any more. Returns
// whether any did, or the first error.
absl::StatusOr<bool> LowerNodes(exir::ExportedProgram& program, exir::GraphEditor& editor,
                                absl::FunctionRef<absl::StatusOr<bool>(exir::NodeId)> lower);

// What it does in the end.
void EraseUnused(exir::ExportedProgram& program, exir::GraphEditor& editor);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_NODES_H_
