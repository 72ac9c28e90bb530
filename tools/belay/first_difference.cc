#include "tools/belay/first_difference.h"

#include <algorithm>
#include <utility>

#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/tapped_program.h"

namespace belay::tools {
namespace {

using exir::ExportedProgram;
using exir::NodeId;

class Search {
 public:
  Search(const ExportedProgram& program, absl::Span<const EValue> inputs,
         const LoweringSetup& setup, const exir::Closeness& closeness)
      : program_(program), inputs_(inputs), setup_(setup), closeness_(closeness) {}

  absl::StatusOr<std::optional<NodeDifference>> Run() {
    const std::vector<NodeId> nodes = program_.top().NodeList();
    for (size_t start = 0; start < nodes.size(); start += kMaxTaps) {
      std::optional<NodeDifference> found =
          FindFirst(absl::MakeConstSpan(nodes).subspan(start, kMaxTaps), Results::kAppend);
      if (found.has_value()) return found;
    }
    // The first search may find only a later symptom of the node that the second one finds.
    const std::optional<Found> appended = Bisect(nodes, Results::kAppend);
    const std::optional<Found> replaced = Bisect(
        absl::MakeConstSpan(nodes).first(appended.has_value() ? appended->index : nodes.size()),
        Results::kReplace);
    if (!appended.has_value() && !replaced.has_value()) {
      if (!failed_.ok()) return failed_;
      return std::nullopt;
    }
    NodeDifference first = replaced.has_value() ? replaced->node : appended->node;
    first.alone = true;
    first.cut = replaced.has_value();
    return first;
  }

 private:
  struct Found {
    size_t index;
    NodeDifference node;
  };
  // Bisects for the first node that differs when tapped separately. Valid because values computed
  // from a wrong value are mostly wrong as well.
  std::optional<Found> Bisect(absl::Span<const NodeId> nodes, Results results) {
    std::optional<Found> first;
    size_t low = 0, high = nodes.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      std::optional<NodeDifference> found = FindFirst(nodes.subspan(middle, 1), results);
      if (found.has_value()) {
        first = Found{middle, *std::move(found)};
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return first;
  }

  // Returns the first of the nodes that differs; nullopt also if this program can't be lowered.
  std::optional<NodeDifference> FindFirst(absl::Span<const NodeId> nodes, Results results) {
    std::vector<NodeId> node_of_tap;
    const ExportedProgram tapped = Tap(program_, nodes, results, node_of_tap);
    const absl::StatusOr<BothOutcomes> both = RunBoth(tapped, inputs_, setup_);
    if (!both.ok()) {
      failed_.Update(both.status());
      return std::nullopt;
    }
    const size_t taps = node_of_tap.size();
    const size_t first = both->got.outputs.size() - taps;
    for (size_t k = 0; k < taps; ++k) {
      const absl::Status status =
          exir::CompareValues(both->expected.outputs[first + k].value(),
                              both->got.outputs[first + k].value(), closeness_);
      if (status.ok()) continue;
      const exir::Graph& graph = program_.top();
      return NodeDifference{.id = node_of_tap[k],
                            .node = exir::DescribeNode(graph, node_of_tap[k]),
                            .backend = BackendOf(both->lowered, graph.node(node_of_tap[k]).name),
                            .difference = std::string(status.message())};
    }
    return std::nullopt;
  }

  const ExportedProgram& program_;
  const absl::Span<const EValue> inputs_;
  const LoweringSetup& setup_;
  const exir::Closeness& closeness_;
  absl::Status failed_;  // first error of lowering or executing
};

}  // namespace

absl::StatusOr<std::optional<NodeDifference>> FindFirstDifference(
    const ExportedProgram& program, absl::Span<const EValue> inputs, const LoweringSetup& setup,
    const exir::Closeness& closeness) {
  return Search(program, inputs, setup, closeness).Run();
}

}  // namespace belay::tools
