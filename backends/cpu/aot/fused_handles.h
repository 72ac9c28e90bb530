// Maps nodes to the debug handles of the nodes that passes fused into them.
#ifndef BELAY_BACKENDS_CPU_AOT_FUSED_HANDLES_H_
#define BELAY_BACKENDS_CPU_AOT_FUSED_HANDLES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::cpu {

// Records additional debug handles; the node itself has only one. One instance per run of passes.
class FusedHandles {
 public:
  // Adds the handles of `from`, which the caller is about to erase, to those of `into`. If `into`
  // has no handle, it gets that of `from`.
  void Fuse(exir::GraphEditor& editor, exir::NodeId into, exir::NodeId from);

  // Returns, for every node with a handle, all handles that it stands for, ascending and unique.
  // The key is the node's own handle: an instruction's in the emitted debug information.
  // kInvalidArgument if a handle is negative.
  absl::StatusOr<exir::DebugHandleMap> MapOf(const exir::ExportedProgram& program) const;

 private:
  // Handle of a node -> handles of the nodes that were fused into it.
  absl::flat_hash_map<int64_t, std::vector<int64_t>> fused_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_FUSED_HANDLES_H_
