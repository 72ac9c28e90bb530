#ifndef BELAY_EXIR_PASSES_FOLD_EXPANDS_H_
#define BELAY_EXIR_PASSES_FOLD_EXPANDS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// f(a, expand_copy(b, sizes)) -> f(a, b) for a pointwise f that broadcasts b to the same result: no
// copy of the expanded tensor. Torch writes functional.normalize so. Requires an operand of the
// result's sizes and of b's dtype, and that the meta kernel infers the same type as before.
Pass FoldExpands();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_FOLD_EXPANDS_H_
