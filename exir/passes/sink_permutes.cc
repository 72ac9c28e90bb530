#include "exir/passes/sink_permutes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {
namespace {

using Dims = std::vector<int64_t>;

bool IsKnown(const TensorMeta* meta) {
  return meta != nullptr && meta->is_static() && meta->is_contiguous();
}

bool IsIdentity(const Dims& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The dims of an int or of a list of ints, in [0, rank); nullopt for others.
std::optional<Dims> DimsOf(const Argument& argument, int64_t rank) {
  Dims dims;
  const auto add = [&](const Argument& element) {
    const int64_t* const d = element.get_if<int64_t>();
    if (d == nullptr || *d < -rank || *d >= rank) return false;
    dims.push_back(*d < 0 ? *d + rank : *d);
    return true;
  };
  const Argument::List* const list = argument.get_if<Argument::List>();
  if (list == nullptr ? !add(argument) : !absl::c_all_of(*list, add)) return std::nullopt;
  return dims;
}

class Sinking {
 public:
  explicit Sinking(ExportedProgram& program)
      : ops_(*program.ops),
        permute_(ops_.Find("aten.permute_copy.default")),
        editor_(program.top()),
        graph_(editor_.graph()) {}

  bool Run() {
    if (permute_ == nullptr) return false;
    for (NodeId id : graph_.nodes()) {
      if (graph_.node(id).target->aten() == permute_) queue_.push_back(id);
    }
    bool changed = false;
    for (size_t i = 0; i < queue_.size(); ++i) {  // grows
      const NodeId id = queue_[i];
      if (graph_.contains(id)) changed |= Sink(id);
    }
    return changed;
  }

 private:
  // A permutation of a contiguous tensor of known sizes.
  struct Permuted {
    ValueId source;
    Dims dims;
  };
  std::optional<Permuted> PermutedBy(NodeId id) const {
    const Node& node = graph_.node(id);
    const ValueId* const source = node.operand().get_if<ValueId>();
    if (node.target->aten() != permute_ || source == nullptr) return std::nullopt;
    const TensorMeta* const from = graph_.value(*source).tensor();
    if (!IsKnown(from) || !IsKnown(graph_.value(graph_.ResultOf(id)).tensor())) return std::nullopt;
    std::optional<Dims> dims = DimsOf(node.argument("dims"), from->rank());
    if (!dims.has_value() || static_cast<int64_t>(dims->size()) != from->rank()) {
      return std::nullopt;
    }
    return Permuted{*source, *std::move(dims)};
  }

  bool Sink(NodeId id) {
    const std::optional<Permuted> permuted = PermutedBy(id);
    const ValueId value = graph_.ResultOf(id);
    if (!permuted.has_value() || graph_.IsOutput(value)) return false;
    const std::vector<NodeId> users(graph_.value(value).users.begin(),
                                    graph_.value(value).users.end());
    if (users.size() == 1 && SinkPointwise(users[0], permuted->dims)) return true;
    std::vector<Reduction> reductions;
    for (NodeId user : users) {
      std::optional<Reduction> reduction = ReductionOf(user, value, *permuted);
      if (!reduction.has_value()) return false;
      reductions.push_back(*std::move(reduction));
    }
    for (Reduction& reduction : reductions) Replace(std::move(reduction));
    if (!reductions.empty()) editor_.EraseNode(id);
    return !reductions.empty();
  }

  // A node with new arguments and result types, whose results are permuted by `order`.
  struct Reduction {
    NodeId node;
    std::vector<Argument> arguments;
    std::vector<ValueType> types;
    Dims order;
  };

  // Infers the types of the results; false if they are not known.
  bool InferTypes(Reduction& changed) const {
    const Node& node = graph_.node(changed.node);
    const absl::StatusOr<std::vector<MetaValue>> inferred =
        InferOutputs(graph_, node.target, changed.arguments, nullptr);
    if (!inferred.ok() || inferred->size() != node.outputs.size()) return false;
    for (size_t k = 0; k < inferred->size(); ++k) {
      const TensorMeta* const type = (*inferred)[k].get_if<TensorMeta>();
      if (type == nullptr || !IsKnown(type)) return false;
      changed.types.push_back(ToValueType((*inferred)[k]));
    }
    return true;
  }

  // Whether all outputs are single tensors of known sizes.
  bool HasKnownResults(const Node& node) const {
    for (const NodeOutput& output : node.outputs) {
      if (output.kind != NodeOutput::Kind::kValue) return false;
    }
    return absl::c_all_of(node.results(),
                          [&](ValueId v) { return IsKnown(graph_.value(v).tensor()); });
  }

  std::optional<Reduction> ReductionOf(NodeId user, ValueId value, const Permuted& permuted) const {
    const Node& node = graph_.node(user);
    if (!node.target->has_trait(kReduction) || !(node.operand() == Argument(value)) ||
        !HasKnownResults(node)) {
      return std::nullopt;
    }
    Reduction changed = {user, node.arguments, {}, {}};
    changed.arguments[0] = permuted.source;
    const auto rank = static_cast<int64_t>(permuted.dims.size());
    std::vector<bool> reduced(permuted.dims.size(), true);
    const std::optional<int> dim = node.target->ArgumentIndex("dim");
    if (dim.has_value()) {
      Argument& argument = changed.arguments[static_cast<size_t>(*dim)];
      const std::optional<Dims> dims = DimsOf(argument, rank);
      // Without dims, positions are those in the permuted tensor.
      if (!dims.has_value() || dims->empty()) return std::nullopt;
      std::fill(reduced.begin(), reduced.end(), false);
      Argument::List mapped;
      for (const int64_t d : *dims) {
        reduced[static_cast<size_t>(d)] = true;
        mapped.push_back(permuted.dims[static_cast<size_t>(d)]);
      }
      argument = argument.is<Argument::List>() ? Argument(std::move(mapped)) : mapped[0];
    }
    const std::optional<int> keep = node.target->ArgumentIndex("keepdim");
    const bool* const keeps =
        keep.has_value() ? node.arguments[static_cast<size_t>(*keep)].get_if<bool>() : nullptr;
    if (keep.has_value() && keeps == nullptr) return std::nullopt;
    if (keeps != nullptr && *keeps) {
      changed.order = permuted.dims;
    } else {
      Dims kept;
      for (size_t d = 0; d < reduced.size(); ++d) {
        if (!reduced[d]) kept.push_back(permuted.dims[d]);
      }
      for (const int64_t d : kept) {
        changed.order.push_back(absl::c_count_if(kept, [&](int64_t other) { return other < d; }));
      }
    }
    if (!InferTypes(changed)) return std::nullopt;
    return changed;
  }

  // Permutes the result of the node instead of its operands, if two of them are permuted for it only.
  bool SinkPointwise(NodeId user, const Dims& order) {
    const Node& node = graph_.node(user);
    if (!node.target->has_trait(kPointwise) || node.outputs.size() != 1 || !HasKnownResults(node)) {
      return false;
    }
    Reduction changed = {user, node.arguments, {}, order};
    std::vector<NodeId> permutes;
    for (Argument& argument : changed.arguments) {
      const ValueId* const operand = argument.get_if<ValueId>();
      if (operand == nullptr) {
        if (argument.is<Argument::List>()) return false;
        continue;
      }
      const Value& value = graph_.value(*operand);
      if (value.tensor() == nullptr || value.tensor()->rank() == 0) continue;
      const NodeId producer = value.producer;
      if (!producer.valid() || value.users.size() != 1 || graph_.IsOutput(*operand)) return false;
      const std::optional<Permuted> permuted = PermutedBy(producer);
      if (!permuted.has_value() || permuted->dims != order) return false;
      if (!absl::c_linear_search(permutes, producer)) permutes.push_back(producer);
      argument = permuted->source;
    }
    if (permutes.size() < 2 || !InferTypes(changed)) return false;
    Replace(std::move(changed));
    for (const NodeId permute : permutes) editor_.EraseNode(permute);
    return true;
  }

  void Replace(Reduction changed) {
    const NodeId id = changed.node;
    const std::vector<ValueId> results = graph_.node(id).results();
    editor_.SetArguments(id, std::move(changed.arguments), graph_.node(id).argument_names);
    if (IsIdentity(changed.order)) return;
    for (size_t k = 0; k < results.size(); ++k) {
      const ValueType type = graph_.value(results[k]).type;
      editor_.SetType(results[k], changed.types[k]);
      if (graph_.value(results[k]).users.empty() && !graph_.IsOutput(results[k])) continue;
      Argument::List dims(changed.order.begin(), changed.order.end());
      const Node& node = graph_.node(id);
      const ValueId permuted = editor_.InsertOp(graph_.next(id),
                                                {.name = "permute",
                                                 .target = ops_.ToEdge(permute_),
                                                 .arguments = {results[k], std::move(dims)},
                                                 .provenance = node.provenance,
                                                 .debug_handle = node.debug_handle},
                                                type);
      const NodeId producer = graph_.value(permuted).producer;
      editor_.ReplaceAllUses(results[k], permuted);
      editor_.SetArgument(producer, 0, results[k]);
      queue_.push_back(producer);
    }
  }

  const OpRegistry& ops_;
  const OpOverload* const permute_;
  GraphEditor editor_;
  const Graph& graph_;
  std::vector<NodeId> queue_;  // permutations, also new ones
};

}  // namespace

Pass SinkPermutes() {
  return {"sink_permutes",
          [](ExportedProgram& program) -> absl::StatusOr<bool> { return Sinking(program).Run(); }};
}

}  // namespace belay::exir
