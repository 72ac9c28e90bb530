#ifndef BELAY_EXIR_PASSES_SIMPLIFY_OPS_H_
#define BELAY_EXIR_PASSES_SIMPLIFY_OPS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Replaces calls that are special cases of cheaper operators, which backends may also support:
//
//   scatter_add(x, dim, expand_copy(i), src)     -> index_put(x, [none…, i], src, accumulate=True)
//   gather(x, dim, expand_copy(i))               -> index(x, [none…, i])
//   adaptive_max_pool2d(x, [h / a, w / b])       -> max_pool2d_with_indices(x, [a, b], [a, b])
//   adaptive_max_pool2d(x, [1, 1]), values only  -> amax(x, [-1, -2], keepdim=True)
//   max.dim(x, d, keepdim), values only          -> amax(x, [d], keepdim); min.dim -> amin
//
// Also the pools of three dimensions.
//
// The index i has one element per slice of `dim`: all its other dimensions have size 1 before the
// expansion, and the sizes of x after it. Rewritten dimensions have known sizes. An error about an
// index out of range names the other operator, and negative indices count from the end instead.
// Sums of half precision are not rewritten, since index_put rounds after each addend.
Pass SimplifyOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_SIMPLIFY_OPS_H_
