// An operator registry for reading many programs.
#ifndef BELAY_FUZZ_TARGETS_RECYCLED_OPS_H_
#define BELAY_FUZZ_TARGETS_RECYCLED_OPS_H_

#include "exir/op_definition/op_registry.h"

namespace belay::fuzz {

// Returns a registry with the standard operators. Readers add unknown operators to it, so it is
// recreated from time to time: the result is valid until the next call. Not thread-safe.
const exir::OpRegistry& RecycledOps();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_RECYCLED_OPS_H_
