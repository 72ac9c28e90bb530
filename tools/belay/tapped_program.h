// Programs with the values of nodes as outputs, to compare the values of a lowered program.
#ifndef BELAY_TOOLS_BELAY_TAPPED_PROGRAM_H_
#define BELAY_TOOLS_BELAY_TAPPED_PROGRAM_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "exir/ir/exported_program.h"

namespace belay::tools {

// Maximum number of nodes whose values are outputs of one program.
inline constexpr size_t kMaxTaps = 256;

// Whether taps are added to a program's outputs, or replace them.
enum class Results { kAppend, kReplace };

// Returns the program with the nodes' results appended to its outputs or replacing them. In the
// latter case, nodes that they do not need are removed. Appends the node of each added output to
// `node_of_tap`. Nodes are of the top graph; tokens are not returned.
exir::ExportedProgram Tap(const exir::ExportedProgram& program,
                          absl::Span<const exir::NodeId> nodes, Results results,
                          std::vector<exir::NodeId>& node_of_tap);

// Returns the id of the backend that computes the node, found by the node's name; "" if a kernel
// does.
std::string BackendOf(const exir::ExportedProgram& lowered, const std::string& node);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_TAPPED_PROGRAM_H_
