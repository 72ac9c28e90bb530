#ifndef BELAY_EXIR_PASSES_SCALAR_TO_TENSOR_H_
#define BELAY_EXIR_PASSES_SCALAR_TO_TENSOR_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Replaces scalars in arguments for which the schema requires a tensor.
// - A literal becomes a constant of rank 0 (float32, int64, bool or complex64, as torch.tensor
//   gives). It is a persistent buffer `_lifted_tensor_constant<n>` before the first user input; in
//   subgraphs it is `aten.full`.
// - A symbolic value becomes `aten.scalar_tensor` (int64, float32 or bool).
//
// Each use has its own constant; the file stores equal bytes once. The tensor gets the dtype of the
// operands instead if it would change their promotion, or if float32 (the parts of complex64) would
// round it among float64 or complex128 operands. A symbolic integer is cast to this dtype and
// wraps. A scalar that multiplies or divides half-precision operands is kept, in the overload for
// scalars, if half precision would round it or, for a symbolic one, might. Source:
// docs/edge-dialect.md §3 rows 6, 7, 14; row 7 has int32 for symbolic integers, which may not fit.
Pass ScalarToTensor();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_SCALAR_TO_TENSOR_H_
