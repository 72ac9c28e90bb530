#include "tools/belay/first_difference.h"

#include <algorithm>
#include <utility>

#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::tools {
namespace {

using exir::ExportedProgram;
using exir::NodeId;
using exir::ValueId;

// Nodes that are looked at together.
constexpr size_t kTogether = 256;

// The program with the nodes' results as its last results.
ExportedProgram Tap(const ExportedProgram& program, absl::Span<const NodeId> nodes,
                    std::vector<NodeId>& node_of_tap) {
  ExportedProgram tapped = program.Clone();
  exir::GraphEditor editor(tapped.top());
  std::vector<exir::Argument> outputs(tapped.top().outputs().begin(), tapped.top().outputs().end());
  for (NodeId node : nodes) {
    for (ValueId value : tapped.top().node(node).results()) {
      if (std::holds_alternative<exir::TokenType>(tapped.top().value(value).type)) continue;
      outputs.emplace_back(value);
      tapped.signature.outputs.push_back({});
      node_of_tap.push_back(node);
    }
  }
  editor.SetOutputs(std::move(outputs));
  return tapped;
}

// Which backend has the node, by its name.
std::string BackendOf(const ExportedProgram& lowered, const std::string& node) {
  for (const auto& module : lowered.lowered_modules) {
    for (const exir::Graph& graph : module->original.graphs) {
      for (NodeId id : graph.nodes()) {
        if (graph.node(id).name == node) return module->backend_id;
      }
    }
  }
  return "";
}

class Search {
 public:
  Search(const ExportedProgram& program, absl::Span<const EValue> inputs,
         const LoweringSetup& setup, const exir::Closeness& closeness)
      : program_(program), inputs_(inputs), setup_(setup), closeness_(closeness) {}

  absl::StatusOr<std::optional<NodeDifference>> Run() {
    const std::vector<NodeId> nodes = program_.top().NodeList();
    for (size_t start = 0; start < nodes.size(); start += kTogether) {
      const auto some = absl::MakeConstSpan(nodes).subspan(start, kTogether);
      ABSL_ASSIGN_OR_RETURN(std::optional<NodeDifference> found, Look(some));
      if (found.has_value()) return found;
    }
    // One at a time. Once a value is wrong, most that are computed from it are.
    std::optional<NodeDifference> first;
    size_t low = 0, high = nodes.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      ABSL_ASSIGN_OR_RETURN(std::optional<NodeDifference> found,
                            Look(absl::MakeConstSpan(nodes).subspan(middle, 1)));
      if (found.has_value()) {
        first = std::move(found);
        first->alone = true;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return first;
  }

 private:
  absl::StatusOr<std::optional<NodeDifference>> Look(absl::Span<const NodeId> nodes) {
    std::vector<NodeId> node_of_tap;
    const ExportedProgram tapped = Tap(program_, nodes, node_of_tap);

    ABSL_ASSIGN_OR_RETURN(const BothOutcomes both, RunBoth(tapped, inputs_, setup_));
    const size_t taps = node_of_tap.size();
    const size_t first = both.got.outputs.size() - taps;
    for (size_t k = 0; k < taps; ++k) {
      const absl::Status status =
          exir::CompareValues(both.expected.outputs[first + k].value(),
                              both.got.outputs[first + k].value(), closeness_);
      if (status.ok()) continue;
      const exir::Graph& graph = program_.top();
      return std::optional<NodeDifference>(
          {.id = node_of_tap[k],
           .node = exir::DescribeNode(graph, node_of_tap[k]),
           .backend = BackendOf(both.lowered, graph.node(node_of_tap[k]).name),
           .difference = std::string(status.message())});
    }
    return std::optional<NodeDifference>();
  }

  const ExportedProgram& program_;
  const absl::Span<const EValue> inputs_;
  const LoweringSetup& setup_;
  const exir::Closeness& closeness_;
};

}  // namespace

absl::StatusOr<std::optional<NodeDifference>> FindFirstDifference(
    const ExportedProgram& program, absl::Span<const EValue> inputs, const LoweringSetup& setup,
    const exir::Closeness& closeness) {
  return Search(program, inputs, setup, closeness).Run();
}

}  // namespace belay::tools
