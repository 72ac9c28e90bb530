#ifndef BELAY_EXIR_PASSES_REMOVE_UNUSED_PARAMETERS_H_
#define BELAY_EXIR_PASSES_REMOVE_UNUSED_PARAMETERS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Erases unused inputs of kind parameter, with their tensors (unless another input names the same
// tensor). Buffers are kept, because state may be read externally. Source: docs/edge-dialect.md §3
// row 0.
Pass RemoveUnusedParameters();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REMOVE_UNUSED_PARAMETERS_H_
