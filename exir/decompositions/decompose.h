// Replaces operators by their decompositions, or by the output of composite kernels, until no such
// operator remains.
#ifndef BELAY_EXIR_DECOMPOSITIONS_DECOMPOSE_H_
#define BELAY_EXIR_DECOMPOSITIONS_DECOMPOSE_H_

#include <functional>

#include "exir/decompositions/standard_decompositions.h"
#include "exir/ir/exported_program.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

struct DecomposeOptions {
  const DecompositionTable* table = nullptr;  // null: StandardDecompositions()
  // Returns true for a node to be preserved although it has a decomposition, for partitioners
  // (docs/lowering.md row 19). Called in execution order, also for nodes that decompositions
  // created. Empty: no node is preserved.
  std::function<bool(const ExportedProgram&, GraphId, NodeId)> keep;
};

// Runs on all graphs, also of edge programs (to execute nodes that were preserved for a delegate).
// New nodes inherit the provenance, the debug handle and the tag of the replaced node; the last one
// also inherits its name. Results keep the sizes that the program declares; their strides are
// inferred by the meta kernels of the new nodes.
//   errors of decompositions, annotated with the node: kUnimplemented for arguments that they do
//                not cover, kInvalidArgument for invalid ones
//   kInternal    a result differs from the type that the program declares, or a decomposition leads
//                back to itself; the message has both types
Pass Decompose(DecomposeOptions options = {});

// Same, for operators whose only kernel is their composite implicit kernel
// (OpRegistry::SetCompositeKernel). Replaces such operators that no backend took by the kernel's
// output, decomposed with StandardDecompositions(). Operators with a meta or a composite explicit
// kernel stay (docs/lowering.md §5.5).
Pass PromoteBackendOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_DECOMPOSITIONS_DECOMPOSE_H_
