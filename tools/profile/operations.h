// What a call computes and moves: for reports.
#ifndef BELAY_TOOLS_PROFILE_OPERATIONS_H_
#define BELAY_TOOLS_PROFILE_OPERATIONS_H_

#include <cstdint>
#include <string>

#include "runtime/executor/instruction_info.h"

namespace belay::tools {

// The arithmetic operations of an instruction with the sizes that its operands have now, counted
// as exir/flop_count.h does: two for each multiplication and addition of products of matrices,
// convolutions and attention, also of those that the CPU backend makes. 0: none are known.
double OperationsOf(const InstructionInfo& instruction);

// Of all tensors, those in lists included.
struct OperandBytes {
  uint64_t read = 0, written = 0;
};
OperandBytes BytesOf(const InstructionInfo& instruction);

// "f32[1,3], f32[3] -> f32[1]": the tensors.
std::string OperandText(const InstructionInfo& instruction);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_OPERATIONS_H_
