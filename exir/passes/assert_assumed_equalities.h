#ifndef BELAY_EXIR_PASSES_ASSERT_ASSUMED_EQUALITIES_H_
#define BELAY_EXIR_PASSES_ASSERT_ASSUMED_EQUALITIES_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Makes the equalities of sizes that shape formulas assumed (exir/symbolic/assumed_equalities.h)
// something that the program checks where it relies on it: in front of the first node of a graph that
// assumes one there is an `_assert_scalar`, with the node's source line, that says what is assumed and
// by which node. What the graph asserts already, and what the ranges of the symbols prove, is not
// asserted again. An equality of a size that the graph can't compute is left to the kernels, whose
// shape formulas are the same: they refuse all different sizes but 1.
//   kInvalidArgument  the ranges disprove it; the message names the node and both sizes
// Source: docs/pt2-format.md §10.
Pass AssertAssumedEqualities();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_ASSERT_ASSUMED_EQUALITIES_H_
