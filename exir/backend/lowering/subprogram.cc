#include "exir/backend/lowering/subprogram.h"

#include <string>
#include <utility>
#include <vector>

#include "exir/backend/lowering/graph_copy.h"

namespace belay::exir {

ExportedProgram BuildSubprogram(const ExportedProgram& owner, const Partition& partition) {
  const Graph& graph = owner.graphs[partition.graph];
  std::vector<GraphId> graphs = {partition.graph};
  for (NodeId node : partition.nodes) CollectSubgraphs(owner, graph.node(node), graphs);
  const std::vector<GraphId> bodies(graphs.begin() + 1, graphs.end());
  ProgramCopier copier(owner, std::move(graphs));
  ExportedProgram& program = copier.copy();
  GraphEditor editor(program.top());
  ValueMap values;

  for (InputKind kind : {InputKind::kParameter, InputKind::kBuffer, InputKind::kTensorConstant}) {
    for (const OwnedConstant& constant : partition.constants) {
      const InputSpec& spec = owner.signature.inputs[constant.input];
      if (spec.kind != kind) continue;
      values[constant.value] = editor.AddInput(constant.name, graph.value(constant.value).type);
      program.signature.inputs.push_back(spec);
      // A verified program has all of its constants.
      const ConstantTensor& tensor = *owner.FindConstant(spec);
      const bool is_state =
          kind == InputKind::kParameter || (kind == InputKind::kBuffer && spec.persistent);
      (is_state ? program.state_dict : program.constants).insert({spec.target, tensor});
    }
  }
  for (ValueId argument : partition.arguments) {
    values[argument] = editor.AddInput(graph.value(argument).name, graph.value(argument).type);
    program.signature.inputs.push_back({});
  }
  for (NodeId node : partition.nodes) copier.CopyNode(graph, node, editor, values);
  for (GraphId body : bodies) copier.CopySubgraph(body);

  std::vector<Argument> outputs;
  for (const OwnedMutation& mutation : partition.mutations) {
    outputs.push_back(values[mutation.value]);
    program.signature.outputs.push_back(owner.signature.outputs[mutation.output]);
  }
  for (ValueId result : partition.results) {
    outputs.push_back(values[result]);
    program.signature.outputs.push_back({});
  }
  editor.SetOutputs(std::move(outputs));
  return std::move(program);
}

}  // namespace belay::exir
