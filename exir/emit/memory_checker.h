// Proves that a memory plan is right, from the emitted method and from what it was planned from.
// Shares no code with the planners, with what orders and shares, or with the emitter.
#ifndef BELAY_EXIR_EMIT_MEMORY_CHECKER_H_
#define BELAY_EXIR_EMIT_MEMORY_CHECKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// How a method came from one that was written without regard to memory.
struct PlannedMethod {
  const schema::Method& written;
  // Instructions of `written` as they run, also those that are elided.
  const std::vector<uint32_t>& order;
  const std::vector<bool>& elided;       // by instruction of `written`
  const std::vector<bool>& has_effects;  // by instruction of `written`
};

// Checks that `method` computes what `planned.written` does, each of whose values has memory of its
// own:
//   O1  `order` has each instruction once; instructions stay between the jumps and jump targets
//       that they stand between; reads and writes of one value keep their order, and so do
//       instructions with effects, delegates, and operators without results;
//   O2  `method` has the same values, but for places in memory, inputs, outputs and state, and
//       exactly the instructions that are not elided, jumps leading to where they led;
//   V1  an elided instruction only hands on bytes: its results are in the very bytes of its
//       argument (or its operands in those of its result) that the operator would have copied,
//       recomputed index by index from the operator's definition, and are static.
// And by data flow over the instructions (jumps included; a value read by a later iteration of a
// loop is live around it; outputs are live to the end; a list keeps its elements alive):
//   M1  what an instruction writes shares no byte with another value that is live after it, but for
//       one that holds the same bytes: a kept view's argument and its other views;
//   M2  every arena tensor lies inside the arena and every state tensor inside the state, aligned
//       to 64;
//   M3  no two state buffers overlap;
//   M4  no instruction writes to a constant, and each arena tensor is written before it is read on
//       every path;
//   M5  the outputs of one instruction overlap neither each other nor its inputs, but where
//       in_place_operators.h allows it and the symbolic sizes agree (`shapes`, by value).
// kInternal with one line per violation: both values, their ranges and the instruction.
// O(n log n) in instructions and operands times the nesting of loops.
absl::Status CheckMemoryPlan(const schema::Method& method, const PlannedMethod& planned,
                             const std::vector<uint32_t>& shapes);

// The same of a method that was not changed.
absl::Status CheckMemoryPlan(const schema::Method& method);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_CHECKER_H_
