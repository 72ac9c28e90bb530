// A command of the user that measures a program: --metric.
#ifndef BELAY_TOOLS_BELAY_METRIC_COMMAND_H_
#define BELAY_TOOLS_BELAY_METRIC_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"

namespace belay::tools {

// Executes `command FILE` in the shell and returns the number on the last line of its standard
// output. Only the last 4096 bytes of the output are kept.
//   kInvalidArgument  the command fails, or that line is not a finite number; with the line
//   kUnavailable      the shell cannot be started
absl::StatusOr<double> RunMetric(const std::string& command, const std::string& file);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_METRIC_COMMAND_H_
