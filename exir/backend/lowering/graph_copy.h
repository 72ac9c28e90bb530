// Copies parts of one program into another. Part of the implementation of to_backend.h.
#ifndef BELAY_EXIR_BACKEND_LOWERING_GRAPH_COPY_H_
#define BELAY_EXIR_BACKEND_LOWERING_GRAPH_COPY_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {

// Maps ValueIds of the source program to ValueIds of the copy.
using ValueMap = absl::flat_hash_map<ValueId, ValueId>;

// Builds a program from parts of `from`, which must outlive the copier. Bytes and lowered modules
// are shared. Copies everything about nodes except tags.
class ProgramCopier {
 public:
  // Creates one empty graph for each of `graphs` (ids of `from`). The first becomes the top graph;
  // the others keep their order by id. Copies dialect, ranges and hints.
  ProgramCopier(const ExportedProgram& from, std::vector<GraphId> graphs);

  ExportedProgram& copy() { return copy_; }
  GraphId MapGraph(GraphId id) const { return graphs_.at(id); }

  // Appends a copy of the node and adds its results to `values`. Omits the elements of list
  // arguments for which `omits(argument, element)` is true. Precondition: `values` has all other
  // operands. A module gets the next free id at its first use.
  NodeId CopyNode(const Graph& from, NodeId node, GraphEditor& editor, ValueMap& values,
                  const std::function<bool(size_t, size_t)>& omits = nullptr);
  Argument MapArgument(const Argument& argument, const ValueMap& values);
  // Copies a subgraph completely. Precondition: it is one of `graphs`.
  void CopySubgraph(GraphId id);

 private:
  const ExportedProgram& from_;
  ExportedProgram copy_;
  absl::flat_hash_map<GraphId, GraphId> graphs_;
  absl::flat_hash_map<ModuleId, ModuleId> modules_;
};

// Appends the subgraphs that the node refers to, and the subgraphs of those.
void CollectSubgraphs(const ExportedProgram& program, const Node& node,
                      std::vector<GraphId>& bodies);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_GRAPH_COPY_H_
