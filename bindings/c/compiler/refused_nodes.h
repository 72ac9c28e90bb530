// Nodes that lowering refused, as data.
#ifndef BELAY_BINDINGS_C_COMPILER_REFUSED_NODES_H_
#define BELAY_BINDINGS_C_COMPILER_REFUSED_NODES_H_

#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace belay::c {

// Parses the lines of a kUnimplemented error (exir/ir/problem_list.h) into objects with the strings
// "method", "node", "operator", "source" and "reason"; unknown ones are "". Other errors, and
// messages of another form: an empty list. Recognizes
//   unknown operator OP, used 2 times: node 'A' at SOURCE, node 'B' at SOURCE
//   node 'A' (OP, SOURCE): REASON
//   %A = OP(…) (SOURCE): REASON
//   SUBJECT: REASON
nlohmann::json RefusedNodes(const absl::Status& status);

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_COMPILER_REFUSED_NODES_H_
