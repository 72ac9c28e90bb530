#include "exir/quantize/activation_statistics.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "exir/quantize/table_function.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

std::vector<ActivationStatistics::Group> GroupsOf(const Placement& placement) {
  std::vector<ActivationStatistics::Group> groups(placement.groups);
  for (const QuantizedActivation& activation : placement.activations) {
    groups[activation.group].values.push_back(activation.value);
    if (!activation.table.empty()) groups[activation.group].table = activation.table;
  }
  for (ActivationStatistics::Group& group : groups) {
    std::sort(group.values.begin(), group.values.end());
  }
  return groups;
}

}  // namespace

void ActivationStatistics::Plan(const Placement& placement) {
  for (Group& group : GroupsOf(placement)) {
    if (ranges_.contains(group)) continue;
    pending_groups_.emplace(std::move(group), Observer(recipe_.observer, recipe_.percentile));
  }
}

void ActivationStatistics::PlanMeans(const WeightUse& anchor) {
  if (means_.contains(anchor.node) || pending_means_.contains(anchor.node)) return;
  const std::optional<InputGeometry> geometry = GeometryOf(program_, anchor);
  const ValueId* input = program_.top().node(anchor.node).value_argument(anchor.input_argument);
  if (!geometry.has_value() || input == nullptr) {
    means_.emplace(anchor.node, std::vector<double>());
    return;
  }
  pending_means_.emplace(anchor.node, std::pair(*input, ColumnMeans(*geometry)));
}

absl::Status ActivationStatistics::Observe(CallProgress* progress) {
  if (!is_pending()) return absl::OkStatus();
  absl::flat_hash_map<ValueId, std::vector<Observer*>> observers;
  absl::flat_hash_map<ValueId, std::vector<ColumnMeans*>> means;
  for (auto& [group, observer] : pending_groups_) {
    for (ValueId value : group.values) observers[value].push_back(&observer);
  }
  for (auto& [node, input] : pending_means_) means[input.first].push_back(&input.second);
  std::vector<float> copy;
  const auto observe = [&](ValueId value, const TensorView& view) {
    if (view.dtype != DType::kFloat32) return;
    if (const auto it = observers.find(value); it != observers.end()) {
      const absl::Span<const float> elements = ElementsOf(view, copy);
      for (Observer* observer : it->second) observer->Observe(elements);
    }
    if (const auto it = means.find(value); it != means.end()) {
      for (ColumnMeans* sums : it->second) sums->Add(view);
    }
  };
  ABSL_RETURN_IF_ERROR(RunCalls(program_, kernels_, data_, {.tensor = observe}, progress));
  for (const auto& [group, observer] : pending_groups_) {
    std::vector<float> results;
    const std::vector<float> points = observer.Points();
    if (!group.table.empty() && !points.empty()) {
      ABSL_ASSIGN_OR_RETURN(results,
                            EvaluateTable(program_, group.table, group.values, points, kernels_));
    }
    const auto range = observer.Range(results).value_or(std::pair(0.0F, 0.0F));
    ranges_.emplace(group,
                    Range{range.first, range.second, observer.Observed(), observer.LossOf(range)});
  }
  for (const auto& [node, input] : pending_means_) means_.emplace(node, input.second.Means());
  pending_groups_.clear();
  pending_means_.clear();
  return absl::OkStatus();
}

std::vector<ActivationStatistics::Range> ActivationStatistics::RangesOf(
    const Placement& placement) const {
  std::vector<Range> ranges;
  for (const Group& group : GroupsOf(placement)) ranges.push_back(ranges_.at(group));
  return ranges;
}

}  // namespace belay::exir
