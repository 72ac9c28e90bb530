#include "tools/belay/node_gaps.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "exir/ir/text.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/tapped_program.h"

namespace belay::tools {
namespace {

const TensorView* FloatTensor(const exir::OwnedValue& value) {
  const TensorView* tensor = value.tensor();
  return tensor != nullptr && kFloatTypes.contains(tensor->dtype) ? tensor : nullptr;
}

}  // namespace

absl::StatusOr<std::vector<NodeGap>> MeasureNodeGaps(const exir::ExportedProgram& program,
                                                     absl::Span<const EValue> inputs,
                                                     const LoweringSetup& setup) {
  const exir::Graph& graph = program.top();
  const std::vector<exir::NodeId> nodes = graph.NodeList();
  std::vector<NodeGap> gaps;
  for (size_t start = 0; start < nodes.size(); start += kMaxTaps) {
    std::vector<exir::NodeId> node_of_tap;
    const exir::ExportedProgram tapped =
        Tap(program, absl::MakeConstSpan(nodes).subspan(start, kMaxTaps), Results::kAppend,
            node_of_tap);
    ABSL_ASSIGN_OR_RETURN(const BothOutcomes both, RunBoth(tapped, inputs, setup));
    const size_t first = both.got.outputs.size() - node_of_tap.size();
    exir::NodeId last;
    for (size_t k = 0; k < node_of_tap.size(); ++k) {
      const exir::OwnedValue &want = both.expected.outputs[first + k],
                             &got = both.got.outputs[first + k];
      const TensorView *y = FloatTensor(want), *actual = FloatTensor(got);
      if (y == nullptr) continue;
      if (node_of_tap[k] != last) {
        last = node_of_tap[k];
        gaps.push_back({.node = exir::DescribeNode(graph, last),
                        .backend = BackendOf(both.lowered, graph.node(last).name)});
      }
      if (actual == nullptr || actual->dtype != y->dtype || actual->sizes != y->sizes) {
        return absl::InternalError("lowering changed the type of a node: " + gaps.back().node);
      }
      gaps.back().sums.Add(*y, *actual);
      gaps.back().largest.Widen(exir::LargestDeviation(want.value(), got.value()));
    }
  }
  std::vector<std::pair<double, size_t>> order;  // SNR, and index
  for (size_t i = 0; i < gaps.size(); ++i) {
    order.emplace_back(gaps[i].sums.Value(exir::LossMetric::kSnr), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<NodeGap> sorted;
  for (const auto& [snr, i] : order) sorted.push_back(std::move(gaps[i]));
  return sorted;
}

}  // namespace belay::tools
