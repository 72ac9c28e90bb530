#ifndef BELAY_EXIR_PASSES_TO_EDGE_OPS_H_
#define BELAY_EXIR_PASSES_TO_EDGE_OPS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Retargets every ATen overload to its edge overload and sets the program's dialect to edge.
// Operators on symbolic scalars are unchanged. Source: docs/edge-dialect.md §3 row 12 and §5 (list
// of exempt operators).
Pass ToEdgeOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_TO_EDGE_OPS_H_
