// Operators for reading many programs.
#ifndef BELAY_FUZZ_TARGETS_RECYCLED_OPS_H_
#define BELAY_FUZZ_TARGETS_RECYCLED_OPS_H_

#include "exir/op/op_registry.h"

namespace belay::fuzz {

// The standard operators. Readers add to the registry what they don't know, so that it is made anew
// from time to time: the result is valid until the next call. For one thread.
const exir::OpRegistry& RecycledOps();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_RECYCLED_OPS_H_
