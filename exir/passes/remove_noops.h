#ifndef BELAY_EXIR_PASSES_REMOVE_NOOPS_H_
#define BELAY_EXIR_PASSES_REMOVE_NOOPS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Removes nodes that return their input unchanged: `aten.to.dtype` and `_to_copy` to the same
// dtype, layout and shape, `dropout` outside training, `slice_copy` of the whole dimension. Of
// results that a program returns, only those of slices and dropouts are replaced: PyTorch also
// returns an alias of the input for them. Source: docs/edge-dialect.md §3 rows 8, 10.
//
// Also removes pairs quantize_per_tensor(dequantize_per_tensor(x)) with the same parameters, which
// return x. Conditions: 8 bits, and no number of x is outside of the clamping range, because that is
// the range of the dtype, or because x was quantized to a part of it.
Pass RemoveNoops();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REMOVE_NOOPS_H_
