#include "backends/cpu/aot/passes/lower_conv2d.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/bfloat16_forms.h"
#include "backends/cpu/aot/passes/epilogue_arguments.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/aot/passes/pair_argument.h"
#include "backends/cpu/aot/passes/quantized_arguments.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "backends/cpu/quantized_calls.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

// Selects winograd_conv2d if its expected cost is below this fraction of conv2d's.
constexpr double kWorthwhile = 0.75;
// Cost of reading a weight or transforming an element, in multiply-adds.
constexpr double kElementWork = 8;

// Cost of winograd_conv2d relative to conv2d, per pair of input and output channel. `planes` is the
// depth of the window, whose planes share the transforms.
double WinogradShare(WinogradTile tile, double images, const Sizes& out, double channels,
                     double out_channels, double planes) {
  const WinogradTiles of_image(tile, out[0], out[1]);
  const auto products = static_cast<double>(WinogradProducts(tile));
  const double work = products * WinogradGemmWork(static_cast<int64_t>(out_channels));
  const double tiles = images * static_cast<double>(of_image.down * of_image.across);
  const double results = images * static_cast<double>(out[0] * out[1]);
  const double transforms =
      tiles * products * kElementWork * (1 / channels + 1 / out_channels) / planes;
  return (work * (tiles + kElementWork) + transforms) / (9 * (results + kElementWork));
}

class Conv2dLowering : NodeLowering {
 public:
  Conv2dLowering(exir::ExportedProgram& program, PassDiagnostics* diagnostics, Winograd winograd)
      : NodeLowering(program, diagnostics),
        winograd_(winograd),
        constants_(program, editor_),
        convolution_(program.ops->Find("aten.convolution.default")),
        pad_(program.ops->Find("aten.constant_pad_nd.default")) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // convolution(x, W, b), W and b constant               ->  conv2d(x, packed W, b)
  //   depthwise, bfloat16, cheaper by Winograd          ->  depthwise_, bfloat16_, winograd_conv2d
  //   depthwise of bfloat16                             ->  bfloat16_depthwise_conv2d
  //   grouped, transposed or over volumes               ->  convolution(x, packed W, b)
  //     of bfloat16                                     ->  bfloat16_convolution(x, packed W, b)
  //     with dequantize(W)                              ->  aten.convolution(x, float32 W, b), lowered
  //                                                         by the next run of the pass
  // convolution(dequantize(q), dequantize(W), b)         ->  quantized_conv2d(q, packed W, b)
  //   depthwise, grouped          ->  quantized_depthwise_conv2d, quantized_grouped_conv2d
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.target->aten() != convolution_) return false;
    const ValueId* input = node.value_argument("input");
    const TensorMeta* images = input == nullptr ? nullptr : graph_.value(*input).tensor();
    std::optional<ConstantView> weight = views_.Find(node.argument("weight"));
    const std::optional<QuantizedConstant> quantized =
        weight.has_value() ? std::nullopt : forms_.Constant(node.argument("weight"));
    if (quantized.has_value()) weight = quantized->elements;
    // bfloat16 convolutions without a kernel are widened later (widen_products.h).
    const bool narrow = images != nullptr && images->dtype == DType::kBFloat16;
    if (narrow && !HasBFloat16Kernel(node, weight)) return false;
    const int64_t* groups = node.argument("groups").get_if<int64_t>();
    const bool* transposed = node.argument("transposed").get_if<bool>();
    const bool general = groups != nullptr && transposed != nullptr &&
                         IsGeneral(images, weight, *groups, *transposed);
    if (general && !quantized.has_value()) {
      return LowerGeneral(id, *images, *weight, *groups, *transposed);
    }
    const bool grouped = general && IsGroupedBytes(node, *images, *groups, *transposed);
    if (general && !grouped) {
      if (!weight->ToTensor().has_value()) return Leave(id, "its quantized weight is a view");
      ABSL_ASSIGN_OR_RETURN(const ValueId floats,
                            constants_.Dequantized(*weight, quantized->scales, quantized->axis));
      editor_.SetArgument(id, static_cast<size_t>(*node.target->ArgumentIndex("weight")),
                          Argument(floats));
      return true;
    }
    if (images == nullptr || (images->dtype != DType::kFloat32 && !narrow) || images->rank() != 4) {
      return Leave(id, "only float32 images are supported with packed weights");
    }
    if (!weight.has_value() || weight->rank() != 4 || !weight->ToTensor().has_value()) {
      return Leave(id, "its weight is not constant, so it is not packed");
    }
    if (groups == nullptr || transposed == nullptr || *transposed) {
      return Leave(id, "it is transposed");
    }
    const std::optional<Sizes> filters = FilterSizes(*weight);
    if (!filters.has_value()) return Leave(id, "its weight has a size of 0, or above 2^24");
    if (!weight->IsFinite()) return Leave(id, "its weight has an infinite or NaN element");
    const Sizes& sizes = *filters;
    const bool depthwise = *groups > 1 && !grouped;
    if (depthwise && (*groups != sizes[0] || sizes[1] != 1)) {
      return Leave(id, "its groups have more than one channel, or several filters");
    }
    const std::optional<int64_t> channels = images->sizes[1].AsInt();
    if (channels != sizes[1] * *groups) return Leave(id, "its number of channels is not known");
    const std::optional<Argument::List> stride = PairOf(node.argument("stride"), 1);
    const std::optional<Argument::List> padding = PairOf(node.argument("padding"), 0);
    const std::optional<Argument::List> dilation = PairOf(node.argument("dilation"), 1);
    if (!stride.has_value() || !padding.has_value() || !dilation.has_value()) {
      return Leave(id, "its stride, padding or dilation is not a pair of integers up to 2^24");
    }
    Argument bias = node.argument("bias");
    Images source = Unpadded({*input, *padding}, 0);

    std::vector<Argument> arguments;
    std::optional<QuantizedForm> form;
    if (quantized.has_value()) {
      form = forms_.DequantizedBytes(source.value);
      const int64_t joined = grouped ? QuantizedJoinedGroups(*groups, sizes[0] / *groups) : 1;
      const bool many = !CheckTerms(CheckedInt(sizes[1]) * joined * sizes[2] * sizes[3]).ok();
      if (!form.has_value()) {
        return Leave(id, "its weight is quantized, but no quantized kernel supports its images");
      }
      if (quantized->axis.value_or(0) != 0) {
        return Leave(id, "its weight has scales that are not per filter");
      }
      if (many) return Leave(id, "its sums have more terms than fit 32 bits");
      if (!quantized->HasUsualProducts(form->scale)) {
        return Leave(id, "the product of its scales is above 2^100, or below 2^-100");
      }
      source = Unpadded({form->input, source.padding}, form->zero_point);
      form->input = source.value;
    } else if (narrow) {
      if (!bias.is_none()) {
        ABSL_ASSIGN_OR_RETURN(bias, constants_.Vector(*views_.Find(bias)));
      }
    } else if (weight->tensor->dtype() != DType::kFloat32) {
      return Leave(id, "its weight is not float32");
    }
    const Window window = WindowOf(*weight, *stride, *dilation);
    std::optional<WinogradTile> tile;
    if (!depthwise && !narrow && !quantized.has_value() && IsForWinograd(window)) {
      tile = WinogradTileFor(id, *weight);
    }
    const absl::StatusOr<ValueId> packed = tile.has_value()
                                               ? constants_.WinogradFilters(*weight, *tile)
                                           : depthwise ? constants_.DepthwiseFilters(*weight)
                                           : grouped ? constants_.QuantizedGroups(*weight, *groups)
                                                     : constants_.Filters(*weight, window);
    ABSL_RETURN_IF_ERROR(packed.status());
    if (quantized.has_value()) {
      ABSL_ASSIGN_OR_RETURN(arguments, QuantizedOperands(*form, *quantized, *packed,
                                                         /*channels=*/0, bias, forms_, constants_));
    } else {
      arguments = {source.value, *packed, bias, Argument()};
    }
    if (!depthwise) arguments.emplace_back(sizes[0]);
    if (grouped) arguments.emplace_back(*groups);
    arguments.emplace_back(Argument::List{sizes[2], sizes[3]});
    for (const auto& list : {*stride, source.padding, *dilation}) arguments.emplace_back(list);
    if (quantized.has_value()) {
      AppendEmptyEpilogue(arguments, *form);
    } else {
      AppendEmptyEpilogue(arguments);
    }
    std::string op = depthwise ? "depthwise_conv2d" : grouped ? "grouped_conv2d" : "conv2d";
    if (quantized.has_value()) op = "quantized_" + op;
    if (narrow) op = "bfloat16_" + op;
    if (tile.has_value()) op = "winograd_" + op;
    Say(id, absl::StrCat(op, ", filters of ", absl::StrJoin(sizes, " x "), " packed as ",
                         quantized.has_value()  ? "int8"
                         : narrow && !depthwise ? "bfloat16"
                                                : "float32"));
    editor_.SetTarget(id, CpuOp(op));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Returns the sizes of a static weight; nullopt if one is 0 or above 2^24.
  static std::optional<Sizes> FilterSizes(const ConstantView& weight) {
    const std::optional<Sizes> sizes = exir::AsInts(weight.sizes);
    const bool valid = sizes.has_value() && absl::c_all_of(*sizes, [](int64_t size) {
                         return size >= 1 && size <= int64_t{1} << 24;
                       });
    return valid ? sizes : std::nullopt;
  }

  // Whether belay_cpu::convolution computes it: grouped but not depthwise, transposed, or over
  // volumes.
  static bool IsGeneral(const TensorMeta* images, const std::optional<ConstantView>& weight,
                        int64_t groups, bool transposed) {
    constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16};
    if (images == nullptr || !kTypes.contains(images->dtype) || !weight.has_value() ||
        weight->rank() != images->rank() || groups < 1 ||
        (weight->tensor->dtype() != images->dtype && weight->tensor->dtype() != DType::kInt8)) {
      return false;
    }
    if (images->rank() == 5) return true;
    const bool depthwise =
        groups > 1 && weight->sizes[0] == SymInt(groups) && weight->sizes[1] == SymInt(1);
    return images->rank() == 4 && (transposed || (groups > 1 && !depthwise));
  }

  // Whether quantized_grouped_conv2d computes a convolution with an int8 weight. Others of
  // IsGeneral have their weight dequantized.
  bool IsGroupedBytes(const Node& node, const TensorMeta& images, int64_t groups,
                      bool transposed) const {
    const std::optional<Argument::List> padding = PairOf(node.argument("padding"), 0);
    return !transposed && groups > 1 && images.rank() == 4 && padding.has_value() &&
           images.sizes[1].AsInt().value_or(0) >= kFewChannels &&
           forms_.DequantizedBytes(Unpadded({*node.value_argument("input"), *padding}, 0).value)
               .has_value();
  }

  absl::StatusOr<bool> LowerGeneral(NodeId id, const TensorMeta& images, const ConstantView& weight,
                                    int64_t groups, bool transposed) {
    const Node& node = graph_.node(id);
    if (!weight.ToTensor().has_value()) {
      return Leave(id, "its weight is not constant, so it is not packed");
    }
    const int64_t most = MaxWindowNumber(transposed);
    const std::optional<Sizes> filters = FilterSizes(weight);
    if (!filters.has_value()) return Leave(id, "its weight has a size of 0, or above 2^24");
    if (!weight.IsFinite()) return Leave(id, "its weight has an infinite or NaN element");
    const Sizes& sizes = *filters;
    const auto spatial = static_cast<size_t>(sizes.size() - 2);
    const int64_t channels = transposed ? sizes[0] : sizes[1] * groups;
    const int64_t out_channels = transposed ? sizes[1] * groups : sizes[0];
    if (images.sizes[1].AsInt() != channels || sizes[0] % groups != 0) {
      return Leave(id, "its number of channels is not known");
    }
    const auto numbers = [&](std::string_view name, int64_t least) {
      return NumbersOf(node.argument(name), spatial, least, most);
    };
    const std::optional<Argument::List> stride = numbers("stride", 1),
                                        padding = numbers("padding", 0),
                                        dilation = numbers("dilation", 1),
                                        output_padding =
                                            transposed
                                                ? numbers("output_padding", 0)
                                                : Argument::List(spatial, Argument(int64_t{0}));
    if (!stride.has_value() || !padding.has_value() || !dilation.has_value() ||
        !output_padding.has_value()) {
      return Leave(id, absl::StrCat("its stride, padding or dilation is above ", most));
    }
    const TensorMeta& result = graph_.MetaOf(graph_.ResultOf(id));
    VolumeWindow window;
    window.spatial = static_cast<int>(spatial);
    Argument::List kernel_size;
    for (size_t s = 0; s < spatial; ++s) {
      WindowAxis& a = window.axis(static_cast<int>(s));
      a.kernel = sizes[2 + static_cast<int>(s)];
      a.stride = *(*stride)[s].get_if<int64_t>();
      a.dilation = *(*dilation)[s].get_if<int64_t>();
      a.transposed = transposed;
      kernel_size.emplace_back(a.kernel);
      if (a.kernel > most || result.sizes[2 + s].AsInt().value_or(1) < 1) {
        return Leave(id, "its window is too large");
      }
    }
    Images source = {*node.value_argument("input"), *padding};
    if (!transposed && spatial == 2) source = Unpadded(source, 0);
    Argument bias = node.argument("bias");
    const bool narrow = images.dtype == DType::kBFloat16;
    if (narrow && !bias.is_none()) {
      ABSL_ASSIGN_OR_RETURN(bias, constants_.Vector(*views_.Find(bias)));
    }
    std::optional<WinogradTile> tile;
    if (!narrow && groups == 1 && IsForWinograd(window)) tile = WinogradTileFor(id, weight);
    ABSL_ASSIGN_OR_RETURN(const ValueId packed,
                          tile.has_value() ? constants_.WinogradFilters(weight, *tile)
                                           : constants_.VolumeFilters(weight, groups, window));
    std::vector<Argument> arguments = {source.value,
                                       packed,
                                       bias,
                                       Argument(),
                                       Argument(out_channels),
                                       Argument(groups),
                                       Argument(transposed),
                                       std::move(kernel_size),
                                       *stride,
                                       source.padding,
                                       *output_padding,
                                       *dilation};
    AppendEmptyEpilogue(arguments);
    Say(id, absl::StrCat(transposed         ? "transposed convolution"
                         : tile.has_value() ? "winograd_convolution"
                                            : "convolution",
                         ", filters of ", absl::StrJoin(sizes, " x "), " in ", groups,
                         groups == 1 ? " group" : " groups", " packed as ",
                         narrow ? "bfloat16" : "float32"));
    editor_.SetTarget(id, CpuOp(tile.has_value() ? "winograd_convolution"
                                : narrow         ? "bfloat16_convolution"
                                                 : "convolution"));
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // Whether an operator of bfloat16 supports the convolution's types and channels.
  bool HasBFloat16Kernel(const Node& node, const std::optional<ConstantView>& weight) const {
    const Argument& bias = node.argument("bias");
    if (!bias.is_none()) {
      const std::optional<ConstantView> view = views_.Find(bias);
      if (!view.has_value() || view->tensor->dtype() != DType::kBFloat16 ||
          !view->ToTensor().has_value()) {
        return false;
      }
    }
    const int64_t* groups = node.argument("groups").get_if<int64_t>();
    const bool* transposed = node.argument("transposed").get_if<bool>();
    if (!weight.has_value() || weight->rank() < 4 || groups == nullptr || transposed == nullptr ||
        weight->tensor->dtype() != DType::kBFloat16) {
      return false;
    }
    return SupportsBFloat16(*weight, *groups, *transposed);
  }

  static Window WindowOf(const ConstantView& weight, const Argument::List& stride,
                         const Argument::List& dilation) {
    Window window = {};
    for (size_t s = 0; s < 2; ++s) {
      window.kernel_size[s] = *weight.sizes[2 + s].AsInt();
      window.stride[s] = *stride[s].get_if<int64_t>();
      window.dilation[s] = *dilation[s].get_if<int64_t>();
    }
    return window;
  }

  // The tile of the cheapest Winograd convolution that pays off; nullopt if none does.
  std::optional<WinogradTile> WinogradTileFor(NodeId id, const ConstantView& weight) {
    const TensorMeta& result = graph_.MetaOf(graph_.ResultOf(id));
    const int64_t n = *weight.sizes[0].AsInt(), channels = *weight.sizes[1].AsInt();
    if (channels < kFewChannels) return std::nullopt;
    const std::optional<Sizes> sizes = exir::AsInts(result.sizes);
    if (!sizes.has_value()) return std::nullopt;
    // Planes of volumes count as images.
    const int last = sizes->size() - 1;
    auto images = static_cast<double>((*sizes)[0]);
    if (last == 4) images *= static_cast<double>((*sizes)[2]);
    const int64_t planes = last == 4 ? *weight.sizes[2].AsInt() : 1;
    std::optional<WinogradTile> best;
    double least = kWorthwhile;
    for (const WinogradTile tile : {WinogradTile::k2x2, WinogradTile::k4x4}) {
      const bool accurate =
          tile == WinogradTile::k2x2 && channels * planes >= kAccurateWinogradTerms;
      if (winograd_ == Winograd::kNever || (winograd_ == Winograd::kAccurate && !accurate))
        continue;
      const double share = WinogradShare(tile, images, {(*sizes)[last - 1], (*sizes)[last]},
                                         static_cast<double>(channels), static_cast<double>(n),
                                         static_cast<double>(planes));
      if (share >= least) continue;
      least = share;
      best = tile;
    }
    return best;
  }

  // Images and the convolution's padding of them: [rows, columns], or [top, left, bottom, right].
  struct Images {
    ValueId value;
    Argument::List padding;
  };
  // Folds a pad node with the value `zero`, which represents 0, into the convolution's padding.
  Images Unpadded(const Images& images, int64_t zero) const {
    const NodeId producer = graph_.value(images.value).producer;
    if (!producer.valid() || graph_.node(producer).target->aten() != pad_) return images;
    const Node& node = graph_.node(producer);
    const ValueId* inner = node.value_argument("self");
    // Last dimension first: left, right, top, bottom.
    const Argument::List* list = node.argument("pad").get_if<Argument::List>();
    const Argument& value = node.argument("value");
    const bool with_zero =
        value == Argument(zero) || (zero == 0 && (value == Argument(0.0) || value.is_none()));
    if (inner == nullptr || list == nullptr || !with_zero || list->size() < 2) return images;
    int64_t around[4] = {};
    for (size_t i = 0; i < list->size(); ++i) {
      const int64_t* number = (*list)[i].get_if<int64_t>();
      if (number == nullptr || *number < 0 || *number > int64_t{1} << 20) return images;
      if (i < 4) {
        around[i] = *number;
      } else if (*number != 0) {
        return images;
      }
    }
    Argument::List padding;  // top, left, bottom, right
    for (size_t from : {2, 0, 3, 1}) {
      const Argument& own = images.padding[padding.size() % images.padding.size()];
      const int64_t sum = *own.get_if<int64_t>() + around[from];
      if (sum > int64_t{1} << 24) return images;  // the limit of calls
      padding.emplace_back(sum);
    }
    return {*inner, std::move(padding)};
  }

  const Winograd winograd_;
  PackedConstants constants_;
  const exir::OpOverload *convolution_, *pad_;
};

}  // namespace

exir::Pass LowerConv2d(PassDiagnostics* diagnostics, Winograd winograd) {
  return {"lower_conv2d", [diagnostics, winograd](exir::ExportedProgram& program) {
            return Conv2dLowering(program, diagnostics, winograd).Run();
          }};
}

}  // namespace belay::cpu
