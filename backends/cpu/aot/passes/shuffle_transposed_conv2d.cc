#include "backends/cpu/aot/passes/shuffle_transposed_conv2d.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/phase_convolution.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::PhaseConvolution;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

// Filters that a vector of the kernel computes at once.
constexpr int64_t kVector = 16;

int64_t Vectors(int64_t filters) { return (filters + kVector - 1) / kVector; }

// Whether the convolution has fewer multiply-adds, counted in vectors, than a convolution per phase.
bool IsFaster(const PhaseConvolution& phases) {
  int64_t work = Vectors(phases.filters * phases.phases()),
          separate = Vectors(phases.filters) * phases.phases();
  for (const PhaseConvolution::Axis& axis : phases.axes) {
    work *= axis.new_kernel;
    separate *= (axis.kernel + phases.stride - 1) / phases.stride;  // taps of a phase, at most
  }
  return work < separate;
}

class TransposedConv2dShuffling : NodeLowering {
 public:
  explicit TransposedConv2dShuffling(exir::ExportedProgram& program)
      : NodeLowering(program),
        constants_(program, editor_),
        convolution_(program.ops->Find("aten.convolution.default")),
        shuffle_(program.ops->ToEdge(program.ops->Find("aten.pixel_shuffle.default"))) {}

  absl::StatusOr<bool> Run() {
    if (convolution_ == nullptr || shuffle_ == nullptr) return false;
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.target->aten() != convolution_) return false;
    const TensorMeta* images = Tensor(node.argument("input"));
    const std::optional<ConstantView> weight = views_.Find(node.argument("weight"));
    if (images == nullptr || images->dtype != DType::kFloat32 || images->rank() != 4 ||
        !weight.has_value() || weight->tensor->dtype() != DType::kFloat32) {
      return false;
    }
    Sizes sizes;
    for (const SymInt& size : weight->sizes) sizes.push_back(size.AsInt().value_or(0));
    const std::optional<PhaseConvolution> phases = PhaseConvolution::Of(node, sizes);
    if (!phases.has_value() || phases->stride == 1 || phases->axes[0].slices ||
        phases->axes[1].slices || !IsFaster(*phases) || !weight->IsFinite()) {
      return false;
    }
    const std::optional<std::vector<float>> elements = Floats(*weight);
    if (!elements.has_value()) return false;
    Argument bias = node.argument("bias");
    if (!bias.is_none()) {
      const std::optional<ConstantView> view = views_.Find(bias);
      const std::optional<std::vector<float>> numbers =
          view.has_value() ? Floats(*view) : std::nullopt;
      if (!numbers.has_value() || numbers->size() != static_cast<size_t>(phases->filters)) {
        return false;
      }
      ABSL_ASSIGN_OR_RETURN(bias, constants_.Floats(*view, "phases", phases->Bias(*numbers)));
    }
    ABSL_ASSIGN_OR_RETURN(
        const ValueId phase_weight,
        constants_.Floats(*weight, "phases", phases->Weight(*elements), phases->weight_sizes()));
    Rewrite(id, *phases, phase_weight, std::move(bias));
    return true;
  }

  static std::optional<std::vector<float>> Floats(const ConstantView& view) {
    const std::optional<std::vector<double>> elements = view.Elements();
    if (!elements.has_value()) return std::nullopt;
    return std::vector<float>(elements->begin(), elements->end());
  }

  // Makes the node the shuffle of a convolution.
  void Rewrite(NodeId id, const PhaseConvolution& phases, ValueId weight, Argument bias) {
    const Node& node = graph_.node(id);
    const TensorMeta& images = *Tensor(node.argument("input"));
    const auto& [y, x] = phases.axes;
    const auto rows = [](const SymInt& size, const PhaseConvolution::Axis& axis) {
      return size + (2 * axis.new_padding - axis.new_kernel + 1);
    };
    TensorMeta type = TensorMeta::Contiguous(
        DType::kFloat32, {images.sizes[0], SymInt(phases.filters * phases.phases()),
                          rows(images.sizes[2], y), rows(images.sizes[3], x)});
    type.device = images.device;
    const auto pair = [](int64_t first, int64_t second) { return Argument::List{first, second}; };
    exir::GraphEditor::NewNode convolution{
        .name = node.name + "_phases",
        .target = node.target,
        .arguments = {node.argument("input"), Argument(weight), std::move(bias), pair(1, 1),
                      pair(y.new_padding, x.new_padding), pair(1, 1), Argument(false), pair(0, 0),
                      Argument(int64_t{1})},
        .provenance = node.provenance};
    const ValueId result = editor_.InsertOp(id, std::move(convolution), std::move(type));
    editor_.SetTarget(id, shuffle_);
    editor_.SetArguments(id, {Argument(result), Argument(phases.stride)});
  }

  PackedConstants constants_;
  const exir::OpOverload *convolution_, *shuffle_;
};

}  // namespace

exir::Pass ShuffleTransposedConv2d() {
  return {"shuffle_transposed_conv2d", [](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return TransposedConv2dShuffling(program).Run();
          }};
}

}  // namespace belay::cpu
