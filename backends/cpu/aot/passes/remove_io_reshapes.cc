#include "backends/cpu/aot/passes/remove_io_reshapes.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/layout_copy.h"
#include "backends/cpu/aot/passes/reshapes.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_registry.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Graph;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

const TensorMeta* StaticTensor(const Graph& graph, ValueId value) {
  const TensorMeta* meta = graph.value(value).tensor();
  return meta != nullptr && meta->is_static() ? meta : nullptr;
}

class IoReshapes {
 public:
  IoReshapes(exir::ExportedProgram& program, FusedHandles& handles)
      : program_(program),
        handles_(handles),
        editor_(program.top()),
        graph_(editor_.graph()),
        copy_(program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"))) {}

  bool Run() {
    bool changed = false;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const bool is_users = program_.signature.inputs[i].kind == exir::InputKind::kUserInput;
      if (is_users && ReshapeInput(graph_.inputs()[i])) changed = true;
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const bool is_users = program_.signature.outputs[i].kind == exir::OutputKind::kUserOutput;
      const ValueId* output = graph_.outputs()[i].get_if<ValueId>();
      if (is_users && output != nullptr && ReshapeOutput(*output)) changed = true;
    }
    return changed;
  }

 private:
  bool ReshapeInput(ValueId input) {
    const TensorMeta* from = StaticTensor(graph_, input);
    const std::vector<NodeId> users(graph_.value(input).users.begin(),
                                    graph_.value(input).users.end());
    if (from == nullptr || !from->is_contiguous() || users.empty() || graph_.IsOutput(input)) {
      return false;
    }
    const TensorMeta* to = nullptr;
    for (NodeId user : users) {
      const exir::Node& node = graph_.node(user);
      if (!IsReshape(node) || node.operand() != Argument(input)) return false;
      const ValueId result = graph_.ResultOf(user);
      const TensorMeta* meta = StaticTensor(graph_, result);
      if (meta == nullptr || !meta->is_contiguous() || graph_.IsOutput(result)) return false;
      if (to != nullptr && to->sizes != meta->sizes) return false;
      to = meta;
    }
    editor_.SetType(input, TensorMeta(*to));
    for (NodeId user : users) {
      editor_.ReplaceAllUses(graph_.ResultOf(user), input);
      editor_.EraseNode(user);
    }
    return true;
  }

  bool ReshapeOutput(ValueId output) {
    const NodeId id = graph_.value(output).producer;
    if (!id.valid() || !IsReshape(graph_.node(id)) || !graph_.value(output).users.empty()) {
      return false;
    }
    const ValueId* operand = graph_.node(id).operand().get_if<ValueId>();
    const TensorMeta* to = StaticTensor(graph_, output);
    if (operand == nullptr || to == nullptr || !to->is_contiguous()) return false;
    const ValueId source = *operand;
    const TensorMeta* from = StaticTensor(graph_, source);
    // Inputs and constants have other memory; two outputs are two values.
    const NodeId producer = graph_.value(source).producer;
    if (from == nullptr || !producer.valid() || graph_.IsOutput(source)) return false;
    if (from->is_contiguous()) {
      handles_.Fuse(editor_, producer, id);
      editor_.ReplaceAllUses(output, source);
    } else {
      if (copy_ == nullptr) return false;
      editor_.ReplaceAllUses(output, Contiguous(source, id));
    }
    editor_.EraseNode(id);
    return true;
  }

  // Inserts a copy to contiguous layout instead of node `id`.
  ValueId Contiguous(ValueId source, NodeId id) {
    const TensorMeta& from = graph_.MetaOf(source);
    TensorMeta type = TensorMeta::Contiguous(from.dtype, from.sizes);
    type.device = from.device;
    const exir::Node& node = graph_.node(id);
    exir::GraphEditor::NewNode copy =
        LayoutCopy(node.name, copy_, source, ContiguousOrder(from.rank()));
    copy.provenance = node.provenance;
    copy.debug_handle = node.debug_handle;
    return editor_.InsertOp(id, std::move(copy), std::move(type));
  }

  exir::ExportedProgram& program_;
  FusedHandles& handles_;
  exir::GraphEditor editor_;
  const Graph& graph_;
  const exir::OpOverload* copy_;
};

}  // namespace

exir::Pass RemoveIoReshapes(FusedHandles& handles) {
  return {"remove_io_reshapes", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return IoReshapes(program, handles).Run();
          }};
}

}  // namespace belay::cpu
