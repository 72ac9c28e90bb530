// Replaces operators by their decompositions, or by what composite kernels make of them, until none is
// left that has one.
#ifndef BELAY_EXIR_DECOMPOSITIONS_DECOMPOSE_H_
#define BELAY_EXIR_DECOMPOSITIONS_DECOMPOSE_H_

#include <functional>

#include "exir/decompositions/standard_decompositions.h"
#include "exir/ir/exported_program.h"
#include "exir/pass/pass.h"

namespace belay::exir {

struct DecomposeOptions {
  const DecompositionTable* table = nullptr;  // null: StandardDecompositions()
  // Whether a node that has a decomposition stays as it is, for a partitioner (docs/lowering.md row 19).
  // Asked in execution order, about nodes that decompositions made too. Empty: none stays.
  std::function<bool(const ExportedProgram&, GraphId, NodeId)> keep;
};

// In all graphs, also of edge programs (for executing what was kept for a delegate). New nodes have
// the provenance, the debug handle and the tag of the node that they replace, and the last one its
// name. Results keep the sizes that the program declares; their strides are those that the meta
// kernels of the new nodes infer.
//   whatever a decomposition fails with, annotated with the node: kUnimplemented for arguments that
//                it does not cover, kInvalidArgument for wrong ones
//   kInternal    a result differs from what the program declares, or a decomposition leads back to
//                itself; the message has both types
Pass Decompose(DecomposeOptions options = {});

// The same for operators that have nothing but a composite implicit kernel of their own
// (OpRegistry::SetCompositeKernel): what no backend took becomes what the kernel makes of it, decomposed
// by StandardDecompositions(). Operators with a meta or a composite explicit kernel stay
// (docs/lowering.md §5.5).
Pass PromoteBackendOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_DECOMPOSITIONS_DECOMPOSE_H_
