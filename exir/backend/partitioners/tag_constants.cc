#include "exir/backend/partitioners/tag_constants.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/subgraph_operands.h"

namespace belay::exir {
namespace {

using Tags = absl::flat_hash_map<NodeId, const std::string*>;  // of the nodes of a graph

// Returns the smallest tag of the value's users; null if none has a tag.
const std::string* SmallestTag(const Graph& graph, ValueId value, const Tags& tags) {
  const std::string* smallest = nullptr;
  for (NodeId user : graph.value(value).users) {
    const auto it = tags.find(user);
    if (it != tags.end() && (smallest == nullptr || *it->second < *smallest)) {
      smallest = it->second;
    }
  }
  return smallest;
}

void TagInputs(const ExportedProgram& program, bool mutated, Replaceable replaceable,
               PartitionResult& result) {
  const absl::btree_set<std::string_view> targets = MutatedState(program.signature);
  const Graph& graph = program.top();
  Tags tags;
  for (const PartitionResult::NodeTag& tagged : result.nodes) {
    if (tagged.graph == ExportedProgram::kTop) tags[tagged.node] = &tagged.tag;
  }
  absl::flat_hash_set<ValueId> done;
  for (const PartitionResult::InputTag& tagged : result.inputs) {
    if (tagged.graph == ExportedProgram::kTop) done.insert(tagged.input);
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId input = graph.inputs()[i];
    const InputSpec& spec = program.signature.inputs[i];
    if (!NamesTensor(spec.kind) || targets.contains(spec.target) != mutated) continue;
    if (mutated && spec.kind != InputKind::kBuffer) continue;
    if (spec.replaceable && replaceable == Replaceable::kAreArguments) continue;
    if (done.contains(input)) continue;
    const std::string* tag = SmallestTag(graph, input, tags);
    if (tag != nullptr) result.inputs.push_back({input, *tag});
  }
}

}  // namespace

void TagConstantData(const ExportedProgram& program, PartitionResult& result,
                     Replaceable replaceable) {
  TagInputs(program, /*mutated=*/false, replaceable, result);
}

void TagSubgraphConstants(const ExportedProgram& program, PartitionResult& result) {
  const ConstantSubgraphInputs constants = FindConstantSubgraphInputs(program);
  std::vector<Tags> tags(program.graphs.size());
  for (const PartitionResult::NodeTag& tagged : result.nodes) {
    tags[tagged.graph.index()][tagged.node] = &tagged.tag;
  }
  absl::flat_hash_set<std::pair<GraphId, ValueId>> done;
  for (const PartitionResult::InputTag& tagged : result.inputs) {
    done.insert({tagged.graph, tagged.input});
  }
  for (uint32_t g = 1; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[GraphId(g)];
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId input = graph.inputs()[i];
      if (!constants[g][i].has_value() || done.contains({GraphId(g), input})) continue;
      if (program.signature.inputs[*constants[g][i]].replaceable) continue;
      const std::string* tag = SmallestTag(graph, input, tags[g]);
      if (tag != nullptr) result.inputs.push_back({input, *tag, GraphId(g)});
    }
  }
}

void TagMutatedBuffers(const ExportedProgram& program, PartitionResult& result) {
  TagInputs(program, /*mutated=*/true, Replaceable::kAreArguments, result);
}

}  // namespace belay::exir
