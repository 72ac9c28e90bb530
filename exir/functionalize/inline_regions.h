// Puts the bodies of regions that only set a mode in the place of their call.
#ifndef BELAY_EXIR_FUNCTIONALIZE_INLINE_REGIONS_H_
#define BELAY_EXIR_FUNCTIONALIZE_INLINE_REGIONS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// wrap_with_set_grad_enabled: gradients do not matter to inference. wrap_with_autocast: operators
// inside, in nested regions and in the bodies of control flow too, get the casts that PyTorch's
// autocast makes on the CPU, because the archive has only their results' types (autocast_rules.h).
//   kInvalidArgument  a region whose arguments are not (mode…, body, operands…), or whose body does
//                     not take the operands
Pass InlineRegions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_INLINE_REGIONS_H_
