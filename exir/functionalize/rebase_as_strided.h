// Rebases as_strided, so that its offset counts from the beginning of its operand.
#ifndef BELAY_EXIR_FUNCTIONALIZE_REBASE_AS_STRIDED_H_
#define BELAY_EXIR_FUNCTIONALIZE_REBASE_AS_STRIDED_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// PyTorch's as_strided indexes the storage that its operand shares with other tensors. On a slice,
// it can reach elements before and outside the slice, which do not exist once views are copies.
// Therefore as_strided of a view becomes as_strided of the tensor that owns the storage, at the
// same offset. The owner's dimensions are permuted to their memory order. Also handles
// as_strided_scatter.
//   kUnimplemented  one list of all nodes where this is impossible: the storage begins before an
//                   input, its elements are not contiguous, or their dtype was reinterpreted
Pass RebaseAsStrided();

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_REBASE_AS_STRIDED_H_
