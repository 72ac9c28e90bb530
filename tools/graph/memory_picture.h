// A memory plan as rectangles: time × arena offset.
#ifndef BELAY_TOOLS_GRAPH_MEMORY_PICTURE_H_
#define BELAY_TOOLS_GRAPH_MEMORY_PICTURE_H_

#include "nlohmann/json.hpp"
#include "runtime/schema/program.pb.h"

namespace belay::tools {

// Returns {"arena_bytes", "state_bytes", "instructions": names, "tensors": [{"name", "type",
// "bytes", "offset", "first", "last"}]}. Arena tensors are in the order of the values; "first" and
// "last" are the first and last instruction that refer to one (exir/emit/lifetimes.h). Tensors are
// named after the node that first writes them. If `debug` is null, instructions are named by
// number.
nlohmann::json MemoryPicture(const schema::Method& method, const schema::MethodDebugInfo* debug);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_MEMORY_PICTURE_H_
