#include "exir/passes/remove_noops.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

// Returns whether the tensors are equal for all users.
bool SameTensor(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides &&
         a.device == b.device && a.layout == b.layout;
}

struct Ops {
  explicit Ops(const OpRegistry& ops)
      : to(ops.Find("aten.to.dtype")),
        to_copy(ops.Find("aten._to_copy.default")),
        slice(ops.Find("aten.slice_copy.Tensor")),
        dropout(ops.Find("aten.dropout.default")),
        quantize(ops.Find("quantized_decomposed.quantize_per_tensor.default")),
        dequantize(ops.Find("quantized_decomposed.dequantize_per_tensor.default")) {}
  const OpOverload *to, *to_copy, *slice, *dropout, *quantize, *dequantize;
};

bool IsCandidate(const Ops& ops, const Node& node) {
  const OpOverload* op = node.target->aten();
  if (op == ops.to || op == ops.to_copy || op == ops.slice) return true;
  return op == ops.dropout && node.argument("train") == Argument(false);
}

// Numbers from `low` to `high` of a dtype.
struct NumberRange {
  DType dtype;
  int64_t low, high;
};

// Returns the clamping range of a quantize or dequantize node, within its dtype; nullopt if it is not
// known, or the dtype is not of 8 bits.
std::optional<NumberRange> ClampingRange(const Node& node) {
  const int64_t* low = node.argument("quant_min").get_if<int64_t>();
  const int64_t* high = node.argument("quant_max").get_if<int64_t>();
  const DType* dtype = node.argument("dtype").get_if<DType>();
  if (low == nullptr || high == nullptr || dtype == nullptr) return std::nullopt;
  if (*dtype == DType::kInt8) {
    return NumberRange{*dtype, std::max<int64_t>(*low, -128), std::min<int64_t>(*high, 127)};
  }
  if (*dtype == DType::kUint8) {
    return NumberRange{*dtype, std::max<int64_t>(*low, 0), std::min<int64_t>(*high, 255)};
  }
  return std::nullopt;
}

// Returns whether all numbers of the value are in the range: the range is that of the dtype, or the
// value was quantized to a part of it.
bool IsWithin(const Ops& ops, const Graph& graph, ValueId value, const NumberRange& range) {
  const NumberRange all = range.dtype == DType::kInt8 ? NumberRange{range.dtype, -128, 127}
                                                      : NumberRange{range.dtype, 0, 255};
  if (range.low <= all.low && range.high >= all.high) return true;
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).target->aten() != ops.quantize) return false;
  const std::optional<NumberRange> numbers = ClampingRange(graph.node(producer));
  return numbers.has_value() && numbers->dtype == range.dtype && numbers->low >= range.low &&
         numbers->high <= range.high;
}

// Removes quantize(dequantize(x)) with equal parameters, which returns x. `id` is the dequantize
// node. Returns whether any was removed.
bool RemoveRequantization(const Ops& ops, Graph& graph, GraphEditor& editor, NodeId id) {
  constexpr std::string_view kParameters[] = {"scale", "zero_point", "quant_min", "quant_max",
                                              "dtype"};
  const std::optional<NumberRange> range = ClampingRange(graph.node(id));
  const ValueId* before = graph.node(id).value_argument("input");
  if (!range.has_value() || before == nullptr) return false;
  const ValueId source = *before;
  if (!IsWithin(ops, graph, source, *range)) return false;
  bool removed = false;
  const std::vector<NodeId> users = graph.value(graph.node(id).outputs[0].values[0]).users;
  for (NodeId user_id : users) {
    const Node& user = graph.node(user_id);
    if (user.target->aten() != ops.quantize) continue;
    bool same = true;
    for (std::string_view parameter : kParameters) {
      same = same && user.argument(parameter) == graph.node(id).argument(parameter);
    }
    const ValueId after = user.outputs[0].values[0];
    const TensorMeta* numbers = graph.value(source).tensor();
    if (!same || numbers == nullptr || !SameTensor(*numbers, graph.MetaOf(after)) ||
        graph.IsOutput(after)) {
      continue;
    }
    editor.ReplaceAllUses(after, source);
    editor.EraseNode(user_id);
    removed = true;
  }
  return removed;
}

// Maps each returned value to whether another value of the same type may be returned in its place.
// Allowed for slices, which are views, and for dropout outside of training, which returns its
// input: PyTorch also returns an alias of the source. Control-flow subgraphs may not return their
// inputs, and the new value of a buffer must differ from the buffer.
absl::flat_hash_map<ValueId, bool> ReturnedValues(const ExportedProgram& program,
                                                  const Graph& graph) {
  const bool is_top = &graph == &program.top();
  absl::flat_hash_map<ValueId, bool> returned;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const bool free = is_top && program.signature.outputs[i].kind == OutputKind::kUserOutput;
    ForEachValue(graph.outputs()[i], [&](ValueId value) {
      const auto [entry, inserted] = returned.emplace(value, free);
      entry->second &= free;
    });
  }
  return returned;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const Ops ops(*program.ops);
  bool changed = false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    const absl::flat_hash_map<ValueId, bool> returned = ReturnedValues(program, graph);
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (!IsCandidate(ops, node)) continue;
      const ValueId* input = node.operand().get_if<ValueId>();
      if (input == nullptr) continue;
      const ValueId result = node.outputs[0].values[0];
      const TensorMeta* from = graph.value(*input).tensor();
      if (from == nullptr || !SameTensor(*from, graph.MetaOf(result))) continue;
      const ValueId source = *input;
      if (const auto place = returned.find(result);
          place != returned.end() && (!place->second || node.target->aten() == ops.to_copy)) {
        continue;
      }
      editor.ReplaceAllUses(result, source);
      editor.EraseNode(id);
      changed = true;
    }
    if (ops.dequantize == nullptr) continue;
    // In order: the result of a pair may be the input of another one.
    for (NodeId id : graph.NodeList()) {
      if (graph.contains(id) && graph.node(id).target->aten() == ops.dequantize) {
        changed |= RemoveRequantization(ops, graph, editor, id);
      }
    }
  }
  return changed;
}

}  // namespace

Pass RemoveNoops() { return {"remove_noops", Run}; }

}  // namespace belay::exir
