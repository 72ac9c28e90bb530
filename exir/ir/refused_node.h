// Nodes that lowering does not support, as data of an error.
#ifndef BELAY_EXIR_IR_REFUSED_NODE_H_
#define BELAY_EXIR_IR_REFUSED_NODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace belay::exir {

// Unknown fields are "". Fields of an error have escaped control characters.
struct RefusedNode {
  std::string method;
  std::string node;  // its name, or another object: "input 'x'"
  std::string op;    // "aten.mul.Tensor"
  std::string source;
  std::string reason;
  bool operator==(const RefusedNode&) const = default;
};

// Adds nodes to those of an error, as a payload, which Annotate (runtime/core/annotate.h) keeps.
// Precondition: not OK.
void AddRefusedNodes(absl::Span<const RefusedNode> nodes, absl::Status& status);
// Returns the nodes of an error in the order of insertion; empty for other errors and OK.
std::vector<RefusedNode> RefusedNodesOf(const absl::Status& status);

// Annotates an error with the method: "phase: method 'decode': message", or without the phase if it
// is "". Also sets the method of refused nodes that have none. Returns OK unchanged.
absl::Status InMethod(const absl::Status& status, std::string_view method,
                      std::string_view phase = "");

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_REFUSED_NODE_H_
