#ifndef BELAY_EXIR_PASSES_REMOVE_UNUSED_PARAMETERS_H_
#define BELAY_EXIR_PASSES_REMOVE_UNUSED_PARAMETERS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Drops inputs of kind parameter that nothing uses, with their tensors (unless another input names
// the same one). Buffers stay, since state may be read from outside. Source: docs/edge-dialect.md §3
// row 0.
Pass RemoveUnusedParameters();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REMOVE_UNUSED_PARAMETERS_H_
