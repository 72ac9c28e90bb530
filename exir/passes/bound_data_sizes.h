#ifndef BELAY_EXIR_PASSES_BOUND_DATA_SIZES_H_
#define BELAY_EXIR_PASSES_BOUND_DATA_SIZES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Narrows the ranges of symbols that nodes define, such as the number of boxes that nms returns.
// The new range of a symbol is the intersection of its range in ExportedProgram::ranges with
//   - the range that the operator implies (nms: the boxes; nonzero, masked_select: the elements),
//     from its meta kernel and the ranges of its operands' sizes,
//   - the range that the elements of its operand imply (element_ranges.h): item of uint8 or of
//     x.clamp(0, 255): 0 to 255; bincount: the largest element; repeat_interleave: the sum of the
//     repeats, and
//   - the values for which the assertions of the same graph may hold: `_assert_scalar(u0 <= 50)`. A
//     call with another value fails anyway.
// Symbols of inputs are only narrowed by assertions of the top graph. An empty intersection does not
// change the range. Only changes ExportedProgram::ranges. O(nodes).
Pass BoundDataSizes();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_BOUND_DATA_SIZES_H_
