#include "backends/cpu/aot/passes/contiguous_results.h"

#include <optional>
#include <utility>

#include "backends/cpu/aot/passes/reshapes.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Graph;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

bool CanWriteContiguous(const Node& node) {
  const exir::OpOverload& target = *node.target;
  if (!IsCpuOp(target, "conv2d") && !IsCpuOp(target, "depthwise_conv2d") &&
      !(IsCpuOp(target, "convolution") && node.argument("transposed") == Argument(false))) {
    return false;
  }
  return node.value_argument("other") == nullptr;
}

bool IsConversion(const Node& node) {
  return node.target->ns() == "dim_order_ops" && node.target->op() == "_to_dim_order_copy";
}

exir::Pass Make(FusedHandles& handles) {
  return {"contiguous_results", [&handles](exir::ExportedProgram& program) {
            exir::GraphEditor editor(program.top());
            const Graph& graph = editor.graph();
            bool changed = false;
            for (NodeId id : graph.NodeList()) {
              if (!graph.contains(id) || !CanWriteContiguous(graph.node(id))) continue;
              const ValueId result = graph.ResultOf(id);
              const std::optional<NodeId> user = graph.SoleUser(result);
              if (!user.has_value() || graph.MetaOf(result).is_contiguous()) continue;
              const bool converts = IsConversion(graph.node(*user));
              if (!converts && !IsReshape(graph.node(*user))) continue;
              const TensorMeta& meta = graph.MetaOf(result);
              const ValueId copy = graph.ResultOf(*user);
              // An output has memory of its own, so a reshape would copy after all.
              if (!converts && graph.IsOutput(copy)) continue;
              const TensorMeta& wanted = graph.MetaOf(copy);
              if (!wanted.is_contiguous() || wanted.dtype != meta.dtype) continue;
              TensorMeta contiguous = TensorMeta::Contiguous(meta.dtype, meta.sizes);
              contiguous.device = meta.device;
              editor.SetType(result, std::move(contiguous));
              if (converts) {
                handles.Fuse(editor, id, *user);
                editor.ReplaceAllUses(copy, result);
                editor.EraseNode(*user);
              }
              changed = true;
            }
            return changed;
          }};
}

}  // namespace

exir::Pass ContiguousResults(FusedHandles& handles) { return Make(handles); }

}  // namespace belay::cpu
