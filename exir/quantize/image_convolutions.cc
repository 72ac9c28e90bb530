#include "exir/quantize/image_convolutions.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::Status WriteConvolutionsAsImages(ExportedProgram& program,
                                       const absl::btree_set<std::string>& changing) {
  GraphEditor editor(program.top());
  const Graph& graph = program.top();
  ConstantInputs constants(program, editor, changing);
  OpBuilder b(program, editor);
  for (NodeId id : graph.NodeList()) {
    const Node node = graph.node(id);  // inserting nodes invalidates references
    if (node.target->aten()->name() != "aten.convolution.default") continue;
    const ValueId* weight = node.value_argument("weight");
    const ConstantTensor* tensor = weight == nullptr ? nullptr : constants.Find(*weight);
    if (tensor == nullptr || tensor->sizes().size() != 3 || tensor->dtype() != DType::kFloat32 ||
        !graph.HasOneUse(*weight) || node.argument("transposed") != Argument(false)) {
      continue;
    }
    const Sizes &sizes = tensor->sizes(), image = {sizes[0], sizes[1], 1, sizes[2]};
    const Strides &strides = tensor->strides(),
                  image_strides = {strides[0], strides[1], strides[2], strides[2]};
    ABSL_ASSIGN_OR_RETURN(ConstantTensor filter,
                          ConstantTensor::Create(tensor->dtype(), image, image_strides,
                                                 tensor->storage_offset(), tensor->storage()));
    const ValueId before = *weight;
    const ValueId added = constants.AddDerived(before, "_2d", std::move(filter));
    const auto pair = [&](std::string_view argument, int64_t first) {
      const auto* list = node.argument(argument).get_if<Argument::List>();
      return OpArgument(OpArgument::List{
          first, list == nullptr || list->empty() ? Argument(first) : list->back()});
    };
    b.MoveTo(id);
    const Argument x = b.Call("aten.unsqueeze_copy.default", {node.argument("input"), 2});
    const Argument y =
        b.Call("aten.convolution.default",
               {x, added, node.argument("bias"), pair("stride", 1), pair("padding", 0),
                pair("dilation", 1), false, pair("output_padding", 0), node.argument("groups")});
    const Argument result = b.Call("aten.squeeze_copy.dims", {y, {2}});
    ABSL_RETURN_IF_ERROR(b.status());
    editor.ReplaceAllUses(graph.ResultOf(id), result);
    editor.EraseNode(id);
    constants.Drop(before);
  }
  constants.Finish();
  return absl::OkStatus();
}

}  // namespace belay::exir
