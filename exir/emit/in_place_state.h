// Finds updates of buffers and of loop-carried tensors that can run in place (docs/edge-dialect.md
// §6, reinplace).
#ifndef BELAY_EXIR_EMIT_IN_PLACE_STATE_H_
#define BELAY_EXIR_EMIT_IN_PLACE_STATE_H_

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Maps nodes to the equivalent in-place operators. The graphs are the program's.
using InPlaceNodes = absl::flat_hash_map<std::pair<const Graph*, NodeId>, std::string_view>;

// Returns the nodes of update chains. In the top graph, the first argument is a buffer or a mutated
// user input, or the result of such a node, and the last result is written back. In the body of a
// while_loop or scan, the first argument is a carried tensor, and the last result is its next
// value. The first argument of each node has no other use at or after the node, in its other
// arguments, in control-flow subgraphs or among the outputs. The result has the buffer's dtype,
// sizes and strides. Without `all`, the chains of the top graph have only operators that are in
// place in the source program too: updates of caches (namespace llama). Linear in the uses.
InPlaceNodes FindInPlaceNodes(const ExportedProgram& program, bool all);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_IN_PLACE_STATE_H_
