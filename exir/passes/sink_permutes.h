#ifndef BELAY_EXIR_PASSES_SINK_PERMUTES_H_
#define BELAY_EXIR_PASSES_SINK_PERMUTES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// reduce(permute_copy(x, p), dims) -> permute_copy(reduce(x, p[dims]), q), without the permutation if
// q is the identity; f(permute_copy(x, p), permute_copy(y, p)) -> permute_copy(f(x, y), p) for a
// pointwise f. Conditions: known sizes, contiguous tensors, and all users of the permutation change,
// so that a smaller tensor, or one instead of several, is permuted.
Pass SinkPermutes();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_SINK_PERMUTES_H_
