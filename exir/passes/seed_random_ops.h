#ifndef BELAY_EXIR_PASSES_SEED_RANDOM_OPS_H_
#define BELAY_EXIR_PASSES_SEED_RANDOM_OPS_H_

#include <cstdint>
#include <string_view>

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// The buffer with the state of a program's random generator: int64 [seed, number of draws].
inline constexpr std::string_view kRandomState = "belay.random_state";

// Gives a program that uses random numbers its own generator. Its state is a buffer like any other:
// methods of a program share it, resetting state restarts the sequence, and code that reads and
// writes state can save, restore and seed it.
//
// `aten.rand(…)` and similar operators become `seeded.rand(state, offset, …)`, whose results are a
// function of the arguments. So they are the same in every engine, with any number of threads and
// wherever the node is moved. `offset` is the node's position among the random nodes. Each call of
// the method advances the state by the number of random nodes. The distributions are those of
// PyTorch, the sequences are not.
//
// A branch of `cond` gets the state as an operand. Dropout with `train=False` draws no numbers.
//   kUnimplemented    a random operator in the subgraph of a loop: iterations would repeat numbers
//   kInvalidArgument  the program has a tensor with the buffer's name
Pass SeedRandomOps(int64_t seed);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_SEED_RANDOM_OPS_H_
