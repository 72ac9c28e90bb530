#include "exir/testing/generator/writes_as_copies.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

const OpOverload* TwinOf(const OpOverload& in_place, const OpRegistry& ops) {
  if (!in_place.op().ends_with('_')) return nullptr;
  return ops.Find(absl::StrCat(in_place.ns(), ".",
                               std::string(in_place.op().substr(0, in_place.op().size() - 1)), ".",
                               in_place.overload()));
}

bool NeedsTwin(const OpOverload& op) {
  return op.schema() != nullptr && op.schema()->IsMutable() && !op.has_meta_kernel();
}

absl::StatusOr<ExportedProgram> WritesAsCopies(const ExportedProgram& program) {
  ExportedProgram copy = program.Clone();
  for (Graph& graph : copy.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const Node node = graph.node(id);
      if (node.target == nullptr || !NeedsTwin(*node.target)) continue;
      const OpOverload* twin = TwinOf(*node.target, *program.ops);
      if (twin == nullptr) {
        return absl::UnimplementedError(absl::StrCat(node.target->name(), " has no twin"));
      }
      std::vector<Argument> arguments;
      for (const SchemaArgument& argument : twin->schema()->arguments) {
        const std::optional<int> i = node.target->schema()->ArgumentIndex(argument.name);
        arguments.push_back(i.has_value() ? node.arguments[*i] : DefaultArgument(argument));
      }
      ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> metas,
                            InferOutputs(graph, twin, arguments, nullptr));
      GraphEditor::NewNode call;
      call.name = node.name;
      call.target = twin;
      call.arguments = std::move(arguments);
      const ValueId computed = editor.InsertOp(id, std::move(call), ToValueType(metas[0]));
      const OpOverload* copy_op = program.ops->Find("aten.copy_.default");
      GraphEditor::NewNode write;
      write.name = node.name;
      write.target = copy_op;
      write.arguments = {node.arguments[0], Argument(computed), Argument(false)};
      const ValueId written =
          editor.InsertOp(id, std::move(write), graph.value(node.outputs[0].values[0]).type);
      editor.ReplaceAllUses(node.outputs[0].values[0], Argument(written));
      editor.EraseNode(id);
    }
  }
  return copy;
}

}  // namespace belay::exir
