// Prints ExecuTorch's files of profiling events.
#ifndef BELAY_TOOLS_BELAY_INSPECT_EVENTS_H_
#define BELAY_TOOLS_BELAY_INSPECT_EVENTS_H_

#include "absl/status/status.h"
#include "tools/belay/command.h"

namespace belay::tools {

// Prints for each block of an ETDump the events by name: their number, total and mean time in the
// unit of the file, the largest total first. Errors of ReadEventDump; kInvalidArgument: an option
// other than --json.
absl::Status InspectEvents(const InspectOptions& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_INSPECT_EVENTS_H_
