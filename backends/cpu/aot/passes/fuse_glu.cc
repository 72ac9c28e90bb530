#include "backends/cpu/aot/passes/fuse_glu.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/match.h"

namespace belay::cpu {
namespace {

namespace m = exir::match;
using exir::Argument;
using exir::NodeId;
using exir::OpOverload;
using exir::TensorMeta;
using exir::ValueId;

class GluFusion : NodeLowering {
 public:
  GluFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        split_(program.ops->Find("aten.split_with_sizes_copy.default")),
        glu_(program.ops->ToEdge(program.ops->Find("aten.glu.default"))) {}

  absl::StatusOr<bool> Run() {
    if (split_ == nullptr || glu_ == nullptr) return false;
    return LowerNodes(program_, editor_, [this](NodeId id) { return Fuse(id); });
  }

 private:
  bool Fuse(NodeId id) {
    ValueId value, gate;
    NodeId sigmoid;
    const m::Pattern product = m::EitherOrder(
        "mul", m::Value(&value), m::Op("aten.sigmoid.default", m::Value(&gate)).As(&sigmoid));
    if (!matcher_.Match(product, id).has_value()) return false;
    const NodeId split = graph_.value(value).producer;
    if (!split.valid() || graph_.node(split).target->aten() != split_ ||
        graph_.node(split).results() != std::vector<ValueId>{value, gate} ||
        !graph_.HasOneUse(value) || !graph_.HasOneUse(gate) ||
        !graph_.HasOneUse(graph_.ResultOf(sigmoid))) {
      return false;
    }
    const exir::Node& node = graph_.node(split);
    const ValueId* const operand = node.operand().get_if<ValueId>();
    const int64_t* const dim = node.argument("dim").get_if<int64_t>();
    if (operand == nullptr || dim == nullptr) return false;
    const ValueId x = *operand;
    const TensorMeta &from = graph_.MetaOf(x), &half = graph_.MetaOf(value);
    if (from.dtype != DType::kFloat32 || !from.is_static() || !from.is_contiguous() ||
        !(half.sizes == graph_.MetaOf(gate).sizes) ||
        (from.rank() == 4 && graph_.value(x).producer.valid())) {
      return false;
    }
    const int64_t along = *dim;
    editor_.SetTarget(id, glu_);
    editor_.SetArguments(id, {Argument(x), Argument(along)});
    for (const NodeId fused : {sigmoid, split}) {
      handles_.Fuse(editor_, id, fused);
      editor_.EraseNode(fused);
    }
    FuseCasts(id, x, along);
    return true;
  }

  // Reads and writes halves if the operand and the result of the node are converted ones.
  void FuseCasts(NodeId id, ValueId x, int64_t dim) {
    const std::optional<ValueId> source = ConvertedFloat(graph_, x);
    const ValueId result = graph_.ResultOf(id);
    const std::optional<NodeId> sole = graph_.SoleUser(result);
    if (!source.has_value() || !graph_.HasOneUse(x) || !sole.has_value()) return;
    const NodeId user = *sole;
    if (graph_.node(user).outputs.size() != 1) return;
    const ValueId converted = graph_.ResultOf(user);
    const TensorMeta& to = *graph_.value(converted).tensor();
    if (ConvertedFloat(graph_, converted) != std::optional<ValueId>(result) ||
        to.dtype != graph_.MetaOf(*source).dtype || !graph_.MetaOf(*source).is_contiguous() ||
        !to.is_contiguous()) {
      return;
    }
    const NodeId widened = graph_.value(x).producer;
    editor_.SetTarget(user, glu_);
    editor_.SetArguments(user, {Argument(*source), Argument(dim)});
    for (const NodeId fused : {id, widened}) {
      handles_.Fuse(editor_, user, fused);
      editor_.EraseNode(fused);
    }
  }

  FusedHandles& handles_;
  const OpOverload *split_, *glu_;
};

}  // namespace

exir::Pass FuseGlu(FusedHandles& handles) {
  return {"fuse_glu", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return GluFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
