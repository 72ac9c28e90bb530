#include "backends/cpu/aot/passes/lower_max_pool2d.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "backends/cpu/aot/max_pool.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/pair_argument.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

// Appends the padding below and to the right if ceil_mode extends the last windows beyond it.
// Precondition: HasKnownWindows().
Argument::List WithPaddingAfter(const TensorMeta& images, const TensorMeta& maxima,
                                const Argument::List& kernel, const Argument::List& stride,
                                Argument::List padding) {
  Argument::List after = padding;
  for (int s = 0; s < 2; ++s) {
    const auto number = [&](const Argument::List& list) { return *list[s].get_if<int64_t>(); };
    const int64_t reached = (*maxima.sizes[2 + s].AsInt() - 1) * number(stride) + number(kernel);
    const int64_t beyond = reached - *images.sizes[2 + s].AsInt() - number(padding);
    if (beyond > number(padding)) after[s] = beyond;
  }
  if (after != padding) padding.insert(padding.end(), after.begin(), after.end());
  return padding;
}

// max_pool2d_with_indices(x)[0], indices unused  ->  max_pool2d(x)
absl::StatusOr<bool> Lower(exir::GraphEditor& editor, const exir::OpOverload* op, NodeId id) {
  const exir::Graph& graph = editor.graph();
  const Node& node = graph.node(id);
  if (node.target->aten() != op) return false;
  const ValueId* input = node.value_argument("self");
  const TensorMeta* images = input == nullptr ? nullptr : graph.value(*input).tensor();
  const ValueId maxima = node.outputs[0].values[0];
  if (images == nullptr || images->rank() != 4 || !kPooled.contains(images->dtype) ||
      !images->sizes[1].AsInt().has_value() || !IsPlainMaxPool(graph, id) ||
      !HasKnownWindows(graph, id)) {
    return false;
  }
  const std::optional<Argument::List> kernel = PairOf(node.argument("kernel_size"), 1);
  const std::optional<Argument::List> stride = node.argument("stride") == Argument(Argument::List())
                                                   ? kernel
                                                   : PairOf(node.argument("stride"), 1);
  std::optional<Argument::List> padding = PairOf(node.argument("padding"), 0);
  if (!kernel.has_value() || !stride.has_value() || !padding.has_value()) return false;
  if (node.argument("ceil_mode") == Argument(true)) {
    padding = WithPaddingAfter(*images, *graph.value(maxima).tensor(), *kernel, *stride, *padding);
  }
  exir::GraphEditor::NewNode lowered{
      .name = node.name,
      .target = CpuOp("max_pool2d"),
      .arguments = {*input, *kernel, *stride, *padding, Argument::List{1, 1}},
      .provenance = node.provenance,
      .debug_handle = node.debug_handle};
  const ValueId result = editor.InsertOp(id, std::move(lowered), graph.value(maxima).type);
  editor.ReplaceAllUses(maxima, result);
  editor.EraseNode(id);
  return true;
}

absl::StatusOr<bool> Run(exir::ExportedProgram& program) {
  const exir::OpOverload* op = program.ops->Find("aten.max_pool2d_with_indices.default");
  exir::GraphEditor editor(program.top());
  return LowerNodes(program, editor, [&](NodeId id) { return Lower(editor, op, id); });
}

}  // namespace

exir::Pass LowerMaxPool2d() { return {"lower_max_pool2d", Run}; }

}  // namespace belay::cpu
