// Replaces writes to tensors by new values.
#ifndef BELAY_EXIR_FUNCTIONALIZE_FUNCTIONALIZE_H_
#define BELAY_EXIR_FUNCTIONALIZE_FUNCTIONALIZE_H_

#include "exir/decompositions/standard_decompositions.h"
#include "exir/pass/pass.h"

namespace belay::exir {

// In all graphs, bodies of control flow included. An operator that writes its arguments (its schema
// says so: `Tensor(a!)`) becomes the functional one of the same name, and its result takes the
// place of the written tensor in all that comes later; so do the views of that tensor, and the
// tensor of which it is a view, computed anew where they are used. Inputs of the program that are
// written become mutation outputs, before the other outputs, in the order of the inputs: of
// buffers, parameters and user inputs. A tensor constant that is written becomes a buffer.
//
// Expects that operators whose results may be aliases without the schema saying so are decomposed
// (reshape, to, contiguous: their schemas do say so, but they are aliases only at times). `table`
// (null: StandardDecompositions()) decomposes functional operators without a meta kernel.
//   kUnimplemented    one list of all nodes that write and have no functional variant; a body of
//                     control flow that writes its operands; a write to an expanded tensor
//   kInvalidArgument  a result that has not the sizes of the tensor to which it is written
Pass Functionalize(const DecompositionTable* table = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_FUNCTIONALIZE_H_
