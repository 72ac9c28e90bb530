#include "backends/cpu/aot/passes/lower_batch_norm.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/batch_norm_terms.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

class BatchNormLowering : NodeLowering {
 public:
  explicit BatchNormLowering(exir::ExportedProgram& program)
      : NodeLowering(program),
        constants_(program, editor_),
        casts_(program, editor_),
        batch_norm_(program.ops->Find("aten._native_batch_norm_legit_no_training.default")),
        mul_(program.ops->ToEdge(program.ops->Find("aten.mul.Tensor"))),
        add_(program.ops->ToEdge(program.ops->Find("aten.add.Tensor"))) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // batch_norm(x, scale, shift, mean, var, eps)  ->  x * factor + (shift - mean * factor)
  // with factor = scale / sqrt(var + eps) per channel; of bfloat16, between conversions
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.target->aten() != batch_norm_) return false;
    const ValueId* input = node.value_argument("input");
    const TensorMeta* meta = input == nullptr ? nullptr : graph_.value(*input).tensor();
    const ValueId result = node.outputs[0].values[0];
    const std::optional<NodeId> user = graph_.SoleUser(result);
    constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16};
    if (meta == nullptr || !kTypes.contains(meta->dtype) || meta->rank() < 2 || !user.has_value() ||
        !graph_.node(*user).target->has_trait(exir::kPointwise)) {
      return false;
    }
    if (!UsesOnlyFirstResult(id)) return false;
    const std::optional<int64_t> channels = meta->sizes[1].AsInt();
    if (!channels.has_value()) return false;
    const std::optional<BatchNormTerms> terms =
        FindBatchNormTerms(node, static_cast<size_t>(*channels), views_);
    if (!terms.has_value()) return false;
    TensorMeta wide = graph_.MetaOf(result);
    const bool converts = wide.dtype == DType::kBFloat16;
    ValueId source = *input;
    if (converts) {
      source = casts_.Insert(source, DType::kFloat32, id, id, "wide");
      if (graph_.MetaOf(source).strides != wide.strides) {  // not a memory format
        editor_.EraseNode(graph_.value(source).producer);
        return false;
      }
      wide.dtype = DType::kFloat32;
    }
    const std::vector<float> factors(terms->factor.begin(), terms->factor.end());
    const std::vector<float> shifts(terms->shift.begin(), terms->shift.end());
    Sizes sizes(static_cast<size_t>(wide.rank() - 1), 1);
    sizes[0] = *channels;
    ABSL_ASSIGN_OR_RETURN(const ValueId factor,
                          constants_.Floats(terms->named_after, "factor", factors, sizes));
    ABSL_ASSIGN_OR_RETURN(const ValueId shift,
                          constants_.Floats(terms->named_after, "shift", shifts, sizes));
    const Node& origin = graph_.node(id);  // insertions may have moved it
    exir::GraphEditor::NewNode scaled{.name = absl::StrCat(origin.name, "_scaled"),
                                      .target = mul_,
                                      .arguments = {Argument(source), Argument(factor)},
                                      .provenance = origin.provenance,
                                      .debug_handle = origin.debug_handle};
    exir::GraphEditor::NewNode shifted{.name = origin.name,
                                       .target = add_,
                                       .arguments = {},
                                       .provenance = origin.provenance,
                                       .debug_handle = origin.debug_handle};
    const ValueId product = editor_.InsertOp(id, std::move(scaled), wide);
    shifted.arguments = {Argument(product), Argument(shift), Argument(int64_t{1})};
    ValueId sum = editor_.InsertOp(id, std::move(shifted), wide);
    if (converts) sum = casts_.Insert(sum, DType::kBFloat16, id, id, "narrow");
    editor_.ReplaceAllUses(result, sum);
    editor_.EraseNode(id);
    return true;
  }

  PackedConstants constants_;
  FloatCasts casts_;
  const exir::OpOverload* batch_norm_;
  const exir::OpOverload *mul_, *add_;
};

}  // namespace

exir::Pass LowerBatchNorm() {
  return {"lower_batch_norm", [](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return BatchNormLowering(program).Run();
          }};
}

}  // namespace belay::cpu
