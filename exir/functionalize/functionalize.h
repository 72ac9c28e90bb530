// Replaces in-place writes to tensors by new values.
#ifndef BELAY_EXIR_FUNCTIONALIZE_FUNCTIONALIZE_H_
#define BELAY_EXIR_FUNCTIONALIZE_FUNCTIONALIZE_H_

#include "exir/decompositions/standard_decompositions.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Runs on all graphs, including control-flow subgraphs. An operator whose schema declares a write
// (`Tensor(a!)`) becomes the functional one of the same name. Its result replaces the written
// tensor in all later uses. Views of that tensor, and the tensor that it is a view of, are
// recomputed where they are used. Written program inputs (buffers, parameters and user inputs)
// become mutation outputs, before the other outputs, in the order of the inputs. A written tensor
// constant becomes a buffer.
//
// Precondition: operators whose results may or may not be aliases are decomposed (reshape, to,
// contiguous; their schemas declare aliases, but they alias only in some cases). `table` (null:
// StandardDecompositions()) decomposes functional operators without a meta kernel.
//   kUnimplemented    one list of all nodes that write and have no functional variant; a
//                     control-flow subgraph that writes its operands; a write to an expanded tensor
//   kInvalidArgument  the sizes of a result differ from those of the tensor to which it is written
Pass Functionalize(const DecompositionTable* table = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_FUNCTIONALIZE_H_
