#ifndef BELAY_EXIR_PASSES_SCALAR_TO_TENSOR_H_
#define BELAY_EXIR_PASSES_SCALAR_TO_TENSOR_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Replaces numbers that stand where the schema wants a tensor: a literal becomes a constant of rank
// 0 (float32, int64, bool or complex64, as torch.tensor gives), stored as a persistent buffer
// `_lifted_tensor_constant<n>` before the first user input, in bodies `aten.full`; a symbolic value
// becomes `aten.scalar_tensor` (int64, float32 or bool). Each use has its own; the file has equal
// bytes once. Where such a tensor would promote the operands otherwise than the number does, or
// float32 (the parts of complex64) would round it among float64 or complex128 operands, it has
// their dtype, to which a symbolic integer is cast: it wraps. A number that multiplies or divides
// half precision, which would round it or, of a symbolic one, may, stays one in the overload for
// numbers. Source: docs/edge-dialect.md §3 rows 6, 7, 14; row 7 has int32 for symbolic integers, which
// need not fit it.
Pass ScalarToTensor();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_SCALAR_TO_TENSOR_H_
