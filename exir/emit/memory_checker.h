// Proves that a memory plan is right, from the emitted method alone. Shares no code with the
// planners or the emitter.
#ifndef BELAY_EXIR_EMIT_MEMORY_CHECKER_H_
#define BELAY_EXIR_EMIT_MEMORY_CHECKER_H_

#include "absl/status/status.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Computes which arena tensors are live at each instruction by data flow over the instruction graph
// (jumps included; a value read by a later iteration of a loop is live around it; outputs are live
// to the end; a list keeps its elements alive), and checks that
//   M1  no two tensors whose live ranges meet share a byte of the arena, unless they are one value;
//   M2  every arena tensor lies inside the arena and every state tensor inside the state, aligned
//   to 64; M3  no two state buffers overlap; M4  no instruction writes to a constant, and each
//   arena tensor is written before it is read on every path; M5  the outputs of one instruction do
//   not overlap each other or its inputs.
// kInternal with one line per violation: both values, their ranges and the instruction.
absl::Status CheckMemoryPlan(const schema::Method& method);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_CHECKER_H_
