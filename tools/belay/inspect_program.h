// `belay inspect` of a program file.
#ifndef BELAY_TOOLS_BELAY_INSPECT_PROGRAM_H_
#define BELAY_TOOLS_BELAY_INSPECT_PROGRAM_H_

#include "absl/status/status.h"
#include "tools/belay/command.h"

namespace belay::tools {

// Prints to standard output. Errors of Program::Open, VerifyDigests and ProgramJson; the message
// names the path once.
absl::Status InspectProgram(const InspectOptions& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_INSPECT_PROGRAM_H_
