// Finds buffer updates that can run in place (docs/edge-dialect.md §6, reinplace).
#ifndef BELAY_EXIR_EMIT_IN_PLACE_STATE_H_
#define BELAY_EXIR_EMIT_IN_PLACE_STATE_H_

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Maps nodes of the top graph to the equivalent in-place operators.
using InPlaceNodes = absl::flat_hash_map<NodeId, std::string_view>;

// Returns the nodes of update chains: the first argument is a buffer or a mutated user input, or
// the result of such a node; the last result of the chain is written back. The first argument of
// each node has no other use at or after the node, in its other arguments, in control-flow
// subgraphs or among the outputs. The result has the buffer's dtype, sizes and strides. Without
// `all`, only chains of operators that are in place in the source program too: updates of caches
// (namespace llama). Linear in the uses.
InPlaceNodes FindInPlaceNodes(const ExportedProgram& program, bool all);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_IN_PLACE_STATE_H_
