// A memory plan as rectangles: time × arena.
#ifndef BELAY_TOOLS_GRAPH_MEMORY_PICTURE_H_
#define BELAY_TOOLS_GRAPH_MEMORY_PICTURE_H_

#include "nlohmann/json.hpp"
#include "runtime/schema/program.pb.h"

namespace belay::tools {

// {"arena_bytes", "state_bytes", "instructions": names, "tensors": [{"name", "type", "bytes",
// "offset", "first", "last"}]}: tensors of the arena in the order of the values, each from the first
// instruction that mentions it to the last (exir/emit/lifetimes.h). They are called like the node that
// first writes them. `debug` is null where there is none; instructions have numbers then.
nlohmann::json MemoryPicture(const schema::Method& method, const schema::MethodDebugInfo* debug);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_MEMORY_PICTURE_H_
