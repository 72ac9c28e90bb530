#include "backends/xnnpack/aot/static_quantization.h"

#include <string>
#include <string_view>

#include "backends/xnnpack/aot/composite_form.h"
#include "backends/xnnpack/node_rules.h"

namespace belay::xnnpack {
namespace {

using Kind = exir::QuantizationPattern::Kind;

struct Row {
  std::string_view op;
  Kind kind;
  bool bounds = false;
};
constexpr Row kRows[] = {
    {"aten.addmm.default", Kind::kAnchor},
    {"aten.mm.default", Kind::kAnchor},
    {"aten.convolution.default", Kind::kAnchor},
    {"aten.add.Tensor", Kind::kSum},
    {"aten.sub.Tensor", Kind::kSum},
    {"aten.mul.Tensor", Kind::kSum},
    // After anything else than an anchor or a sum, a clamp has the parameters of its operand.
    {"aten.relu.default", Kind::kMovement, true},
    {"aten.clamp.default", Kind::kMovement, true},
    {"aten.hardtanh.default", Kind::kMovement, true},
    {"aten.max_pool2d_with_indices.default", Kind::kMovement},
    // PT2E's XNNPACKQuantizer gives means the parameters of the operand, too.
    {"aten.mean.dim", Kind::kMovement},
    {"aten._adaptive_avg_pool2d.default", Kind::kMovement},
    {"aten.cat.default", Kind::kMovement},
    {"aten.permute_copy.default", Kind::kMovement},
    {"aten.transpose_copy.int", Kind::kMovement},
    {"aten.view_copy.default", Kind::kMovement},
    {"aten.unsqueeze_copy.default", Kind::kMovement},
    {"aten.squeeze_copy.dim", Kind::kMovement},
    {"aten.squeeze_copy.dims", Kind::kMovement},
    {"aten.slice_copy.Tensor", Kind::kMovement},
};

}  // namespace

exir::QuantizationPatterns StaticQuantizationPatterns(Target target) {
  exir::QuantizationPatterns result;
  result.quantizes_results = true;
  result.integer_biases = true;
  for (const Row& row : kRows) {
    const auto accepts = [target](const exir::ExportedProgram& program, exir::NodeId node) {
      if (CompositeUserOf(program, node).has_value()) return false;
      const absl::StatusOr<Operation> operation = ReadOperation(program, node, target);
      return operation.ok() && FindNodeRule(operation->type)->qint8;
    };
    result.patterns.push_back({std::string(row.op), row.kind, row.bounds, accepts});
  }
  return result;
}

}  // namespace belay::xnnpack
