// What a method takes and gives, and its instructions (docs/pte-format.md §7, §8): that they refer
// to values of the right kinds, and what they do with each.
#ifndef BELAY_EXECUTORCH_READER_STEP_READER_H_
#define BELAY_EXECUTORCH_READER_STEP_READER_H_

#include "absl/status/status.h"
#include "executorch/reader/method_facts.h"
#include "executorch/reader/program_file.h"
#include "runtime/core/memory_budget.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Sets facts.steps, and of facts.values what inputs, outputs and instructions say; the values'
// kinds and layouts were read. Each error names the method and the input, output or instruction;
// all are told at once, those of inputs and outputs before those of instructions.
//   kInvalidArgument    a table or a list is missing; an index of a value, operator or delegate
//                       that does not exist; an instruction without a kind; a call with another
//                       number of arguments than its operator's, or an argument of another kind; a
//                       condition that is no bool; a move between kinds
//   kUnimplemented      operators that the runtime of version 1.5.0 has not: all, by name; inputs
//                       that are there twice
//   kResourceExhausted  Limits::instructions, ::operands, their memory, or `budget`, from which
//                       what is copied is taken: tables may be shared; also by DelegateOutputs
absl::Status ReadSteps(const ProgramFile& file, const Limits& limits, MemoryBudget& budget,
                       MethodFacts& facts);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_STEP_READER_H_
