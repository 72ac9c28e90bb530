// Description of a loaded instruction.
#ifndef BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_
#define BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/core/evalue.h"

namespace belay {

struct Kernel;
class Method;
struct OperatorFacts;

// For reports: the kernel or backend of an instruction, and its operands.
struct InstructionInfo {
  std::string_view op;      // operator, "delegate", "move", "jump_if_false" or "jump"
  std::string_view kernel;  // kernel's name, or backend id
  std::string_view engine;  // "reference", "highway", or "delegate"; "" for moves and jumps
  // Kernels of higher preference that did not accept the call (Kernel::accepts_call).
  std::vector<const Kernel*> declined = {};
  std::string_view signature = {};       // of the kernel: its argument names
  const OperatorFacts* facts = nullptr;  // of the operator; null unless it is a kernel call
  // Tensors have the sizes of the last call; before the first call, their maximum sizes.
  std::vector<const EValue*> arguments = {}, outputs = {};
  uint64_t scratch_bytes = 0;
  const Method* method = nullptr;  // DelegateHandle::method()
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_
