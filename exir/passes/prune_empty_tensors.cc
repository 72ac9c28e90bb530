#include "exir/passes/prune_empty_tensors.h"

#include <utility>

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

bool IsEmpty(const TensorMeta& tensor) {
  for (const SymInt& size : tensor.sizes) {
    if (size.AsInt() == 0) return true;
  }
  return false;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpOverload* cat = program.ops->Find("aten.cat.default");
  const OpOverload* full = program.ops->Find("aten.full.default");
  bool changed = false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (node.target->aten() != cat) continue;
      const Argument::List* tensors = node.argument("tensors").get_if<Argument::List>();
      const TensorMeta* out = graph.value(node.outputs[0].values[0]).tensor();
      if (tensors == nullptr) continue;
      Argument::List kept;
      for (const Argument& argument : *tensors) {
        const ValueId* value = argument.get_if<ValueId>();
        const TensorMeta* tensor = value == nullptr ? nullptr : graph.value(*value).tensor();
        // Type promotion includes all inputs, so an input that decides the result dtype is kept.
        if (tensor != nullptr && IsEmpty(*tensor) && tensor->dtype == out->dtype) continue;
        kept.push_back(argument);
      }
      if (kept.size() == tensors->size()) continue;
      if (!kept.empty()) {
        editor.SetArgument(id, *cat->ArgumentIndex("tensors"), std::move(kept));
        changed = true;
        continue;
      }
      if (full == nullptr || !out->is_static()) continue;
      Argument::List sizes;
      for (const SymInt& size : out->sizes) sizes.push_back(*size.AsInt());
      std::vector<Argument> arguments = ArgumentsByName(
          *full->schema(),
          {{"size", std::move(sizes)}, {"fill_value", int64_t{0}}, {"dtype", out->dtype}});
      editor.SetTarget(id, full);
      editor.SetArguments(id, std::move(arguments));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass PruneEmptyTensors() { return {"prune_empty_tensors", Run}; }

}  // namespace belay::exir
