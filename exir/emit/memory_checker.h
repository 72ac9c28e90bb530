// Verifies a memory plan from the emitted method and the method from which it was planned. Shares
// no code with the planners, the scheduler, storage sharing, or the emitter.
#ifndef BELAY_EXIR_EMIT_MEMORY_CHECKER_H_
#define BELAY_EXIR_EMIT_MEMORY_CHECKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/emit/memory_bank.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Describes how a method was derived from the one written without regard to memory.
struct PlannedMethod {
  const schema::Method& written;
  // Instructions of `written` in execution order, including elided ones.
  const std::vector<uint32_t>& order;
  const std::vector<bool>& elided;       // by instruction of `written`
  const std::vector<bool>& has_effects;  // by instruction of `written`
  absl::Span<const MemoryBank> banks = {};
};

// Checks that `method` computes the same as `planned.written`, in which every value has its own
// memory:
//   O1  `order` contains each instruction once; instructions stay between the jumps and jump
//       targets that surround them; reads and writes of one value keep their order, and so do
//       instructions with effects, delegates, and operators without results;
//   O2  `method` has the same values except for memory offsets, inputs, outputs and state, and
//       exactly the instructions that are not elided, with equivalent jump targets;
//   V1  an elided instruction only forwards bytes: its results occupy the same bytes of its
//       argument (or its operands those of its result) that the operator would have copied,
//       recomputed index by index from the operator's definition, and are static.
// And by data-flow analysis over the instructions (jumps included; a value read by a later
// iteration of a loop is live throughout it; outputs are live to the end; a list keeps its elements
// alive):
//   M1  the bytes written by an instruction overlap no other value that is live after it, except
//       values with the same bytes: the argument of a kept view and its other views;
//   M2  every arena tensor is inside one bank of the arena, at its alignment, and every state
//   tensor
//       inside the state, aligned to 64; the banks of the method are those of `planned`, within
//       their capacities, and divide the arena;
//   M3  state buffers do not overlap;
//   M4  no instruction writes to a constant, and each arena tensor is written before it is read on
//       every path;
//   M5  the outputs of one instruction overlap neither each other nor its inputs, except where
//       operator_facts.h permits it and the symbolic sizes agree (`shapes`, by value).
// Returns kInternal with one line per violation: both values, their ranges and the instruction. O(n
// log n) in instructions and operands, times the loop nesting depth.
absl::Status CheckMemoryPlan(const schema::Method& method, const PlannedMethod& planned,
                             const std::vector<uint32_t>& shapes);

// Same, for a method that was not rearranged.
absl::Status CheckMemoryPlan(const schema::Method& method);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_CHECKER_H_
