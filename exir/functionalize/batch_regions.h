// Materializes the batch dimensions of operators mapped by torch.vmap.
#ifndef BELAY_EXIR_FUNCTIONALIZE_BATCH_REGIONS_H_
#define BELAY_EXIR_FUNCTIONALIZE_BATCH_REGIONS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Between _add_batch_dim and _remove_batch_dim, an archive has tensors as the mapped function sees
// them: without the dimensions over which vmap maps. This pass adds these dimensions in front of
// the others, in the order of the levels, and converts every operator in between to a batched one.
// Runs after decomposition, when few kinds of operators remain.
//   kUnimplemented    an operator without a batching rule, with its node
//   kInvalidArgument  mismatched calls
Pass BatchRegions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_BATCH_REGIONS_H_
