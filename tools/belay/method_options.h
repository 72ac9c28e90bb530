// The methods of commands that lower: --method, and the unnamed archive.
#ifndef BELAY_TOOLS_BELAY_METHOD_OPTIONS_H_
#define BELAY_TOOLS_BELAY_METHOD_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/pipeline.h"

namespace belay::tools {

struct MethodOption {
  std::string name;
  std::string archive;  // FILE or FILE:MODEL
};

// Returns the methods of a file of saved programs; empty for other files.
absl::StatusOr<std::vector<std::string>> SavedMethods(const std::string& file);

// Returns the methods that a command processes: `input` is 'forward', unless it is a file of saved
// programs with the methods `saved`, which keep their names. `options` are NAME=FILE of --method.
// `command` names the command in messages. kInvalidArgument (bad usage): another format, a repeated
// name, or none at all.
absl::StatusOr<std::vector<MethodOption>> MethodsOf(const std::string& command,
                                                    const std::string& input,
                                                    const std::vector<std::string>& options,
                                                    const std::vector<std::string>& saved);

// Selects the models that become the methods. Errors of ChooseModel.
absl::StatusOr<std::vector<exir::MethodArchive>> ChooseModels(
    const std::vector<MethodOption>& methods);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_METHOD_OPTIONS_H_
