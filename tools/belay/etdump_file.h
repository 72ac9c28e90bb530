// Events as a file of ExecuTorch's devtools (ETDump, .etdp), for its Inspector.
#ifndef BELAY_TOOLS_BELAY_ETDUMP_FILE_H_
#define BELAY_TOOLS_BELAY_ETDUMP_FILE_H_

#include <string>

#include "absl/types/span.h"
#include "runtime/trace/event_log.h"
#include "tools/profile/code_map.h"

namespace belay::tools {

// Returns an ETDump with the blocks "Init" (loading) and "Execute" (calls), in nanoseconds
// (docs/profiling.md §6). `events` are in the order and with the depths of a log. An event of an
// instruction has its index and its operator, or DELEGATE_CALL, as name; an event inside a delegate
// has the index of the delegate call, and its own name as delegate debug identifier.
std::string EtDump(absl::Span<const Event> events, CodeMap& code);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_ETDUMP_FILE_H_
