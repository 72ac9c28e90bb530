#include "exir/backend/testing/recording_backend.h"

#include "absl/container/flat_hash_set.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/testing/programs.h"

namespace belay::exir {

absl::StatusOr<PartitionResult> TextPartitioner::Partition(const ExportedProgram& program) const {
  PartitionResult result;
  result.delegation = delegation;
  absl::flat_hash_set<std::string> known;
  for (const auto& [tag, spec] : delegation) known.insert(tag);
  const auto note = [&](const std::string& tag) {
    if (!only_given_delegation && known.insert(tag).second) {
      result.delegation.emplace_back(tag, DelegationSpec{"recorder", {}});
    }
  };
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[GraphId(g)];
    for (NodeId node : graph.nodes()) {
      const std::string& tag = graph.node(node).delegation_tag;
      if (tag.empty()) continue;
      result.nodes.push_back({GraphId(g), node, tag});
      note(tag);
    }
  }
  for (const auto& [name, tag] : constants) {
    result.inputs.push_back({FindValue(program.top(), name), tag});
    note(tag);
  }
  for (const std::string& name : no_copy) {
    result.no_copy.push_back(FindValue(program.top(), name));
  }
  if (tag_constants) {
    TagConstantData(program, result);
    TagMutatedBuffers(program, result);
  }
  return result;
}

Storage TextStorage(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  for (size_t i = 0; i < text.size(); ++i) bytes[i] = static_cast<std::byte>(text[i]);
  return Storage::Own(std::move(bytes));
}

std::string TextOf(const Storage& storage) {
  return std::string(reinterpret_cast<const char*>(storage.bytes.data()), storage.bytes.size());
}

}  // namespace belay::exir
