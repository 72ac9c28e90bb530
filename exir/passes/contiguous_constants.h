#ifndef BELAY_EXIR_PASSES_CONTIGUOUS_CONSTANTS_H_
#define BELAY_EXIR_PASSES_CONTIGUOUS_CONSTANTS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Makes constants contiguous whose dimensions are in neither contiguous nor channels-last order.
// The only ToEdge pass that copies weights. Source: docs/edge-dialect.md §3 row 15.
Pass ContiguousConstants();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_CONTIGUOUS_CONSTANTS_H_
