// Rules by name for the constants of a lowered program: which file stores them, and which callers
// may replace when they open the program. ExecuTorch's external constants
// (exir/passes/external_constants_pass.py).
#ifndef BELAY_EXIR_CONSTANT_RULES_H_
#define BELAY_EXIR_CONSTANT_RULES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// Patterns match whole names: the fully qualified name of a parameter, buffer or tensor constant, or
// the name of its input. "*" matches any characters, "?" one character.
struct ConstantRules {
  struct File {
    std::string pattern;
    std::string tag;  // of the companion file (SerializeOptions)
  };
  // The first matching rule applies. A constant that is derived from one constant, such as a packed
  // weight, is stored in the same file.
  std::vector<File> files;
  // Tensors that may be replaced. They are not folded into other constants.
  std::vector<std::string> replaceable;
  bool empty() const { return files.empty() && replaceable.empty(); }
};

// Sets InputSpec::file and ::replaceable of all methods. Has no effect on tensors inside delegates.
//   kInvalidArgument  a pattern that matches no tensor, if a program is not lowered to the edge
//                     dialect yet (lists the names); a replaceable tensor that a method writes to
absl::Status ApplyConstantRules(const ConstantRules& rules, MethodPrograms& methods);

// Returns the replaceable tensors of all methods by name, in row-major order, all in one file.
//   kAlreadyExists    methods have different tensors of one name
//   kInvalidArgument  no tensor is replaceable
absl::StatusOr<NamedDataOutput> ReplaceableTensors(const MethodPrograms& methods);

}  // namespace belay::exir

#endif  // BELAY_EXIR_CONSTANT_RULES_H_
