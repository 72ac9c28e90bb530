// Arithmetic operations and memory traffic of a call, for reports.
#ifndef BELAY_TOOLS_PROFILE_OPERATIONS_H_
#define BELAY_TOOLS_PROFILE_OPERATIONS_H_

#include <cstdint>
#include <string>

#include "runtime/executor/instruction_info.h"

namespace belay::tools {

// Returns the arithmetic operations of an instruction at the current sizes of its operands, counted
// by OperatorFacts::flops. Each multiply-add of matmul, convolution and attention counts as two. 0:
// unknown.
double OperationsOf(const InstructionInfo& instruction);

// Bytes of all tensors, including those in lists.
struct OperandBytes {
  uint64_t read = 0, written = 0;
};
OperandBytes BytesOf(const InstructionInfo& instruction);

// Returns the types of the tensors: "f32[1,3], f32[3] -> f32[1]".
std::string OperandText(const InstructionInfo& instruction);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_OPERATIONS_H_
