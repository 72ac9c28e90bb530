#ifndef BELAY_EXIR_PASSES_ELIMINATE_DEAD_CODE_H_
#define BELAY_EXIR_PASSES_ELIMINATE_DEAD_CODE_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Erases nodes with unused results and without side effects, in all graphs. Source:
// docs/edge-dialect.md §3 row 16.
Pass EliminateDeadCode();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_ELIMINATE_DEAD_CODE_H_
