#ifndef BELAY_EXIR_PASSES_CONTIGUOUS_CONSTANTS_H_
#define BELAY_EXIR_PASSES_CONTIGUOUS_CONSTANTS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Makes constants whose dimensions are in neither the contiguous nor the channels-last order
// contiguous. Of the passes to edge, the one that copies weights, and only those. Source:
// docs/edge-dialect.md §3 row 15.
Pass ContiguousConstants();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_CONTIGUOUS_CONSTANTS_H_
