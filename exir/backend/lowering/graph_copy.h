// Copies parts of one program into another. Part of the implementation of to_backend.h.
#ifndef BELAY_EXIR_BACKEND_LOWERING_GRAPH_COPY_H_
#define BELAY_EXIR_BACKEND_LOWERING_GRAPH_COPY_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {

// What ids of the source program are in the copy.
using ValueMap = absl::flat_hash_map<ValueId, ValueId>;

// Makes a program out of parts of `from`, which must outlive the copier. Bytes and lowered modules
// are shared. Tags are not copied, everything else about nodes is.
class ProgramCopier {
 public:
  // The copy has as many empty graphs as `graphs` (ids of `from`; the first becomes the top graph,
  // the others keep their order by id), the dialect, the ranges and the hints.
  ProgramCopier(const ExportedProgram& from, std::vector<GraphId> graphs);

  ExportedProgram& copy() { return copy_; }
  GraphId MapGraph(GraphId id) const { return graphs_.at(id); }

  // Appends a copy of the node; its results are added to `values`. Precondition: `values` has what
  // it uses. Modules get the next free id when they are met first.
  NodeId CopyNode(const Graph& from, NodeId node, GraphEditor& editor, ValueMap& values);
  Argument MapArgument(const Argument& argument, const ValueMap& values);
  // Copies all of a body. Precondition: it is one of `graphs`.
  void CopyBody(GraphId id);

 private:
  const ExportedProgram& from_;
  ExportedProgram copy_;
  absl::flat_hash_map<GraphId, GraphId> graphs_;
  absl::flat_hash_map<ModuleId, ModuleId> modules_;
};

// Appends the bodies that the node refers to, and theirs.
void CollectBodies(const ExportedProgram& program, const Node& node, std::vector<GraphId>& bodies);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_GRAPH_COPY_H_
