// Makes as_strided count places from the beginning of its operand.
#ifndef BELAY_EXIR_FUNCTIONALIZE_REBASE_AS_STRIDED_H_
#define BELAY_EXIR_FUNCTIONALIZE_REBASE_AS_STRIDED_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// In PyTorch as_strided counts places in the memory that its operand shares with others: of a
// slice, it reaches what lies before and beside the slice. Once views are copies there is nothing
// beside it. So as_strided of a view becomes as_strided, at the same place of the memory, of the
// tensor that owns the memory, its dimensions permuted to the order in which they lie there.
// as_strided_scatter too.
//   kUnimplemented  one list of all nodes where that is not possible: the memory begins before an
//                   input, its elements do not lie without gaps, or their type was reinterpreted
Pass RebaseAsStrided();

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_REBASE_AS_STRIDED_H_
