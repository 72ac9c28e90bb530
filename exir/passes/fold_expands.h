#ifndef BELAY_EXIR_PASSES_FOLD_EXPANDS_H_
#define BELAY_EXIR_PASSES_FOLD_EXPANDS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// f(a, expand_copy(b, sizes)) -> f(a, b) for a pointwise f that broadcasts b to the same result. The
// expanded tensor is then not stored. torch.nn.functional.normalize is exported in this form.
// Conditions: another operand has the sizes of the result and the dtype of b, and the meta kernel
// infers the same type as before.
//
// Likewise for a product with the same matrix in each batch, such as x @ w of x[b,n,k] and w[1,k,m]:
//
//   bmm(x, view_copy(expand_copy(w))) -> view_copy(mm(view_copy(x, [b*n,k]), view_copy(w, [k,m])))
//
// The view of the expanded tensor may be absent. Conditions: sizes are known, and the result is contiguous.
Pass FoldExpands();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_FOLD_EXPANDS_H_
