#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SWAP_PRODUCTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SWAP_PRODUCTS_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Transposes the rows of a product and its result instead of a large right-hand matrix:
//
//   mm(a, permute_copy(b, [1, 0]))      ->  permute_copy(mm(b, permute_copy(a, [1, 0])), [1, 0])
//   bmm(a, permute_copy(b, [0, 2, 1]))  ->  the same with [0, 2, 1]
//
// A transposition of one row or column is a view. Conditions: float32, known sizes, contiguous tensors,
// at most 64 rows of `a`, whose elements and those of the result are fewer than a quarter of b's, no
// other user of the permutation, and a `b` that is computed at run time: others are prepacked weights
// (lower_linear.h). Top graph only. `handles` must outlive the pass. O(nodes).
exir::Pass SwapProducts(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SWAP_PRODUCTS_H_
