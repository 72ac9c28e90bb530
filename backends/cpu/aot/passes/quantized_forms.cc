#include "backends/cpu/aot/passes/quantized_forms.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

}  // namespace

bool IsUsualScale(double scale) { return scale >= 0x1p-100 && scale <= 0x1p100; }

bool QuantizedConstant::HasUsualProducts(double scale) const {
  return std::all_of(scales.begin(), scales.end(),
                     [&](float mine) { return IsUsualScale(scale * double{mine}); });
}

int64_t QuantizedForm::Quantized(float real) const {
  const float number =
      std::nearbyint(real * static_cast<float>(1 / scale)) + static_cast<float>(zero_point);
  return static_cast<int64_t>(
      std::clamp(number, static_cast<float>(quant_min), static_cast<float>(quant_max)));
}

QuantizedForms::QuantizedForms(const exir::ExportedProgram& program, const ConstantViews& views)
    : program_(program),
      views_(views),
      quantize_(program.ops->Find("quantized_decomposed.quantize_per_tensor.default")),
      dequantize_(program.ops->Find("quantized_decomposed.dequantize_per_tensor.default")),
      dequantize_channels_(
          program.ops->Find("quantized_decomposed.dequantize_per_channel.default")),
      dequantize_groups_(
          program.ops->Find("quantized_decomposed.dequantize_per_channel_group.default")),
      dequantize_by_tensors_(
          program.ops->Find("quantized_decomposed.dequantize_per_tensor.tensor")),
      dequantize_tokens_(program.ops->Find("quantized_decomposed.dequantize_per_token.default")),
      quantize_tokens_(program.ops->Find("quantized_decomposed.quantize_per_token.default")),
      choose_tokens_(
          program.ops->Find("quantized_decomposed.choose_qparams_per_token_asymmetric.default")),
      convert_(program.ops->Find("dim_order_ops._to_dim_order_copy.default")) {}

std::optional<QuantizedForm> QuantizedForms::FormOf(NodeId id, const exir::OpOverload* op) const {
  if (!id.valid()) return std::nullopt;
  const exir::Graph& graph = program_.top();
  const Node& node = graph.node(id);
  if (node.target->aten() != op) return std::nullopt;
  const ValueId* input = node.value_argument("input");
  const auto* scale = node.argument("scale").get_if<double>();
  const auto* zero_point = node.argument("zero_point").get_if<int64_t>();
  const auto* low = node.argument("quant_min").get_if<int64_t>();
  const auto* high = node.argument("quant_max").get_if<int64_t>();
  if (input == nullptr || scale == nullptr || zero_point == nullptr || low == nullptr ||
      high == nullptr) {
    return std::nullopt;
  }
  const ValueId result = node.outputs[0].values[0];
  const bool quantizes = op == quantize_;
  const TensorMeta* real = graph.value(quantizes ? *input : result).tensor();
  const TensorMeta* elements = graph.value(quantizes ? result : *input).tensor();
  if (real == nullptr || elements == nullptr || real->dtype != DType::kFloat32) return std::nullopt;
  if (elements->dtype != DType::kInt8 && elements->dtype != DType::kUint8) return std::nullopt;
  const int64_t least = elements->dtype == DType::kInt8 ? -128 : 0;
  if (!IsUsualScale(*scale) || *zero_point < least || *zero_point > least + 255)
    return std::nullopt;
  return QuantizedForm{*input, *scale, *zero_point, *low, *high, elements->dtype};
}

std::optional<QuantizedForm> QuantizedForms::Quantize(NodeId node) const {
  return FormOf(node, quantize_);
}
std::optional<QuantizedForm> QuantizedForms::Dequantize(NodeId node) const {
  return FormOf(node, dequantize_);
}

std::optional<QuantizedForm> QuantizedForms::Dequantized(const Argument& argument) const {
  const ValueId* value = argument.get_if<ValueId>();
  return value == nullptr ? std::nullopt : Dequantize(program_.top().value(*value).producer);
}

std::optional<QuantizedForm> QuantizedForms::DequantizedBytes(const Argument& argument) const {
  const std::optional<QuantizedForm> form = Dequantized(argument);
  return form.has_value() && form->dtype == DType::kUint8 ? form : std::nullopt;
}

std::optional<DynamicForm> QuantizedForms::DequantizedDynamically(const Argument& argument) const {
  const exir::Graph& graph = program_.top();
  const ValueId* value = argument.get_if<ValueId>();
  const NodeId producer = value == nullptr ? NodeId() : graph.value(*value).producer;
  if (!producer.valid()) return std::nullopt;
  const Node& node = graph.node(producer);
  const exir::OpOverload* op = node.target->aten();
  if (op != dequantize_by_tensors_ && op != dequantize_tokens_) return std::nullopt;
  const bool tokens = op == dequantize_tokens_;
  const ValueId* input = node.value_argument("input");
  const ValueId* scales = node.value_argument(tokens ? "scales" : "scale");
  const ValueId* zeros = node.value_argument(tokens ? "zero_points" : "zero_point");
  if (input == nullptr || scales == nullptr || zeros == nullptr) return std::nullopt;
  const TensorMeta* result = graph.value(*value).tensor();
  const TensorMeta* bytes = graph.value(*input).tensor();
  if (result == nullptr || result->dtype != DType::kFloat32 || bytes->rank() < 1 ||
      (bytes->dtype != DType::kInt8 && bytes->dtype != DType::kUint8)) {
    return std::nullopt;
  }
  std::vector<exir::SymInt> rows = bytes->sizes;
  rows.back() = exir::SymInt(1);
  const auto is_of_rows = [&](ValueId parameter, DTypeSet types) {
    const TensorMeta& meta = graph.MetaOf(parameter);
    const auto is_one = [](const exir::SymInt& size) { return size == exir::SymInt(1); };
    return types.contains(meta.dtype) &&
           (meta.sizes == rows || std::all_of(meta.sizes.begin(), meta.sizes.end(), is_one));
  };
  if (!is_of_rows(*scales, {DType::kFloat32, DType::kFloat64}) ||
      !is_of_rows(*zeros, {DType::kInt8, DType::kInt32, DType::kInt64})) {
    return std::nullopt;
  }
  return DynamicForm{*input, *scales, *zeros};
}

std::optional<ValueId> QuantizedForms::QuantizedTokens(const DynamicForm& form) const {
  const exir::Graph& graph = program_.top();
  const NodeId quantize = graph.value(form.input).producer;
  const NodeId choose = graph.value(form.scales).producer;
  if (!quantize.valid() || !choose.valid()) return std::nullopt;
  const Node &quantized = graph.node(quantize), &chosen = graph.node(choose);
  if (quantized.target->aten() != quantize_tokens_ || chosen.target->aten() != choose_tokens_) {
    return std::nullopt;
  }
  const ValueId* input = quantized.value_argument("input");
  const std::vector<ValueId> parameters = chosen.results();
  const bool matches = input != nullptr && chosen.argument("input") == Argument(*input) &&
                       form.scales == parameters[0] && form.zero_points == parameters[1] &&
                       quantized.argument("scales") == Argument(form.scales) &&
                       quantized.argument("zero_points") == Argument(form.zero_points) &&
                       quantized.argument("quant_min") == Argument(int64_t{-128}) &&
                       quantized.argument("quant_max") == Argument(int64_t{127});
  if (!matches || graph.MetaOf(*input).dtype != DType::kFloat32 ||
      graph.MetaOf(form.input).dtype != DType::kInt8) {
    return std::nullopt;
  }
  return *input;
}

bool QuantizedForms::IsDequantizePerChannel(NodeId node) const {
  return program_.top().node(node).target->aten() == dequantize_channels_;
}

std::optional<std::vector<double>> QuantizedForms::ElementsOf(const Argument& argument,
                                                              DTypeSet types) const {
  const std::optional<ConstantView> view = views_.Find(argument);
  if (!view.has_value() || !types.contains(view->tensor->dtype())) return std::nullopt;
  return view->Elements();
}

std::optional<std::vector<double>> QuantizedForms::ZeroPointsOf(const Argument& argument) const {
  const exir::Graph& graph = program_.top();
  const ValueId* value = argument.get_if<ValueId>();
  const NodeId producer = value == nullptr ? NodeId() : graph.value(*value).producer;
  if (producer.valid() && graph.node(producer).target->aten() == convert_ &&
      graph.value(*value).tensor()->dtype == DType::kInt64) {
    return ElementsOf(graph.node(producer).operand(), {DType::kInt32, DType::kInt8});
  }
  return ElementsOf(argument, {DType::kFloat32, DType::kInt64, DType::kInt32, DType::kInt8});
}

std::optional<DequantizeParameters> QuantizedForms::ParametersOf(NodeId id) const {
  const Node& node = program_.top().node(id);
  const exir::OpOverload* op = node.target->aten();
  if (op != dequantize_ && op != dequantize_channels_ && op != dequantize_groups_ &&
      op != dequantize_tokens_) {
    return std::nullopt;
  }
  const TensorMeta* result = program_.top().value(node.outputs[0].values[0]).tensor();
  if (result == nullptr || result->dtype != DType::kFloat32) return std::nullopt;
  DequantizeParameters p = {.input = node.argument("input")};
  if (op == dequantize_) {
    const auto* scale = node.argument("scale").get_if<double>();
    const auto* zero_point = node.argument("zero_point").get_if<int64_t>();
    if (scale == nullptr || zero_point == nullptr) return std::nullopt;
    p.scales = {*scale};
    if (*zero_point != 0) p.zeros = {static_cast<double>(*zero_point)};
    return p;
  }
  // float64 scales would be multiplied in float64.
  std::optional<std::vector<double>> scales =
      ElementsOf(node.argument("scales"), {DType::kFloat32});
  if (!scales.has_value()) return std::nullopt;
  p.scales = *std::move(scales);
  if (const Argument& zero_points = node.argument("zero_points"); !zero_points.is_none()) {
    std::optional<std::vector<double>> zeros = ZeroPointsOf(zero_points);
    if (!zeros.has_value()) return std::nullopt;
    p.zeros = *std::move(zeros);
    const auto is_zero = [](double zero) { return zero == 0; };
    if (std::all_of(p.zeros.begin(), p.zeros.end(), is_zero)) p.zeros.clear();
  }
  if (op == dequantize_tokens_) {
    if (result->rank() != 2) return std::nullopt;
    p.axis = 0;
    return p;
  }
  const bool by_groups = op == dequantize_groups_;
  const int64_t* number = node.argument(by_groups ? "group_size" : "axis").get_if<int64_t>();
  if (number == nullptr) return std::nullopt;
  if (by_groups) {
    if (*number < 1) return std::nullopt;
    p.group_size = *number;
  } else {
    const int rank = result->rank();
    if (*number < -rank || *number >= rank) return std::nullopt;
    p.axis = static_cast<int>(*number < 0 ? *number + rank : *number);
  }
  return p;
}

std::optional<DequantizeParameters> QuantizedForms::SymmetricParametersOf(
    const Argument& argument) const {
  const ValueId* value = argument.get_if<ValueId>();
  const NodeId producer = value == nullptr ? NodeId() : program_.top().value(*value).producer;
  if (!producer.valid()) return std::nullopt;
  std::optional<DequantizeParameters> p = ParametersOf(producer);
  const bool usual = p.has_value() && p->zeros.empty() && p->group_size == 0 &&
                     std::all_of(p->scales.begin(), p->scales.end(), &IsUsualScale);
  return usual ? std::move(p) : std::nullopt;
}

std::optional<QuantizedConstant> QuantizedForms::Constant(const Argument& argument) const {
  const std::optional<DequantizeParameters> p = SymmetricParametersOf(argument);
  if (!p.has_value()) return std::nullopt;
  std::optional<ConstantView> elements = views_.Find(p->input);
  if (!elements.has_value() || elements->tensor->dtype() != DType::kInt8 ||
      !elements->ToTensor().has_value()) {
    return std::nullopt;
  }
  if (p->axis.has_value() &&
      elements->sizes[*p->axis].AsInt() != static_cast<int64_t>(p->scales.size())) {
    return std::nullopt;
  }
  return QuantizedConstant{*std::move(elements), {p->scales.begin(), p->scales.end()}, p->axis};
}

std::optional<std::vector<float>> QuantizedForms::DequantizedVector(
    const Argument& argument) const {
  const std::optional<DequantizeParameters> p = SymmetricParametersOf(argument);
  if (!p.has_value()) return std::nullopt;
  const std::optional<std::vector<double>> elements = ElementsOf(p->input, {DType::kInt32});
  const std::optional<ConstantView> view = views_.Find(p->input);
  if (!elements.has_value() || view->rank() != 1 ||
      (p->axis.has_value() && p->scales.size() != elements->size())) {
    return std::nullopt;
  }
  std::vector<float> reals(elements->size());
  for (size_t i = 0; i < reals.size(); ++i) {
    const size_t channel = p->axis.has_value() ? i : 0;
    reals[i] = static_cast<float>((*elements)[i]) * static_cast<float>(p->scales[channel]);
  }
  return reals;
}

}  // namespace belay::cpu
