#ifndef BELAY_EXIR_PASSES_REMOVE_NOOPS_H_
#define BELAY_EXIR_PASSES_REMOVE_NOOPS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Removes nodes that give back their input: `aten.to.dtype` and `_to_copy` to the same dtype,
// layout and shape, `dropout` outside training, `slice_copy` of the whole. Where such a node stood
// between a dequantization and a quantization with the same parameters, that goes too, if it clamps
// nothing. Of results that a program returns, only a slice's and a dropout's go: PyTorch's caller
// gets an alias of the input there, too. Source: docs/edge-dialect.md §3 rows 8, 10.
Pass RemoveNoops();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REMOVE_NOOPS_H_
