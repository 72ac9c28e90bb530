// Writes events as files for trace viewers.
#ifndef BELAY_TOOLS_PROFILE_TRACE_FILES_H_
#define BELAY_TOOLS_PROFILE_TRACE_FILES_H_

#include <string>

#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "runtime/trace/event_log.h"
#include "tools/profile/code_map.h"

namespace belay::tools {

// Returns Perfetto's protobuf format, which ui.perfetto.dev opens. It has one thread of slices,
// nested as the events are, and a counter track of the arena bytes in use. `events` are in the
// order and with the depths of a log.
std::string PerfettoTrace(absl::Span<const Event> events, CodeMap& code);

// Returns the same as JSON, in Chrome's trace format (complete events, microseconds), which those
// viewers open as well.
nlohmann::json JsonTrace(absl::Span<const Event> events, CodeMap& code);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_TRACE_FILES_H_
