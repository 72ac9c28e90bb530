// Gives the operators that torch.vmap mapped their batch dimensions.
#ifndef BELAY_EXIR_FUNCTIONALIZE_BATCH_REGIONS_H_
#define BELAY_EXIR_FUNCTIONALIZE_BATCH_REGIONS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Between _add_batch_dim and _remove_batch_dim an archive shows tensors as the mapped function sees
// them: without the dimensions that vmap maps over. Here they get them, in front of the others in
// the order of the levels, and every operator between becomes one on batches. Comes after
// decomposition, so that few kinds of operators are left.
//   kUnimplemented    an operator whose batched form is not known, with its node
//   kInvalidArgument  calls that do not fit together
Pass BatchRegions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_BATCH_REGIONS_H_
