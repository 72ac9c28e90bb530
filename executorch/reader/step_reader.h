// Reads a method's inputs, outputs and instructions (docs/pte-format.md §7, §8): checks the kinds
// of the values that they refer to, and records how they use each value.
#ifndef BELAY_EXECUTORCH_READER_STEP_READER_H_
#define BELAY_EXECUTORCH_READER_STEP_READER_H_

#include "absl/status/status.h"
#include "executorch/reader/method_facts.h"
#include "executorch/reader/program_file.h"
#include "runtime/core/memory_budget.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Sets facts.steps, and the fields of facts.values that inputs, outputs and instructions determine.
// Precondition: kinds and layouts of the values were read. Each error names the method and the
// input, output or instruction. All errors are reported at once, inputs and outputs first.
//   kInvalidArgument    a missing table or list; an unknown index of a value, operator or delegate;
//                       an instruction without a kind; a call whose number or kinds of arguments
//                       differ from its operator's; a condition that is not a bool; a move between
//                       kinds
//   kUnimplemented      operators that the runtime of version 1.5.1 does not have (lists all by
//                       name); duplicate inputs
//   kResourceExhausted  Limits::instructions, ::operands, their memory, or `budget`, which is
//                       charged for copies because tables may be shared; also by DelegateOutputs
absl::Status ReadSteps(const ProgramFile& file, const Limits& limits, MemoryBudget& budget,
                       MethodFacts& facts);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_STEP_READER_H_
