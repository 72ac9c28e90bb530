#include "exir/passes/eliminate_common_subexpressions.h"

#include <bit>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

template <class H>
H HashArgument(H h, const Argument& argument) {
  h = H::combine(std::move(h), argument.variant().index());
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    for (const Argument& element : *list) h = HashArgument(std::move(h), element);
    return H::combine(std::move(h), list->size());
  }
  if (const ValueId* value = argument.get_if<ValueId>()) return H::combine(std::move(h), *value);
  if (const int64_t* value = argument.get_if<int64_t>()) return H::combine(std::move(h), *value);
  if (const double* value = argument.get_if<double>()) {
    return H::combine(std::move(h), std::bit_cast<uint64_t>(*value));
  }
  if (const DType* value = argument.get_if<DType>()) return H::combine(std::move(h), *value);
  if (const bool* value = argument.get_if<bool>()) return H::combine(std::move(h), *value);
  return h;  // rare kinds: compared, not hashed
}

// Hashes and compares nodes by operator, arguments and delegation tag.
struct Call {
  NodeId id;
  const Node* node;

  template <class H>
  friend H AbslHashValue(H h, const Call& call) {
    h = H::combine(std::move(h), call.node->target);
    for (const Argument& argument : call.node->arguments) h = HashArgument(std::move(h), argument);
    return h;
  }
  friend bool operator==(const Call& a, const Call& b) {
    return a.node->target == b.node->target && a.node->arguments == b.node->arguments &&
           a.node->delegation_tag == b.node->delegation_tag;
  }
};

// Whether a node writes to its arguments.
bool Writes(const Graph& graph) {
  for (NodeId id : graph.nodes()) {
    const FunctionSchema* schema = graph.node(id).target->schema();
    if (schema != nullptr && schema->IsMutable()) return true;
  }
  return false;
}

bool IsCandidate(const Node& node, const absl::flat_hash_set<ValueId>& outputs) {
  const OpOverload* target = node.target;
  if (target->schema() == nullptr || target->schema()->returns.empty()) return false;
  for (OpTrait trait : {kNondeterministic, kSideEffect, kQuantizes, kDequantizes}) {
    if (target->has_trait(trait)) return false;
  }
  return absl::c_none_of(node.results(), [&](ValueId value) { return outputs.contains(value); });
}

bool SameResults(const Graph& graph, const Node& a, const Node& b) {
  const std::vector<ValueId> ours = a.results(), theirs = b.results();
  return absl::c_equal(ours, theirs, [&](ValueId x, ValueId y) {
    return graph.value(x).type == graph.value(y).type;
  });
}

using Merge = std::function<void(GraphEditor&, NodeId kept, NodeId erased)>;

absl::StatusOr<bool> Run(ExportedProgram& program, const Merge& merge) {
  bool changed = false;
  for (Graph& graph : program.graphs) {
    if (Writes(graph)) continue;
    absl::flat_hash_set<ValueId> outputs;
    for (const Argument& output : graph.outputs()) {
      ForEachValue(output, [&](ValueId value) { outputs.insert(value); });
    }
    GraphEditor editor(graph);
    absl::flat_hash_set<Call> calls;
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (!IsCandidate(node, outputs)) continue;
      const auto [first, inserted] = calls.insert({id, &node});
      if (inserted || !SameResults(graph, *first->node, node)) continue;
      const std::vector<ValueId> kept = first->node->results(), removed = node.results();
      for (size_t i = 0; i < removed.size(); ++i) editor.ReplaceAllUses(removed[i], kept[i]);
      if (merge) merge(editor, first->id, id);
      editor.EraseNode(id);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass EliminateCommonSubexpressions(Merge merge) {
  return {"eliminate_common_subexpressions",
          [merge = std::move(merge)](ExportedProgram& program) { return Run(program, merge); }};
}

}  // namespace belay::exir
