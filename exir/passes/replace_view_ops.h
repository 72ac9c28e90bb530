#ifndef BELAY_EXIR_PASSES_REPLACE_VIEW_OPS_H_
#define BELAY_EXIR_PASSES_REPLACE_VIEW_OPS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Retargets operators whose result aliases an argument (view, permute, slice, t, …) to their
// `*_copy` variants, so that every value of an edge program owns its elements. RefreshLayoutsPass
// updates the layouts. kUnimplemented listing every view operator without a copy variant. Source:
// docs/edge-dialect.md §3 rows 2, 4, 5.
Pass ReplaceViewOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REPLACE_VIEW_OPS_H_
