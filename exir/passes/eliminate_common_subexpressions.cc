#include "exir/passes/eliminate_common_subexpressions.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

size_t HashOf(const Argument& argument) {
  const size_t kind = argument.variant().index();
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    size_t hash = absl::HashOf(kind, list->size());
    for (const Argument& element : *list) hash = absl::HashOf(hash, HashOf(element));
    return hash;
  }
  if (const ValueId* value = argument.get_if<ValueId>()) return absl::HashOf(kind, value->index());
  if (const int64_t* value = argument.get_if<int64_t>()) return absl::HashOf(kind, *value);
  if (const double* value = argument.get_if<double>()) {
    return absl::HashOf(kind, std::bit_cast<uint64_t>(*value));
  }
  if (const DType* value = argument.get_if<DType>()) return absl::HashOf(kind, *value);
  if (const bool* value = argument.get_if<bool>()) return absl::HashOf(kind, *value);
  return kind;  // rare kinds: compared, not hashed
}

size_t HashOf(const Node& node) {
  size_t hash = absl::HashOf(node.target);
  for (const Argument& argument : node.arguments) hash = absl::HashOf(hash, HashOf(argument));
  return hash;
}

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

bool Equal(const Graph& graph, const Node& a, const Node& b) {
  const std::vector<ValueId> ours = a.results(), theirs = b.results();
  return a.target == b.target && a.arguments == b.arguments &&
         a.delegation_tag == b.delegation_tag &&
         absl::c_equal(ours, theirs, [&](ValueId x, ValueId y) {
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
    std::map<size_t, NodeId> first;  // of each hash; other nodes of the same hash are kept
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (!IsCandidate(node, outputs)) continue;
      const auto [same, inserted] = first.emplace(HashOf(node), id);
      if (inserted || !Equal(graph, graph.node(same->second), node)) continue;
      const std::vector<ValueId> kept = graph.node(same->second).results(),
                                 removed = node.results();
      for (size_t i = 0; i < removed.size(); ++i) editor.ReplaceAllUses(removed[i], kept[i]);
      if (merge) merge(editor, same->second, id);
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
