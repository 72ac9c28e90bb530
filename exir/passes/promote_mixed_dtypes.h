#ifndef BELAY_EXIR_PASSES_PROMOTE_MIXED_DTYPES_H_
#define BELAY_EXIR_PASSES_PROMOTE_MIXED_DTYPES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Inserts `_to_copy(dtype)` so that the operands of add, sub, mul, div and minimum have their
// promoted dtype, and so that all inputs of cat, select_scatter and slice_scatter have the result's
// dtype. Source: docs/edge-dialect.md §3 row 11.
Pass PromoteMixedDtypes();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PROMOTE_MIXED_DTYPES_H_
