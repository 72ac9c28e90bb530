// Options of backends when a method is loaded: --backend-option.
#ifndef BELAY_TOOLS_BELAY_BACKEND_OPTIONS_H_
#define BELAY_TOOLS_BELAY_BACKEND_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend_settings.h"
#include "runtime/program/program.h"
#include "tools/belay/command_line.h"

namespace belay::tools {

// Parses BACKEND.OPTION=VALUE of this binary's backends. kInvalidArgument (bad usage): another
// format, an unknown backend, an option that is given twice; errors of ParseOption.
absl::StatusOr<BackendSettings> ParseBackendOptions(const std::vector<std::string>& assignments);

// kInvalidArgument (bad usage): options of a backend that no method of the program uses.
absl::Status CheckBackendsAreUsed(const BackendSettings& settings, const Program& program);

// Returns the command-line option --backend-option.
Option BackendOptionFlag(std::vector<std::string>* assignments);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_BACKEND_OPTIONS_H_
