#include "exir/backend/lowering/graph_copy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "exir/ir/lowered_backend_module.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

ProgramCopier::ProgramCopier(const ExportedProgram& from, std::vector<GraphId> graphs)
    : from_(from), copy_(from.ops) {
  copy_.dialect = from.dialect;
  copy_.ranges = from.ranges;
  copy_.hints = from.hints;
  std::sort(graphs.begin() + 1, graphs.end());
  for (GraphId id : graphs) graphs_[id] = copy_.graphs.push_back(Graph());
}

NodeId ProgramCopier::CopyNode(const Graph& from, NodeId id, GraphEditor& editor, ValueMap& values,
                               const std::function<bool(size_t, size_t)>& omits) {
  const Node& node = from.node(id);
  GraphEditor::NewNode copied{.name = node.name,
                              .target = node.target,
                              .arguments = {},
                              .argument_names = node.argument_names,
                              .provenance = node.provenance,
                              .debug_handle = node.debug_handle};
  copied.arguments.reserve(node.arguments.size());
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const Argument::List* list = node.arguments[i].get_if<Argument::List>();
    if (omits == nullptr || list == nullptr) {
      copied.arguments.push_back(MapArgument(node.arguments[i], values));
      continue;
    }
    Argument::List kept;
    for (size_t k = 0; k < list->size(); ++k) {
      if (!omits(i, k)) kept.push_back(MapArgument((*list)[k], values));
    }
    copied.arguments.emplace_back(std::move(kept));
  }
  std::vector<GraphEditor::NewOutput> outputs;
  for (const NodeOutput& output : node.outputs) {
    GraphEditor::NewOutput made{output.kind, {}};
    for (ValueId value : output.values) {
      made.values.emplace_back(from.value(value).name, from.value(value).type);
    }
    outputs.push_back(std::move(made));
  }
  const NodeId result = editor.InsertNode(NodeId(), std::move(copied), std::move(outputs));
  const Node& inserted = editor.graph().node(result);
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    for (size_t i = 0; i < node.outputs[k].values.size(); ++i) {
      values[node.outputs[k].values[i]] = inserted.outputs[k].values[i];
    }
  }
  return result;
}

Argument ProgramCopier::MapArgument(const Argument& argument, const ValueMap& values) {
  if (const ValueId* value = argument.get_if<ValueId>()) {
    const auto it = values.find(*value);
    ABSL_DCHECK(it != values.end());
    return it->second;
  }
  if (const GraphId* graph = argument.get_if<GraphId>()) return graphs_.at(*graph);
  if (const ModuleId* module = argument.get_if<ModuleId>()) {
    const auto it = modules_.find(*module);
    if (it != modules_.end()) return it->second;
    const ModuleId copied = copy_.lowered_modules.push_back(from_.lowered_modules[*module]);
    modules_[*module] = copied;
    return copied;
  }
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    Argument::List copied;
    copied.reserve(list->size());
    for (const Argument& element : *list) copied.push_back(MapArgument(element, values));
    return copied;
  }
  if (const Dict* dict = argument.get_if<Dict>()) {
    Dict copied;
    for (const auto& [key, element] : dict->entries) {
      copied.entries.emplace_back(key, MapArgument(element, values));
    }
    return copied;
  }
  return argument;
}

void ProgramCopier::CopySubgraph(GraphId id) {
  const Graph& body = from_.graphs[id];
  GraphEditor editor(copy_.graphs[graphs_.at(id)]);
  editor.SetName(body.name());
  ValueMap values;
  for (ValueId input : body.inputs()) {
    values[input] = editor.AddInput(body.value(input).name, body.value(input).type);
  }
  for (NodeId node : body.nodes()) CopyNode(body, node, editor, values);
  std::vector<Argument> outputs;
  for (const Argument& output : body.outputs()) outputs.push_back(MapArgument(output, values));
  editor.SetOutputs(std::move(outputs));
}

void CollectSubgraphs(const ExportedProgram& program, const Node& node,
                      std::vector<GraphId>& bodies) {
  size_t next = bodies.size();
  const auto add = [&](const Node& user) {
    ForEachSubgraph(user, [&](GraphId body) { bodies.push_back(body); });
  };
  add(node);
  for (; next < bodies.size(); ++next) {
    const Graph& body = program.graphs[bodies[next]];
    for (NodeId inner : body.nodes()) add(body.node(inner));
  }
}

}  // namespace belay::exir
