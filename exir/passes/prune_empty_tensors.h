#ifndef BELAY_EXIR_PASSES_PRUNE_EMPTY_TENSORS_H_
#define BELAY_EXIR_PASSES_PRUNE_EMPTY_TENSORS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Removes inputs of `cat` that have no elements; a `cat` with only such inputs becomes `full(shape,
// 0)`. Source: docs/edge-dialect.md §3 row 9.
Pass PruneEmptyTensors();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PRUNE_EMPTY_TENSORS_H_
