#ifndef BELAY_EXIR_PASSES_FOLD_INPUT_VIEWS_H_
#define BELAY_EXIR_PASSES_FOLD_INPUT_VIEWS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// permute_copy(view_copy(x), dims) of a contiguous graph input x of known sizes ->
// as_strided_copy(x, …): one copy instead of two. Views of other values share their memory, but an
// input's memory belongs to the caller, so that its views are copies.
Pass FoldInputViews();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_FOLD_INPUT_VIEWS_H_
