#include "exir/quantize/node_loss.h"

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

bool IsFloat32(const Graph& graph, ValueId value) {
  const TensorMeta* meta = graph.value(value).tensor();
  return meta != nullptr && meta->dtype == DType::kFloat32;
}

// Indices of NodeLosses::nodes, by value.
using Indices = absl::flat_hash_map<ValueId, size_t>;

}  // namespace

absl::StatusOr<NodeLosses> MeasureNodeLosses(const ExportedProgram& program,
                                             const ExportedProgram& quantized,
                                             const std::map<ValueId, ValueId>& replaced,
                                             const KernelRegistry& kernels, CalibrationData& data,
                                             CallProgress* progress, uint64_t max_bytes) {
  absl::flat_hash_set<ValueId> computed;
  for (NodeId id : quantized.top().nodes()) {
    for (ValueId value : quantized.top().node(id).results()) computed.insert(value);
  }
  NodeLosses losses;
  Indices before, after;
  const Graph& graph = program.top();
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::vector<ValueId> results = node.results();
    if (results.empty() || !IsFloat32(graph, results[0])) continue;
    const auto it = replaced.find(results[0]);
    const ValueId value = it == replaced.end() ? results[0] : it->second;
    if (!computed.contains(value) || !IsFloat32(quantized.top(), value)) continue;
    before.emplace(results[0], losses.nodes.size());
    after.emplace(value, losses.nodes.size());
    NodeLoss& loss = losses.nodes.emplace_back();
    loss.node = node.name;
    loss.op = node.target->aten()->name();
    if (node.provenance.module != nullptr) loss.module = *node.provenance.module;
    loss.source = node.provenance.ToString();
  }
  // Values of `program`, of each compared call: by node, not all of the same size in all calls.
  std::vector<std::vector<OwnedValue>> calls(1);
  uint64_t bytes = 0;
  bool full = false;
  absl::Status copied;
  const auto keep = [&](ValueId value, const TensorView& view) {
    const auto it = before.find(value);
    if (it == before.end() || full) return;
    calls.back().resize(losses.nodes.size());
    absl::StatusOr<OwnedValue> copy = OwnedValue::Borrow(view, false).Copy();
    if (!copy.ok()) return copied.Update(copy.status());
    calls.back()[it->second] = *std::move(copy);
    bytes += view.nbytes();
  };
  const auto end_call = [&](int, absl::Span<const OwnedValue>) {
    if (!full && (bytes <= max_bytes || calls.size() == 1)) {
      ++losses.calls;
      calls.emplace_back();
    }
    if (bytes > max_bytes) full = true;
    return copied;
  };
  ABSL_RETURN_IF_ERROR(
      RunCalls(program, kernels, data, {.tensor = keep, .outputs = end_call}, progress));
  calls.resize(static_cast<size_t>(losses.calls));
  size_t call = 0;
  const auto compare = [&](ValueId value, const TensorView& view) {
    const auto it = after.find(value);
    if (it == after.end() || call >= calls.size()) return;
    const TensorView* expected = calls[call][it->second].tensor();
    if (expected == nullptr || expected->dtype != view.dtype || expected->sizes != view.sizes) {
      return;
    }
    losses.nodes[it->second].sums.Add(*expected, view);
  };
  const auto next_call = [&](int, absl::Span<const OwnedValue>) {
    if (call < calls.size()) calls[call].clear();
    ++call;
    return absl::OkStatus();
  };
  ABSL_RETURN_IF_ERROR(
      RunCalls(quantized, kernels, data, {.tensor = compare, .outputs = next_call}, progress));
  return losses;
}

}  // namespace belay::exir
