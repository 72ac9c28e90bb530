#ifndef BELAY_EXIR_PASSES_ASSERT_ASSUMED_EQUALITIES_H_
#define BELAY_EXIR_PASSES_ASSERT_ASSUMED_EQUALITIES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Converts equalities of sizes that shape formulas assume (exir/symbolic/assumed_equalities.h) to
// runtime checks. Before the first node of a graph that assumes an equality, inserts an
// `_assert_scalar` with the node's source line; its message gives the equality and the node.
// Equalities that the graph already asserts, or that the ranges of the symbols prove, are not
// asserted again. An equality of a size that the graph cannot compute is left to the kernels, whose
// shape formulas are the same: they reject all different sizes except 1.
//   kInvalidArgument  the ranges disprove it; the message names the node and both sizes
// Source: docs/pt2-format.md §10.
Pass AssertAssumedEqualities();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_ASSERT_ASSUMED_EQUALITIES_H_
