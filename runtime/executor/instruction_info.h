// What an instruction became when its method was loaded.
#ifndef BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_
#define BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_

#include <string_view>

namespace belay {

// Which kernel or backend an instruction got, for reports.
struct InstructionInfo {
  std::string_view op;      // operator, "delegate", "move", "jump_if_false" or "jump"
  std::string_view kernel;  // kernel's name, or backend id
  std::string_view engine;  // "reference", "highway", or "delegate"; "" for moves and jumps
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_INSTRUCTION_INFO_H_
