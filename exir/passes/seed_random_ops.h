#ifndef BELAY_EXIR_PASSES_SEED_RANDOM_OPS_H_
#define BELAY_EXIR_PASSES_SEED_RANDOM_OPS_H_

#include <cstdint>
#include <string_view>

#include "exir/pass/pass.h"

namespace belay::exir {

// The buffer that holds the state of a program's generator: int64 [seed, numbers handed out].
inline constexpr std::string_view kRandomState = "belay.random_state";

// Gives a program that asks for random numbers a generator of its own, whose state is a buffer like
// any other: methods of a program share it, resetting state begins its numbers again, and who reads
// and writes state can save, restore and seed it. `aten.rand(…)` and its like become
// `seeded.rand(state, offset, …)`, whose numbers are a function of their arguments and so the same
// in every engine, on any number of threads and wherever the node is moved; `offset` is the node's
// place among those that ask. Each call of the method advances the state by their number. The
// numbers are distributed as PyTorch's are, they are not PyTorch's.
//
// A branch of `cond` gets the state as an operand. Dropout with `train=False` asks for nothing.
//   kUnimplemented    a random operator in the body of a loop, whose iterations would repeat numbers
//   kInvalidArgument  the program has a tensor of the buffer's name
Pass SeedRandomOps(int64_t seed);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_SEED_RANDOM_OPS_H_
