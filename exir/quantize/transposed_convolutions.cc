#include "exir/quantize/transposed_convolutions.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/ir/constant.h"
#include "exir/ir/float_elements.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "exir/passes/phase_convolution.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// A quantized convolution is faster than a transposed one of float32 by more than this factor.
constexpr int64_t kMostWork = 3;

// The operators to which aten.pixel_shuffle is decomposed.
Argument PixelShuffle(OpBuilder& b, const Argument& x, int64_t channels, int64_t factor) {
  const SymInt n = b.size(x, 0), h = b.size(x, 2), w = b.size(x, 3);
  const Argument parts = b.Call("aten.view_copy.default", {x, {n, channels, factor, factor, h, w}});
  const Argument moved = b.Call("aten.permute_copy.default", {parts, {0, 1, 4, 2, 5, 3}});
  return b.Call("aten.view_copy.default", {moved, {n, channels, h * factor, w * factor}});
}

}  // namespace

absl::Status WriteTransposedConvolutions(ExportedProgram& program,
                                         const absl::btree_set<std::string>& changing,
                                         absl::FunctionRef<bool(const Node&)> selects) {
  GraphEditor editor(program.top());
  const Graph& graph = program.top();
  ConstantInputs constants(program, editor, changing);
  OpBuilder b(program, editor);
  for (NodeId id : graph.NodeList()) {
    const Node node = graph.node(id);  // inserting nodes invalidates references
    const ValueId* weight = node.value_argument("weight");
    const ConstantTensor* tensor = weight == nullptr ? nullptr : constants.Find(*weight);
    const std::optional<PhaseConvolution> phases =
        tensor == nullptr ? std::nullopt : PhaseConvolution::Of(node, tensor->sizes());
    if (!phases.has_value() || tensor->dtype() != DType::kFloat32 || !graph.HasOneUse(*weight) ||
        phases->work() > kMostWork * phases->transposed_work() || !selects(node)) {
      continue;
    }
    Argument bias = node.argument("bias");
    if (!bias.is_none()) {
      const ValueId* value = bias.get_if<ValueId>();
      const ConstantTensor* numbers = value == nullptr ? nullptr : constants.Find(*value);
      if (numbers == nullptr || numbers->dtype() != DType::kFloat32) continue;
      ABSL_ASSIGN_OR_RETURN(const std::vector<float> elements, FloatElements(*numbers));
      std::vector<float> repeated = phases->Bias(elements);
      const Sizes sizes = {static_cast<int64_t>(repeated.size())};
      ABSL_ASSIGN_OR_RETURN(ConstantTensor added, FloatConstant(sizes, std::move(repeated)));
      bias = Argument(constants.AddDerived(*value, "_phases", std::move(added)));
    }
    ABSL_ASSIGN_OR_RETURN(const std::vector<float> elements, FloatElements(*tensor));
    ABSL_ASSIGN_OR_RETURN(ConstantTensor filters,
                          FloatConstant(phases->weight_sizes(), phases->Weight(elements)));
    const ValueId before = *weight;
    const ValueId added = constants.AddDerived(before, "_phases", std::move(filters));
    const auto& [y, x] = phases->axes;
    const std::vector<int64_t> one = {1, 1};
    b.MoveTo(id);
    Argument result =
        b.Call("aten.convolution.default", {node.argument("input"), added, bias, one,
                                            std::vector<int64_t>{y.new_padding, x.new_padding}, one,
                                            false, std::vector<int64_t>{0, 0}, 1});
    if (phases->stride > 1) result = PixelShuffle(b, result, phases->filters, phases->stride);
    const ValueId old = graph.ResultOf(id);
    for (int d = 0; d < 2; ++d) {
      const PhaseConvolution::Axis& axis = phases->axes[d];
      if (!axis.slices) continue;
      const SymInt size = graph.value(old).tensor()->sizes[static_cast<size_t>(2 + d)];
      result = b.Call("aten.slice_copy.Tensor", {result, 2 + d, axis.start, size + axis.start, 1});
    }
    ABSL_RETURN_IF_ERROR(b.status());
    editor.ReplaceAllUses(old, result);
    editor.EraseNode(id);
    constants.Drop(before);
  }
  constants.Finish();
  return absl::OkStatus();
}

}  // namespace belay::exir
