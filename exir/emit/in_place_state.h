// Which updates of buffers can be made where the buffer is (docs/edge-dialect.md §6, reinplace).
#ifndef BELAY_EXIR_EMIT_IN_PLACE_STATE_H_
#define BELAY_EXIR_EMIT_IN_PLACE_STATE_H_

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Node of the top graph → the operator that does the same in place.
using InPlaceNodes = absl::flat_hash_map<NodeId, std::string_view>;

// Nodes whose first argument is a buffer or a user input that the program mutates, or what such a
// node made of one, and whose result is what is written back in the end: a chain of updates without
// gaps. Of each, the first argument has no other use at or behind the node, in the node's other
// arguments, in bodies of control flow or among the outputs, and the result has the buffer's dtype,
// sizes and strides. Linear in the uses.
InPlaceNodes FindInPlaceNodes(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_IN_PLACE_STATE_H_
