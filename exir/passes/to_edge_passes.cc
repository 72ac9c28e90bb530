#include "exir/passes/to_edge_passes.h"

#include <utility>

#include "exir/passes/assert_assumed_equalities.h"
#include "exir/passes/contiguous_constants.h"
#include "exir/passes/dim_order_ops.h"
#include "exir/passes/eliminate_dead_code.h"
#include "exir/passes/generate_debug_handles.h"
#include "exir/passes/promote_mixed_dtypes.h"
#include "exir/passes/prune_empty_tensors.h"
#include "exir/passes/refresh_layouts.h"
#include "exir/passes/remove_assertions.h"
#include "exir/passes/remove_noops.h"
#include "exir/passes/remove_unused_parameters.h"
#include "exir/passes/replace_view_ops.h"
#include "exir/passes/resolve_layout_queries.h"
#include "exir/passes/scalar_to_tensor.h"
#include "exir/passes/to_edge_ops.h"

namespace belay::exir {

std::vector<Pass> ToEdgePasses(bool dim_order) {
  std::vector<Pass> passes = {
      RemoveUnusedParameters(),
      RemoveAssertions(),
      ResolveLayoutQueries(),
      ReplaceViewOps(),
      // Before layouts are inferred, so that inference starts from the constants of the output
      // file.
      ContiguousConstants(),
      RefreshLayoutsPass(),
      ScalarToTensor(),
      RemoveNoops(),
      PruneEmptyTensors(),
      PromoteMixedDtypes(),
  };
  if (dim_order) passes.push_back(ReplaceMemoryFormatOps());
  for (Pass pass : {RefreshLayoutsPass(), AssertAssumedEqualities(), ToEdgeOps(),
                    EliminateDeadCode(), GenerateDebugHandles()}) {
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace belay::exir
