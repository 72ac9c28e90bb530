#include "exir/ir/graph_editor.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Lists of users up to this length are searched, longer ones are indexed.
constexpr size_t kSearchedUsers = 16;

bool HasEffect(const Node& node) {
  const OpOverload* target = node.target;
  // Higher-order operators have no schema.
  if (target == nullptr || target->schema() == nullptr) return true;
  return target->has_trait(kSideEffect) || target->schema()->returns.empty() ||
         target->schema()->IsMutable();
}

}  // namespace

GraphEditor::GraphEditor(Graph& graph) : graph_(graph) {
  names_.reserve(graph.values_.size() + graph.num_nodes_);
  for (ValueId input : graph.inputs_) names_[graph.values_[input].name].value = true;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    names_[node.name].node = true;
    for (const NodeOutput& output : node.outputs) {
      for (ValueId value : output.values) names_[graph.values_[value].name].value = true;
    }
  }
  for (const Argument& output : graph.outputs_) {
    ForEachValue(output, [this](ValueId value) { ++output_uses_[value]; });
  }
}

void GraphEditor::SetName(std::string name) { graph_.name_ = std::move(name); }

// --- Names ---

// Returns a name that is unused by values (if `value`) and nodes (if `node`).
std::string GraphEditor::Unique(std::string_view wish, bool value, bool node) {
  std::string name(wish);
  const auto is_free = [&](const std::string& candidate) {
    const auto it = names_.find(candidate);
    return it == names_.end() || !((value && it->second.value) || (node && it->second.node));
  };
  if (!name.empty() && is_free(name)) return name;
  uint32_t& first = names_[name].next_suffix;
  uint32_t suffix = first;
  std::string candidate;
  do {
    candidate = absl::StrCat(name, "_", suffix++);
  } while (!is_free(candidate));
  // The candidate itself is unused; the next search starts with it.
  names_[name].next_suffix = suffix - 1;
  return candidate;
}

std::string GraphEditor::UniqueName(std::string_view wish) {
  return Unique(wish, /*value=*/true, /*node=*/true);
}

void GraphEditor::RenameValue(ValueId value, std::string_view wish) {
  ABSL_DCHECK(graph_.contains(value));
  Value& v = graph_.values_[value];
  names_[v.name].value = false;
  std::string name = Unique(wish, /*value=*/true, /*node=*/false);
  names_[name].value = true;
  v.name = std::move(name);
}

// --- Values ---

// Precondition: `name` is unused by values.
ValueId GraphEditor::NewValue(std::string name, ValueType type, NodeId producer) {
  names_[name].value = true;
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.producer = producer;
  return graph_.values_.push_back(std::move(value));
}

// Releases the name and the memory of the value. The producer is kept, so that the value does not
// look like an input.
void GraphEditor::FreeValue(ValueId value) {
  ABSL_DCHECK(!IsUsed(value));
  Value& v = graph_.values_[value];
  names_[v.name].value = false;
  const NodeId producer = v.producer;
  v = Value();
  v.producer = producer;
  use_indices_.erase(value);
}

bool GraphEditor::IsUsed(ValueId value) const {
  return !graph_.values_[value].users.empty() || output_uses_.contains(value);
}

ValueId GraphEditor::AddInput(std::string_view name, ValueType type) {
  return InsertInput(graph_.inputs_.size(), name, std::move(type));
}

ValueId GraphEditor::InsertInput(size_t position, std::string_view name, ValueType type) {
  ABSL_DCHECK(position <= graph_.inputs_.size());
  const ValueId value =
      NewValue(Unique(name, /*value=*/true, /*node=*/false), std::move(type), NodeId());
  graph_.inputs_.insert(graph_.inputs_.begin() + static_cast<ptrdiff_t>(position), value);
  return value;
}

void GraphEditor::EraseInput(ValueId value) {
  for (size_t i = 0; i < graph_.inputs_.size(); ++i) {
    if (graph_.inputs_[i] != value) continue;
    graph_.inputs_.erase(graph_.inputs_.begin() + static_cast<ptrdiff_t>(i));
    FreeValue(value);
    return;
  }
  ABSL_DCHECK(false);
}

void GraphEditor::SetType(ValueId value, ValueType type) {
  ABSL_DCHECK(graph_.contains(value));
  graph_.values_[value].type = std::move(type);
}

// --- Nodes ---

NodeId GraphEditor::InsertNode(NodeId before, NewNode node, std::vector<NewOutput> outputs) {
  bool shares_name = false;
  for (const NewOutput& output : outputs) {
    for (const auto& [wish, type] : output.values) shares_name = shares_name || wish == node.name;
  }
  const std::string wish = node.name;
  Graph::Entry entry;
  entry.node.name = Unique(wish, /*value=*/shares_name, /*node=*/true);
  entry.node.target = node.target;
  entry.node.arguments = std::move(node.arguments);
  entry.node.argument_names = std::move(node.argument_names);
  entry.node.provenance = std::move(node.provenance);
  entry.node.debug_handle = node.debug_handle;
  entry.node.delegation_tag = std::move(node.delegation_tag);
  names_[entry.node.name].node = true;
  const NodeId id = graph_.nodes_.push_back(std::move(entry));
  Node& inserted = graph_.nodes_[id].node;
  for (NewOutput& output : outputs) {
    NodeOutput made{output.kind, {}};
    for (auto& [value_wish, type] : output.values) {
      const std::string& base = value_wish == wish ? inserted.name : value_wish;
      made.values.push_back(
          NewValue(Unique(base, /*value=*/true, /*node=*/false), std::move(type), id));
    }
    ABSL_DCHECK(made.kind == NodeOutput::Kind::kList ||
                made.values.size() == (made.kind == NodeOutput::Kind::kValue ? 1 : 0));
    inserted.outputs.push_back(std::move(made));
  }
  for (const Argument& argument : inserted.arguments) AddUses(id, argument);
  Link(id, before);
  ++graph_.num_nodes_;
  if (Budget* budget = Budget::Current()) budget->CountNode(inserted.results().size());
  return id;
}

ValueId GraphEditor::InsertOp(NodeId before, NewNode node, ValueType type) {
  NewOutput output{NodeOutput::Kind::kValue, {}};
  output.values.emplace_back(node.name, std::move(type));
  const NodeId id = InsertNode(before, std::move(node), {std::move(output)});
  return graph_.node(id).outputs[0].values[0];
}

void GraphEditor::EraseNode(NodeId id) {
  ABSL_DCHECK(graph_.contains(id));
  Graph::Entry& entry = graph_.nodes_[id];
  for (const Argument& argument : entry.node.arguments) RemoveUses(id, argument);
  for (const NodeOutput& output : entry.node.outputs) {
    for (ValueId value : output.values) FreeValue(value);
  }
  names_[entry.node.name].node = false;
  Unlink(id);
  entry.node = Node();
  entry.alive = false;
  --graph_.num_nodes_;
}

void GraphEditor::Link(NodeId id, NodeId before) {
  ABSL_DCHECK(!before.valid() || graph_.contains(before));
  Graph::Entry& entry = graph_.nodes_[id];
  entry.next = before;
  entry.previous = before.valid() ? graph_.nodes_[before].previous : graph_.last_;
  (entry.previous.valid() ? graph_.nodes_[entry.previous].next : graph_.first_) = id;
  (before.valid() ? graph_.nodes_[before].previous : graph_.last_) = id;
}

void GraphEditor::Unlink(NodeId id) {
  const Graph::Entry& entry = graph_.nodes_[id];
  (entry.previous.valid() ? graph_.nodes_[entry.previous].next : graph_.first_) = entry.next;
  (entry.next.valid() ? graph_.nodes_[entry.next].previous : graph_.last_) = entry.previous;
}

void GraphEditor::MoveBefore(NodeId node, NodeId before) {
  ABSL_DCHECK(graph_.contains(node));
  if (node == before) return;
  Unlink(node);
  Link(node, before);
}

void GraphEditor::Reorder(const std::vector<NodeId>& order) {
  ABSL_DCHECK(order.size() == graph_.num_nodes_);
  graph_.first_ = graph_.last_ = NodeId();
  for (NodeId id : order) {
    ABSL_DCHECK(graph_.contains(id));
    Link(id, NodeId());
  }
}

void GraphEditor::SetTarget(NodeId node, const OpOverload* target) {
  ABSL_DCHECK(graph_.contains(node));
  graph_.nodes_[node].node.target = target;
}

void GraphEditor::SetDelegationTag(NodeId node, std::string tag) {
  ABSL_DCHECK(graph_.contains(node));
  graph_.nodes_[node].node.delegation_tag = std::move(tag);
}

void GraphEditor::SetDebugHandle(NodeId node, int64_t handle) {
  ABSL_DCHECK(graph_.contains(node));
  graph_.nodes_[node].node.debug_handle = handle;
}

void GraphEditor::SetProvenance(NodeId node, Provenance provenance) {
  ABSL_DCHECK(graph_.contains(node));
  graph_.nodes_[node].node.provenance = std::move(provenance);
}

void GraphEditor::DropOutput(NodeId node, size_t k) {
  ABSL_DCHECK(graph_.contains(node));
  NodeOutput& output = graph_.nodes_[node].node.outputs[k];
  for (ValueId value : output.values) FreeValue(value);
  output = NodeOutput();
}

// --- Uses ---

void GraphEditor::AddUse(ValueId value, NodeId node) {
  ABSL_DCHECK(graph_.contains(value));
  std::vector<NodeId>& users = graph_.values_[value].users;
  const auto it = use_indices_.find(value);
  if (it != use_indices_.end()) {
    std::vector<uint32_t>& positions = it->second.positions[node];
    it->second.slots.push_back(static_cast<uint32_t>(positions.size()));
    positions.push_back(static_cast<uint32_t>(users.size()));
  }
  users.push_back(node);
}

void GraphEditor::RemoveUse(ValueId value, NodeId node) {
  std::vector<NodeId>& users = graph_.values_[value].users;
  auto it = use_indices_.find(value);
  if (it == use_indices_.end()) {
    if (users.size() <= kSearchedUsers) {
      for (size_t i = users.size(); i-- > 0;) {
        if (users[i] != node) continue;
        users[i] = users.back();
        users.pop_back();
        return;
      }
      ABSL_DCHECK(false);
      return;
    }
    UseIndex index;
    index.slots.reserve(users.size());
    for (uint32_t i = 0; i < users.size(); ++i) {
      std::vector<uint32_t>& positions = index.positions[users[i]];
      index.slots.push_back(static_cast<uint32_t>(positions.size()));
      positions.push_back(i);
    }
    it = use_indices_.emplace(value, std::move(index)).first;
  }
  UseIndex& index = it->second;
  const auto entry = index.positions.find(node);
  ABSL_DCHECK(entry != index.positions.end());
  if (entry == index.positions.end()) return;
  // The last entry of the list moves into the gap.
  const uint32_t gap = entry->second.back();
  entry->second.pop_back();
  const uint32_t last = static_cast<uint32_t>(users.size()) - 1;
  if (gap != last) {
    users[gap] = users[last];
    index.slots[gap] = index.slots[last];
    index.positions.find(users[last])->second[index.slots[last]] = gap;
  }
  users.pop_back();
  index.slots.pop_back();
  if (entry->second.empty()) index.positions.erase(entry);
}

void GraphEditor::AddUses(NodeId node, const Argument& argument) {
  ForEachValue(argument, [this, node](ValueId value) { AddUse(value, node); });
}

void GraphEditor::RemoveUses(NodeId node, const Argument& argument) {
  ForEachValue(argument, [this, node](ValueId value) { RemoveUse(value, node); });
}

void GraphEditor::SetArgument(NodeId node, size_t index, Argument argument) {
  ABSL_DCHECK(graph_.contains(node));
  Argument& place = graph_.nodes_[node].node.arguments[index];
  RemoveUses(node, place);
  place = std::move(argument);
  AddUses(node, place);
}

void GraphEditor::SetArguments(NodeId node, std::vector<Argument> arguments,
                               std::vector<std::string> names) {
  ABSL_DCHECK(graph_.contains(node));
  Node& n = graph_.nodes_[node].node;
  for (const Argument& argument : n.arguments) RemoveUses(node, argument);
  n.arguments = std::move(arguments);
  n.argument_names = std::move(names);
  for (const Argument& argument : n.arguments) AddUses(node, argument);
}

// Replaces in a part of an argument of `node`, or of the graph outputs if `node` is invalid.
size_t GraphEditor::ReplaceIn(NodeId node, Argument& argument, ValueId from, const Argument& to) {
  size_t count = 0;
  if (const ValueId* value = argument.get_if<ValueId>()) {
    if (*value != from) return 0;
    argument = to;
    if (node.valid()) {
      AddUses(node, to);
      RemoveUse(from, node);
    }
    return 1;
  }
  if (Argument::List* list = argument.get_if<Argument::List>()) {
    for (Argument& element : *list) count += ReplaceIn(node, element, from, to);
  } else if (Dict* dict = argument.get_if<Dict>()) {
    for (auto& [key, element] : dict->entries) count += ReplaceIn(node, element, from, to);
  }
  return count;
}

size_t GraphEditor::ReplaceUsesIn(NodeId node, ValueId from, Argument to) {
  ABSL_DCHECK(graph_.contains(node));
  size_t count = 0;
  for (Argument& argument : graph_.nodes_[node].node.arguments) {
    count += ReplaceIn(node, argument, from, to);
  }
  return count;
}

size_t GraphEditor::ReplaceAllUses(ValueId from, Argument to) {
  ABSL_DCHECK(graph_.contains(from));
  size_t count = 0;
  const std::vector<NodeId> users = graph_.values_[from].users;
  absl::flat_hash_set<NodeId> done;
  for (NodeId user : users) {
    if (done.insert(user).second) count += ReplaceUsesIn(user, from, to);
  }
  if (output_uses_.contains(from)) {
    std::vector<Argument> outputs = graph_.outputs_;
    for (Argument& output : outputs) count += ReplaceIn(NodeId(), output, from, to);
    SetOutputs(std::move(outputs));
  }
  return count;
}

void GraphEditor::SetOutputs(std::vector<Argument> outputs) {
  output_uses_.clear();
  graph_.outputs_ = std::move(outputs);
  for (const Argument& output : graph_.outputs_) {
    ForEachValue(output, [this](ValueId value) { ++output_uses_[value]; });
  }
}

size_t GraphEditor::EraseDeadNodes() {
  size_t erased = 0;
  for (NodeId id = graph_.last(); id.valid();) {
    const NodeId previous = graph_.previous(id);
    const Node& node = graph_.node(id);
    bool used = HasEffect(node);
    for (const NodeOutput& output : node.outputs) {
      for (ValueId value : output.values) used = used || IsUsed(value);
    }
    if (!used) {
      EraseNode(id);
      ++erased;
    }
    id = previous;
  }
  return erased;
}

}  // namespace belay::exir
