// Inlines the subgraphs of regions that only set a mode.
#ifndef BELAY_EXIR_FUNCTIONALIZE_INLINE_REGIONS_H_
#define BELAY_EXIR_FUNCTIONALIZE_INLINE_REGIONS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// wrap_with_set_grad_enabled: inference needs no gradients. wrap_with_autocast: operators inside,
// including nested regions and control-flow subgraphs, get the casts of PyTorch's CPU autocast
// (autocast_rules.h). The archive has only the types of their results.
//   kInvalidArgument  a region whose arguments are not (mode…, subgraph, operands…), or whose
//                     subgraph does not accept the operands
Pass InlineRegions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_INLINE_REGIONS_H_
