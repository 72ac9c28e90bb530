#include "exir/ir/exported_program.h"

#include <utility>

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

void Renumber(Argument& argument, const std::vector<GraphId>& new_ids) {
  if (GraphId* graph = argument.get_if<GraphId>()) {
    if (graph->index() < new_ids.size()) *graph = new_ids[graph->index()];
  } else if (Argument::List* list = argument.get_if<Argument::List>()) {
    for (Argument& element : *list) Renumber(element, new_ids);
  } else if (Dict* dict = argument.get_if<Dict>()) {
    for (auto& [key, element] : dict->entries) Renumber(element, new_ids);
  }
}

}  // namespace

ExportedProgram::ExportedProgram(const OpRegistry* ops) : ops(ops) {}
ExportedProgram::ExportedProgram(ExportedProgram&& other) noexcept = default;
ExportedProgram& ExportedProgram::operator=(ExportedProgram&& other) noexcept = default;
ExportedProgram::ExportedProgram(const ExportedProgram& other) = default;
ExportedProgram::~ExportedProgram() = default;

ExportedProgram ExportedProgram::Clone() const { return ExportedProgram(*this); }

std::string_view IrDialectName(IrDialect dialect) {
  switch (dialect) {
    case IrDialect::kTraining:
      return "TRAINING";
    case IrDialect::kAten:
      return "ATEN";
    case IrDialect::kEdge:
      return "EDGE";
  }
  return "UNKNOWN";
}

const ConstantTensor* ExportedProgram::FindConstant(const InputSpec& spec) const {
  if (!NamesTensor(spec.kind)) return nullptr;
  const bool in_state =
      spec.kind == InputKind::kParameter || (spec.kind == InputKind::kBuffer && spec.persistent);
  for (const ConstantMap* map :
       {in_state ? &state_dict : &constants, in_state ? &constants : &state_dict}) {
    const auto it = map->find(spec.target);
    if (it != map->end()) return &it->second;
  }
  return nullptr;
}

std::optional<size_t> ExportedProgram::InputIndex(ValueId value) const {
  const absl::Span<const ValueId> inputs = top().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == value) return i;
  }
  return std::nullopt;
}

size_t ExportedProgram::EraseUnusedBodies() {
  std::vector<bool> used(graphs.size(), false);
  std::vector<GraphId> pending = {kTop};
  used[kTop.index()] = true;
  while (!pending.empty()) {
    const GraphId id = pending.back();
    pending.pop_back();
    const Graph& graph = graphs[id];
    for (NodeId node : graph.nodes()) {
      ForEachSubgraph(graph.node(node), [&](GraphId body) {
        if (body.index() >= used.size() || used[body.index()]) return;
        used[body.index()] = true;
        pending.push_back(body);
      });
    }
  }
  std::vector<GraphId> new_ids(graphs.size());
  PrimaryMap<GraphId, Graph> kept;
  for (uint32_t i = 0; i < used.size(); ++i) {
    if (used[i]) new_ids[i] = kept.push_back(std::move(graphs[GraphId(i)]));
  }
  const size_t erased = used.size() - kept.size();
  graphs = std::move(kept);
  if (erased == 0) return 0;
  for (Graph& graph : graphs) {
    GraphEditor editor(graph);
    for (NodeId node : graph.NodeList()) {
      const std::vector<Argument>& arguments = graph.node(node).arguments;
      for (size_t i = 0; i < arguments.size(); ++i) {
        bool refers = false;
        ForEachGraph(arguments[i], [&refers](GraphId) { refers = true; });
        if (!refers) continue;
        Argument renumbered = arguments[i];
        Renumber(renumbered, new_ids);
        editor.SetArgument(node, i, std::move(renumbered));
      }
    }
  }
  return erased;
}

}  // namespace belay::exir
