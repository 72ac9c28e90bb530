// Which debug handles the nodes of a program stand for after passes have made one of several.
#ifndef BELAY_BACKENDS_CPU_AOT_FUSED_HANDLES_H_
#define BELAY_BACKENDS_CPU_AOT_FUSED_HANDLES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::cpu {

// A node has one debug handle, its own; this remembers the others. One for a run of passes.
class FusedHandles {
 public:
  // The node `into` does from now on what `from`, which is about to go, did. A node without a
  // handle gets that of the other.
  void Fuse(exir::GraphEditor& editor, exir::NodeId into, exir::NodeId from);

  // Of all nodes of the program, by the handle that they have (an instruction's in the emitted
  // program's debug information): the handles that they stand for, ascending, each once.
  exir::DebugHandleMap MapOf(const exir::ExportedProgram& program) const;

 private:
  // By handle of a node: those of the nodes that it swallowed.
  absl::flat_hash_map<int64_t, std::vector<int64_t>> fused_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_FUSED_HANDLES_H_
