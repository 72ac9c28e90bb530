#ifndef BELAY_EXIR_PASSES_BOUND_DATA_SIZES_H_
#define BELAY_EXIR_PASSES_BOUND_DATA_SIZES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Narrows the ranges of symbols that nodes define, such as the number of boxes that nms returns.
// The new range of a symbol is the intersection of its range in ExportedProgram::ranges with
//   - the range that the operator implies (nms: the boxes; nonzero, masked_select: the elements;
//     item of uint8: 0 to 255), from its meta kernel and the ranges of its operands, and
//   - comparisons of the symbol in assertions of the same graph: `_assert_scalar(u0 <= 50)`. A
//     call that exceeds such a bound fails anyway.
// An empty intersection does not change the range. Symbols of inputs are not changed. Only changes
// ExportedProgram::ranges. O(nodes).
Pass BoundDataSizes();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_BOUND_DATA_SIZES_H_
