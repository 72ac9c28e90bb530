#include "backends/cpu/aot/passes/lower_batch_norm.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

constexpr double kMaxDeviations = 16;

class BatchNormLowering : NodeLowering {
 public:
  explicit BatchNormLowering(exir::ExportedProgram& program)
      : NodeLowering(program),
        constants_(program, editor_),
        batch_norm_(program.ops->Find("aten._native_batch_norm_legit_no_training.default")),
        mul_(program.ops->ToEdge(program.ops->Find("aten.mul.Tensor"))),
        add_(program.ops->ToEdge(program.ops->Find("aten.add.Tensor"))) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // The batch norm as factor * x + shift, per channel.
  struct Terms {
    ConstantView named_after;
    std::vector<float> factor, shift;
  };

  // Returns the elements of a constant of `count` elements, or `count` times `missing` for None.
  // nullopt for other arguments.
  std::optional<std::vector<double>> Vector(const Argument& argument, size_t count,
                                            double missing) const {
    if (argument.is_none()) return std::vector<double>(count, missing);
    const std::optional<ConstantView> view = views_.Find(argument);
    std::optional<std::vector<double>> elements =
        view.has_value() ? view->Elements() : std::nullopt;
    if (!elements.has_value() || elements->size() != count) return std::nullopt;
    return elements;
  }

  std::optional<Terms> TermsOf(const Node& node, size_t channels) const {
    std::optional<ConstantView> mean_view = views_.Find(node.argument("running_mean"));
    const std::optional<double> eps = views_.Number(node.argument("eps"));
    const auto weight = Vector(node.argument("weight"), channels, 1),
               bias = Vector(node.argument("bias"), channels, 0),
               mean = Vector(node.argument("running_mean"), channels, 0),
               var = Vector(node.argument("running_var"), channels, 1);
    if (!mean_view.has_value() || !eps.has_value() || !weight.has_value() || !bias.has_value() ||
        !mean.has_value() || !var.has_value()) {
      return std::nullopt;
    }
    Terms terms = {*std::move(mean_view), {}, {}};
    for (size_t c = 0; c < channels; ++c) {
      const double deviation = std::sqrt((*var)[c] + *eps), factor = (*weight)[c] / deviation;
      terms.factor.push_back(static_cast<float>(factor));
      terms.shift.push_back(static_cast<float>((*bias)[c] - (*mean)[c] * factor));
      if (!(std::abs((*mean)[c]) <= kMaxDeviations * deviation) ||
          !std::isfinite(terms.factor.back()) || !std::isfinite(terms.shift.back())) {
        return std::nullopt;
      }
    }
    return terms;
  }

  // batch_norm(x, scale, shift, mean, var, eps)  ->  x * factor + (shift - mean * factor)
  // with factor = scale / sqrt(var + eps) per channel
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.target->aten() != batch_norm_) return false;
    const ValueId* input = node.value_argument("input");
    const TensorMeta* meta = input == nullptr ? nullptr : graph_.value(*input).tensor();
    const ValueId result = node.outputs[0].values[0];
    const std::optional<NodeId> user = graph_.SoleUser(result);
    if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() < 2 ||
        !user.has_value() || !graph_.node(*user).target->has_trait(exir::kPointwise)) {
      return false;
    }
    if (!UsesOnlyFirstResult(id)) return false;
    const std::optional<int64_t> channels = meta->sizes[1].AsInt();
    if (!channels.has_value()) return false;
    const std::optional<Terms> terms = TermsOf(node, static_cast<size_t>(*channels));
    if (!terms.has_value()) return false;
    Sizes sizes(static_cast<size_t>(meta->rank() - 1), 1);
    sizes[0] = *channels;
    ABSL_ASSIGN_OR_RETURN(const ValueId factor,
                          constants_.Floats(terms->named_after, "factor", terms->factor, sizes));
    ABSL_ASSIGN_OR_RETURN(const ValueId shift,
                          constants_.Floats(terms->named_after, "shift", terms->shift, sizes));
    const exir::ValueType type = graph_.value(result).type;
    exir::GraphEditor::NewNode scaled{.name = absl::StrCat(node.name, "_scaled"),
                                      .target = mul_,
                                      .arguments = {Argument(*input), Argument(factor)},
                                      .provenance = node.provenance,
                                      .debug_handle = node.debug_handle};
    exir::GraphEditor::NewNode shifted{.name = node.name,
                                       .target = add_,
                                       .arguments = {},
                                       .provenance = node.provenance,
                                       .debug_handle = node.debug_handle};
    const ValueId product = editor_.InsertOp(id, std::move(scaled), type);
    shifted.arguments = {Argument(product), Argument(shift), Argument(int64_t{1})};
    editor_.ReplaceAllUses(result, editor_.InsertOp(id, std::move(shifted), type));
    editor_.EraseNode(id);
    return true;
  }

  PackedConstants constants_;
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
