#include "exir/testing/generator/writes_as_copies.h"

#include <optional>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/op_definition/op_variants.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

bool NeedsVariant(const OpOverload& op) {
  return op.schema() != nullptr && KindOf(*op.schema()) == SchemaKind::kInplace &&
         !op.has_meta_kernel();
}

absl::StatusOr<ExportedProgram> WritesAsCopies(const ExportedProgram& program) {
  ExportedProgram copy = program.Clone();
  for (Graph& graph : copy.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const Node node = graph.node(id);
      if (node.target == nullptr || !NeedsVariant(*node.target)) continue;
      ABSL_ASSIGN_OR_RETURN(const OpOverload* variant,
                            ToVariant(*program.ops, node.target, SchemaKind::kFunctional));
      std::vector<Argument> arguments;
      for (const SchemaArgument& argument : variant->schema()->arguments) {
        const std::optional<int> i = node.target->schema()->ArgumentIndex(argument.name);
        arguments.push_back(i.has_value() ? node.arguments[*i] : DefaultArgument(argument));
      }
      ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> metas,
                            InferOutputs(graph, variant, arguments, nullptr));
      GraphEditor::NewNode call;
      call.name = node.name;
      call.target = variant;
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
