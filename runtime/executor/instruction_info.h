// What an instruction became when its method was loaded.
#ifndef BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_
#define BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/core/evalue.h"

namespace belay {

struct Kernel;
class Method;

// Which kernel or backend an instruction got, and what it works on, for reports.
struct InstructionInfo {
  std::string_view op;      // operator, "delegate", "move", "jump_if_false" or "jump"
  std::string_view kernel;  // kernel's name, or backend id
  std::string_view engine;  // "reference", "highway", or "delegate"; "" for moves and jumps
  // Kernels that are preferred to this one, and did not accept the call (Kernel::accepts_call).
  std::vector<const Kernel*> declined = {};
  std::string_view signature = {};  // of the kernel: the names of its arguments
  // Tensors have the sizes of the last call, before the first their largest.
  std::vector<const EValue*> arguments = {}, outputs = {};
  uint64_t scratch_bytes = 0;
  const Method* method = nullptr;  // DelegateHandle::method()
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_
