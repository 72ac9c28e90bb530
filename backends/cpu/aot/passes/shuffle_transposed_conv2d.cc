#include "backends/cpu/aot/passes/shuffle_transposed_conv2d.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/aot/passes/pair_argument.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

// Filters that a vector of the kernel computes at once.
constexpr int64_t kVector = 16;
// Phases of a wider stride would be mostly zeros.
constexpr int64_t kMostStride = 8;

int64_t Vectors(int64_t filters) { return (filters + kVector - 1) / kVector; }

// The window of one dimension: kernel, stride and padding of the transposed convolution.
struct Axis {
  int64_t kernel, stride, padding;
  // Of the convolution.
  int64_t new_padding() const { return (stride - 1 + padding) / stride; }
  int64_t new_kernel() const { return 2 * new_padding() + 1; }
  int64_t taps() const { return (kernel + stride - 1) / stride; }  // of a phase, at most
  // Whether the result is `stride` times as large as the image, and the windows are symmetric: the
  // first tap of phase 0, ceil((padding - kernel + 1) / stride), is -new_padding().
  bool IsSymmetric(int64_t output_padding) const {
    const int64_t before = kernel - 1 - padding;
    return kernel + output_padding - 2 * padding == stride && before >= 0 &&
           before / stride == new_padding();
  }
  // The tap of phase r at position j of the new window, or nullopt.
  std::optional<int64_t> Tap(int64_t r, int64_t j) const {
    const int64_t t = r + padding - stride * (j - new_padding());
    return t >= 0 && t < kernel ? std::optional(t) : std::nullopt;
  }
};

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
  // Returns the number of an argument that is one integer, or two equal ones.
  std::optional<int64_t> Square(const Argument& argument, int64_t least) const {
    const std::optional<Argument::List> pair = PairOf(argument, least);
    if (!pair.has_value() || (*pair)[0] != (*pair)[1]) return std::nullopt;
    return *(*pair)[0].get_if<int64_t>();
  }

  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.target->aten() != convolution_ || node.argument("transposed") != Argument(true) ||
        node.argument("groups") != Argument(int64_t{1})) {
      return false;
    }
    const TensorMeta* images = Tensor(node.argument("input"));
    const std::optional<ConstantView> weight = views_.Find(node.argument("weight"));
    const std::optional<int64_t> stride = Square(node.argument("stride"), 2),
                                 padding = Square(node.argument("padding"), 0),
                                 dilation = Square(node.argument("dilation"), 1),
                                 more = Square(node.argument("output_padding"), 0);
    if (images == nullptr || images->dtype != DType::kFloat32 || images->rank() != 4 ||
        !weight.has_value() || weight->rank() != 4 || weight->tensor->dtype() != DType::kFloat32 ||
        !stride.has_value() || !padding.has_value() || dilation != 1 || !more.has_value() ||
        *stride > kMostStride || !weight->IsFinite()) {
      return false;
    }
    int64_t sizes[4];
    for (int d = 0; d < 4; ++d) {
      const std::optional<int64_t> size = weight->sizes[static_cast<size_t>(d)].AsInt();
      if (size.value_or(0) <= 0) return false;
      sizes[d] = *size;
    }
    const auto [channels, filters, height, width] = sizes;
    const Axis axis = {height, *stride, *padding};
    const int64_t phases = *stride * *stride;
    if (height != width || !axis.IsSymmetric(*more) ||
        Vectors(filters * phases) * axis.new_kernel() * axis.new_kernel() >=
            Vectors(filters) * phases * axis.taps() * axis.taps()) {
      return false;
    }
    const std::optional<std::vector<double>> elements = weight->Elements();
    if (!elements.has_value()) return false;
    Argument bias = node.argument("bias");
    if (!bias.is_none()) {
      const std::optional<ConstantView> view = views_.Find(bias);
      const std::optional<std::vector<double>> numbers =
          view.has_value() ? view->Elements() : std::nullopt;
      if (!numbers.has_value() || numbers->size() != static_cast<size_t>(filters)) return false;
      std::vector<float> repeated;
      for (double number : *numbers) {
        repeated.insert(repeated.end(), static_cast<size_t>(phases), static_cast<float>(number));
      }
      ABSL_ASSIGN_OR_RETURN(bias, constants_.Floats(*view, "phases", repeated));
    }
    const int64_t size = axis.new_kernel();
    ABSL_ASSIGN_OR_RETURN(
        const ValueId phase_weight,
        constants_.Floats(*weight, "phases", PhaseWeights(axis, channels, filters, *elements),
                          {filters * phases, channels, size, size}));
    Rewrite(id, axis, filters * phases, phase_weight, std::move(bias));
    return true;
  }

  // Returns W' of shuffle_transposed_conv2d.h.
  static std::vector<float> PhaseWeights(const Axis& axis, int64_t channels, int64_t filters,
                                         const std::vector<double>& elements) {
    const int64_t s = axis.stride, k = axis.kernel, size = axis.new_kernel();
    std::vector<float> weights;
    for (int64_t o = 0; o < filters * s * s; ++o) {
      const int64_t f = o / (s * s), r_y = o / s % s, r_x = o % s;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t j_y = 0; j_y < size; ++j_y) {
          for (int64_t j_x = 0; j_x < size; ++j_x) {
            const std::optional<int64_t> y = axis.Tap(r_y, j_y), x = axis.Tap(r_x, j_x);
            const bool inside = y.has_value() && x.has_value();
            weights.push_back(
                inside ? static_cast<float>(
                             elements[static_cast<size_t>(((c * filters + f) * k + *y) * k + *x)])
                       : 0.0F);
          }
        }
      }
    }
    return weights;
  }

  // Makes the node the shuffle of a convolution with `outputs` filters.
  void Rewrite(NodeId id, const Axis& axis, int64_t outputs, ValueId weight, Argument bias) {
    const Node& node = graph_.node(id);
    const TensorMeta& images = *Tensor(node.argument("input"));
    TensorMeta type = TensorMeta::Contiguous(
        DType::kFloat32, {images.sizes[0], SymInt(outputs), images.sizes[2], images.sizes[3]});
    type.device = images.device;
    const auto pair = [](int64_t number) { return Argument::List{number, number}; };
    exir::GraphEditor::NewNode phases{
        .name = node.name + "_phases",
        .target = node.target,
        .arguments = {node.argument("input"), Argument(weight), std::move(bias), pair(1),
                      pair(axis.new_padding()), pair(1), Argument(false), pair(0),
                      Argument(int64_t{1})},
        .provenance = node.provenance};
    const ValueId result = editor_.InsertOp(id, std::move(phases), std::move(type));
    editor_.SetTarget(id, shuffle_);
    editor_.SetArguments(id, {Argument(result), Argument(axis.stride)});
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
