#include "exir/quantize/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace belay::exir {
namespace {

using Kind = QuantizationPattern::Kind;

constexpr size_t kMaxTableNodes = 16;

class Placing {
 public:
  Placing(const ExportedProgram& program, absl::Span<const WeightUse> anchors,
          const QuantizationPatterns& patterns, bool quantizes_outputs)
      : program_(program),
        graph_(program.top()),
        patterns_(patterns),
        positions_(graph_.Positions()) {
    for (size_t k = 0; quantizes_outputs && k < graph_.outputs().size(); ++k) {
      const ValueId* value = graph_.outputs()[k].get_if<ValueId>();
      if (value != nullptr && program.signature.outputs[k].kind == OutputKind::kUserOutput) {
        quantized_outputs_.insert(*value);
      }
    }
    for (const WeightUse& use : anchors) anchors_.emplace(use.node, &use);
    for (const QuantizationPattern& pattern : patterns.patterns) {
      by_op_[pattern.op].push_back(&pattern);
    }
  }

  Placement Run() {
    FindCandidates();
    FindTables();
    KeepUsed();
    return Result();
  }

 private:
  // An operation on int8: one or more nodes with one result.
  struct Operation {
    Kind kind = Kind::kAnchor;
    std::vector<NodeId> nodes;  // with bounds; all nodes of a table
    std::vector<ValueId> operands;
    ValueId result;
    bool kept = false;
  };

  bool IsFloat32(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    return meta != nullptr && meta->dtype == DType::kFloat32;
  }

  // Patterns of the node: one operator may have several (add: a sum, and a table).
  std::vector<const QuantizationPattern*> PatternsOf(NodeId id) const {
    std::vector<const QuantizationPattern*> found;
    const auto it = by_op_.find(graph_.node(id).target->aten()->name());
    if (it == by_op_.end()) return found;
    for (const QuantizationPattern* pattern : it->second) {
      if (!pattern->accepts || pattern->accepts(program_, id)) found.push_back(pattern);
    }
    return found;
  }

  // Returns the float32 tensors among the operands, each once. nullopt without such operands, or if
  // a tensor of another dtype is not a scalar.
  std::optional<std::vector<ValueId>> Operands(NodeId id) const {
    std::vector<ValueId> operands;
    bool ok = true;
    for (const Argument& argument : graph_.node(id).arguments) {
      ForEachValue(argument, [&](ValueId value) {
        const TensorMeta* meta = graph_.value(value).tensor();
        if (meta == nullptr || IsScalar(value)) return;  // a size or a scalar
        ok = ok && meta->dtype == DType::kFloat32;
        if (std::count(operands.begin(), operands.end(), value) == 0) operands.push_back(value);
      });
    }
    return ok && !operands.empty() ? std::optional(std::move(operands)) : std::nullopt;
  }
  // Whether the value is a parameter, a buffer or a constant.
  bool IsStored(ValueId value) const {
    return graph_.IsInput(value) &&
           NamesTensor(program_.signature.inputs[*program_.InputIndex(value)].kind);
  }
  // Whether the value is a constant of one element.
  bool IsScalar(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    return meta != nullptr && meta->rank() <= 1 && meta->NumElements() == SymInt(1) &&
           IsStored(value);
  }

  void Add(Operation operation) {
    by_result_.emplace(operation.result, operations_.size());
    operations_.push_back(std::move(operation));
  }

  // Sums and movement may use the result of a table. FindTables adds tables later, so IsInt8 checks
  // whether a table ends at the value.
  void FindCandidates() {
    for (NodeId id : graph_.nodes()) {
      if (const auto anchor = anchors_.find(id); anchor != anchors_.end()) {
        AddAnchor(*anchor->second);
        continue;
      }
      if (bounded_.contains(id)) continue;
      const std::vector<const QuantizationPattern*> patterns = PatternsOf(id);
      if (patterns.empty()) continue;
      const std::optional<std::vector<ValueId>> operands = Operands(id);
      if (!operands.has_value() || graph_.node(id).results().empty()) continue;
      const ValueId result = graph_.ResultOf(id);
      if (!IsFloat32(result)) continue;
      for (const QuantizationPattern* pattern : patterns) {
        if (AddCandidate(pattern->kind, id, *operands, result)) break;
      }
    }
  }

  // Returns whether the node is one of this kind.
  bool AddCandidate(Kind kind, NodeId id, const std::vector<ValueId>& operands, ValueId result) {
    if (kind == Kind::kTable) return ExtendTable(id, operands, result);
    const bool all =
        std::all_of(operands.begin(), operands.end(), [&](ValueId value) { return IsInt8(value); });
    Operation operation{.kind = kind, .nodes = {id}, .operands = operands, .result = result};
    // A weight is not an activation.
    if (kind == Kind::kMovement && (all || (operands.size() == 1 && !IsStored(operands[0])))) {
      // If its operand is float32, KeepUsed decides by the users.
      if (all) int8_.insert(result);
      Add(std::move(operation));
      return true;
    }
    if (kind != Kind::kSum || !all || operands.size() != 2 ||
        graph_.MetaOf(operands[0]).sizes != graph_.MetaOf(operands[1]).sizes) {
      return false;
    }
    AddBounded(std::move(operation));
    return true;
  }

  void AddAnchor(const WeightUse& use) {
    const std::vector<const QuantizationPattern*> patterns = PatternsOf(use.node);
    const ValueId* input = graph_.node(use.node).value_argument(use.input_argument);
    const bool fits = !patterns.empty() && patterns[0]->kind == Kind::kAnchor && input != nullptr &&
                      IsFloat32(*input) && IsFloat32(graph_.ResultOf(use.node));
    if (!fits) {
      rejected_.push_back(use.node);
      return;
    }
    AddBounded({.kind = Kind::kAnchor,
                .nodes = {use.node},
                .operands = {*input},
                .result = graph_.ResultOf(use.node)});
  }

  // Adds the operation, with the bounds that follow it.
  void AddBounded(Operation operation) {
    for (std::optional<NodeId> user = graph_.SoleUser(operation.result); user.has_value();
         user = graph_.SoleUser(operation.result)) {
      const std::vector<const QuantizationPattern*> patterns = PatternsOf(*user);
      const std::optional<std::vector<ValueId>> operands = Operands(*user);
      if (patterns.empty() || !patterns[0]->bounds || !operands.has_value() ||
          operands->size() != 1) {
        break;
      }
      operation.nodes.push_back(*user);
      bounded_.insert(*user);
      operation.result = graph_.ResultOf(*user);
    }
    int8_.insert(operation.result);
    Add(std::move(operation));
  }

  // Whether the value is the result of a candidate, or of a table of one.
  bool IsInt8(ValueId value) const {
    return int8_.contains(value) || (roots_.contains(value) && IsTableResult(value));
  }

  // --- Tables: functions of one activation, the root ---

  std::optional<ValueId> RootOf(ValueId value) const {
    if (const auto it = roots_.find(value); it != roots_.end()) return it->second;
    return int8_.contains(value) ? std::optional(value) : std::nullopt;
  }

  bool ExtendTable(NodeId id, const std::vector<ValueId>& operands, ValueId result) {
    const std::optional<ValueId> root = RootOf(operands[0]);
    if (!root.has_value() || graph_.MetaOf(result).sizes != graph_.MetaOf(*root).sizes) {
      return false;
    }
    for (ValueId operand : operands) {
      if (RootOf(operand) != root) return false;
    }
    roots_.emplace(result, *root);
    tables_[*root].push_back(id);
    return true;
  }

  // Whether the value is the only one of its table that leaves it. Nodes after the current one are
  // not in the table yet, so they count as outside.
  bool IsTableResult(ValueId value) const {
    const std::vector<NodeId>& nodes = tables_.at(roots_.at(value));
    return Leaves(value, nodes) && std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) {
             const ValueId other = graph_.ResultOf(node);
             return other != value && Leaves(other, nodes);
           });
  }
  // Whether the graph returns the value, or a node that is not one of `nodes` uses it.
  bool Leaves(ValueId value, const std::vector<NodeId>& nodes) const {
    const std::vector<NodeId>& users = graph_.value(value).users;
    return graph_.IsOutput(value) || std::any_of(users.begin(), users.end(), [&](NodeId user) {
             return std::count(nodes.begin(), nodes.end(), user) == 0;
           });
  }

  void FindTables() {
    for (const auto& [root, nodes] : tables_) {
      if (nodes.size() > kMaxTableNodes) continue;
      const auto leaving = std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) {
        return Leaves(graph_.ResultOf(node), nodes);
      });
      const ValueId result = graph_.ResultOf(nodes.back());
      if (leaving != 1 || !Leaves(result, nodes)) continue;
      Add({.kind = Kind::kTable, .nodes = nodes, .operands = {root}, .result = result});
    }
  }

  // --- Selection ---

  bool NeedsQuantizedResult(const Operation& operation) const {
    return (patterns_.quantizes_results && operation.kind != Kind::kMovement) ||
           quantized_outputs_.contains(operation.result);
  }

  // Keeps anchors, and operations whose results quantized operations use. If the patterns need
  // quantized results, keeps all sums and tables.
  void KeepUsed() {
    std::vector<size_t> order(operations_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return positions_.get(operations_[a].nodes.back()) >
             positions_.get(operations_[b].nodes.back());
    });
    for (size_t i : order) {
      Operation& operation = operations_[i];
      const std::vector<NodeId>& users = graph_.value(operation.result).users;
      const auto is_kept = [&](NodeId user) { return kept_.contains(user); };
      const bool any = std::any_of(users.begin(), users.end(), is_kept);
      const bool only = any && !graph_.IsOutput(operation.result) &&
                        std::all_of(users.begin(), users.end(), is_kept);
      switch (operation.kind) {
        case Kind::kAnchor:
          operation.kept = true;
          break;
        case Kind::kMovement:
          operation.kept =
              int8_.contains(operation.result) ? any || NeedsQuantizedResult(operation) : only;
          break;
        default:
          operation.kept = any || NeedsQuantizedResult(operation);
      }
      if (operation.kept) kept_.insert(operation.nodes.begin(), operation.nodes.end());
    }
  }

  Placement Result() {
    // Users of each value that compute on int8.
    std::map<ValueId, std::vector<NodeId>> quantized;
    Placement placement;
    placement.rejected = rejected_;
    for (const Operation& operation : operations_) {
      if (!operation.kept) continue;
      for (ValueId operand : operation.operands) {
        std::vector<NodeId>& users = quantized[operand];
        for (NodeId user : graph_.value(operand).users) {
          if (std::count(operation.nodes.begin(), operation.nodes.end(), user) != 0) {
            users.push_back(user);
          }
        }
      }
      if (operation.kind == Kind::kMovement || NeedsQuantizedResult(operation)) {
        quantized[operation.result];
      }
    }
    std::map<ValueId, size_t> groups;
    for (const auto& [value, users] : quantized) groups.emplace(value, groups.size());
    const auto merge = [&](size_t from, size_t to) {
      for (auto& [value, group] : groups) {
        if (group == from) group = to;
      }
    };
    for (const Operation& operation : operations_) {
      if (!operation.kept || operation.kind != Kind::kMovement) continue;
      for (ValueId operand : operation.operands) {
        merge(groups.at(operand), groups.at(operation.result));
      }
    }
    for (auto& [value, users] : quantized) {
      const auto it = by_result_.find(value);
      const bool computed = it != by_result_.end() && operations_[it->second].kept;
      if (computed) users = graph_.value(value).users;
      std::sort(users.begin(), users.end(),
                [&](NodeId a, NodeId b) { return positions_.get(a) < positions_.get(b); });
      users.erase(std::unique(users.begin(), users.end()), users.end());
      placement.activations.push_back(
          {value, users, computed && graph_.IsOutput(value), groups.at(value), {}});
    }
    for (const Operation& operation : operations_) {
      if (operation.kept && operation.kind == Kind::kTable) NoteTable(operation, placement);
    }
    const auto position = [&](ValueId value) {
      const NodeId producer = graph_.value(value).producer;
      return producer.valid() ? int64_t{positions_.get(producer)} : -1;
    };
    std::sort(placement.activations.begin(), placement.activations.end(),
              [&](const QuantizedActivation& a, const QuantizedActivation& b) {
                return std::pair(position(a.value), a.value) <
                       std::pair(position(b.value), b.value);
              });
    std::map<size_t, size_t> numbers;  // of groups, from 0
    for (QuantizedActivation& activation : placement.activations) {
      activation.group = numbers.emplace(activation.group, numbers.size()).first->second;
    }
    placement.groups = numbers.size();
    return placement;
  }

  // Notes the table at its operand, if no other node uses elements of the operand's group, except
  // movement inside of the group.
  void NoteTable(const Operation& table, Placement& placement) const {
    const auto root = std::find_if(
        placement.activations.begin(), placement.activations.end(),
        [&](const QuantizedActivation& other) { return other.value == table.operands[0]; });
    absl::flat_hash_set<NodeId> inside(table.nodes.begin(), table.nodes.end());
    for (const QuantizedActivation& other : placement.activations) {
      if (other.group != root->group) continue;
      const auto it = by_result_.find(other.value);
      if (it == by_result_.end() || !operations_[it->second].kept) continue;
      const Operation& operation = operations_[it->second];
      if (operation.kind == Kind::kMovement) inside.insert(operation.nodes[0]);
    }
    for (const QuantizedActivation& other : placement.activations) {
      if (other.group != root->group) continue;
      const std::vector<NodeId>& users = graph_.value(other.value).users;
      if (graph_.IsOutput(other.value) ||
          !std::all_of(users.begin(), users.end(),
                       [&](NodeId user) { return inside.contains(user); })) {
        return;
      }
    }
    root->table = table.nodes;
  }

  const ExportedProgram& program_;
  const Graph& graph_;
  const QuantizationPatterns& patterns_;
  const SecondaryMap<NodeId, uint32_t> positions_;
  absl::flat_hash_map<NodeId, const WeightUse*> anchors_;
  absl::flat_hash_map<std::string_view, std::vector<const QuantizationPattern*>> by_op_;
  std::vector<Operation> operations_;
  absl::flat_hash_map<ValueId, size_t> by_result_;
  absl::flat_hash_set<ValueId> int8_;  // results of candidates, except tables
  absl::flat_hash_set<NodeId> bounded_, kept_;
  absl::flat_hash_map<ValueId, ValueId> roots_;    // of results of table nodes
  std::map<ValueId, std::vector<NodeId>> tables_;  // nodes by root, in execution order
  std::vector<NodeId> rejected_;
  absl::flat_hash_set<ValueId> quantized_outputs_;
};

}  // namespace

Placement PlaceQuantization(const ExportedProgram& program, absl::Span<const WeightUse> anchors,
                            const QuantizationPatterns& patterns, bool quantizes_outputs) {
  return Placing(program, anchors, patterns, quantizes_outputs).Run();
}

}  // namespace belay::exir
