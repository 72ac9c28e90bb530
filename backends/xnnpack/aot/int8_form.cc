#include "backends/xnnpack/aot/int8_form.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/node_rules.h"

namespace belay::xnnpack {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::ValueId;

constexpr std::string_view kQuantize = "quantized_decomposed.quantize_per_tensor.default";
constexpr std::string_view kDequantize = "quantized_decomposed.dequantize_per_tensor.default";

bool Is(const exir::Graph& graph, NodeId id, std::string_view op) {
  return id.valid() && graph.node(id).target->name() == op;
}

// Parameters of a quantize or dequantize node.
std::optional<Quantization> NumbersOf(const exir::Node& node) {
  const double* scale = node.argument("scale").get_if<double>();
  const int64_t* zero_point = node.argument("zero_point").get_if<int64_t>();
  if (scale == nullptr || zero_point == nullptr) return std::nullopt;
  const auto narrow = static_cast<float>(*scale);
  if (!(narrow > 0) || !std::isnormal(narrow)) return std::nullopt;
  if (*zero_point < INT8_MIN || *zero_point > INT8_MAX) return std::nullopt;
  return Quantization{narrow, static_cast<int32_t>(*zero_point)};
}

// Returns the int8 operand of the dequantize node that computes the value.
std::optional<ValueId> Int8Operand(const exir::ExportedProgram& program, ValueId value) {
  const exir::Graph& graph = program.top();
  const NodeId producer = graph.value(value).producer;
  if (!Is(graph, producer, kDequantize) || !CheckConversion(program, producer).ok()) {
    return std::nullopt;
  }
  return *graph.node(producer).value_argument("input");
}

// Whether the library supports these scales: the range of its fixed-point multipliers, which is the
// same in XNNPACK of 2022 and in ExecuTorch's.
bool HasFittingScales(const Operation& operation, const std::vector<Quantization>& inputs,
                      const Quantization& output, const Weight* weight) {
  const auto in = [](float ratio, float least, float end) { return ratio >= least && ratio < end; };
  switch (operation.type) {
    case NodeType::Add:
    case NodeType::Subtract:
      return std::all_of(inputs.begin(), inputs.end(), [&](const Quantization& input) {
        return in(input.scale / output.scale, 0x1p-10f, 0x1p8f);
      });
    case NodeType::Multiply:
      return in(inputs[0].scale * inputs[1].scale / output.scale, 0x1p-16f, 0x1p8f);
    case NodeType::GlobalAvgPooling2d:
      return in(inputs[0].scale / output.scale, 0x1p-8f, 0x1p8f);
    default:
      return weight == nullptr ||
             std::all_of(weight->scales.begin(), weight->scales.end(), [&](float scale) {
               return std::isnormal(inputs[0].scale * scale) &&
                      in(inputs[0].scale * scale / output.scale, 0x1p-32f, 0x1p8f);
             });
  }
}

// Whether the weight has one scale, or one per output channel, and the bias can be quantized with
// it.
bool IsFittingWeight(const exir::ExportedProgram& program, const Operation& operation,
                     const Weight& weight) {
  const int results = operation.type == NodeType::FullyConnected ? 1 : 0;
  if (!weight.is_quantized() || (weight.scales.size() > 1 && weight.channel_dim != results)) {
    return false;
  }
  return !operation.bias.has_value() || !WeightOf(program, *operation.bias)->is_quantized();
}

}  // namespace

std::optional<Quantization> QuantizationOf(const exir::ExportedProgram& program, ValueId value) {
  const exir::Graph& graph = program.top();
  const exir::TensorMeta* meta = graph.value(value).tensor();
  if (meta == nullptr || meta->dtype != DType::kInt8) return std::nullopt;
  const NodeId producer = graph.value(value).producer;
  if (Is(graph, producer, kQuantize)) return NumbersOf(graph.node(producer));
  for (NodeId user : graph.value(value).users) {
    if (Is(graph, user, kDequantize)) return NumbersOf(graph.node(user));
  }
  return std::nullopt;
}

absl::Status CheckConversion(const exir::ExportedProgram& program, NodeId id) {
  const exir::Node& node = program.top().node(id);
  const bool quantizes = node.target->name() == kQuantize;
  const ValueId* input = node.value_argument("input");
  const std::optional<Quantization> numbers = NumbersOf(node);
  if (input == nullptr || !numbers.has_value()) {
    return absl::UnimplementedError("its scale and zero point are not known int8 parameters");
  }
  const ValueId bytes = quantizes ? node.outputs[0].values[0] : *input;
  if (QuantizationOf(program, bytes) != numbers) {
    return absl::UnimplementedError(absl::StrCat("%", program.top().value(bytes).name,
                                                 " is not int8 with this scale and zero point"));
  }
  if (quantizes && (node.argument("quant_min") != Argument(INT8_MIN) ||
                    node.argument("quant_max") != Argument(INT8_MAX))) {
    return absl::UnimplementedError("its range is not -128 to 127");
  }
  return absl::OkStatus();
}

void ComputeOnInt8(const exir::ExportedProgram& program, NodeId id, Target target,
                   Operation& operation) {
  const exir::Graph& graph = program.top();
  const bool moves = operation.type == NodeType::NONE || FindNodeRule(operation.type)->moves;
  if (operation.type == NodeType::Convert || !operation.scales.empty() ||
      !(operation.type == NodeType::NONE || FindNodeRule(operation.type)->qint8)) {
    return;
  }
  Operation quantized = operation;
  std::vector<Quantization> inputs;
  for (auto& operand : quantized.operands) {
    const ValueId* real = std::get_if<ValueId>(&operand);
    const std::optional<ValueId> bytes =
        real == nullptr ? std::nullopt : Int8Operand(program, *real);
    if (!bytes.has_value()) return;
    inputs.push_back(*QuantizationOf(program, *bytes));
    operand = *bytes;
  }
  std::optional<Weight> weight;
  if (operation.weight.has_value()) {
    weight = WeightOf(program, *operation.weight);
    if (!IsFittingWeight(program, operation, *weight)) return;
  }
  quantized.int8.emplace();
  std::vector<NodeId>& merged = quantized.int8->merged;
  ValueId result = graph.ResultOf(id);
  NodeId reader = graph.SoleUser(result).value_or(NodeId());
  if (reader.valid() && MayHaveBounds(operation.type)) {
    const absl::StatusOr<Operation> clamp = ReadOperation(program, reader, target);
    if (clamp.ok() && clamp->type == NodeType::Clamp) {
      merged.push_back(reader);
      quantized.min = clamp->min;
      quantized.max = clamp->max;
      result = graph.ResultOf(reader);
      reader = graph.SoleUser(result).value_or(NodeId());
    }
  }
  if (!Is(graph, reader, kQuantize) || !CheckConversion(program, reader).ok()) return;
  merged.push_back(reader);
  quantized.int8->result = graph.ResultOf(reader);
  const Quantization output = *QuantizationOf(program, quantized.int8->result);
  const bool same = std::all_of(inputs.begin(), inputs.end(),
                                [&](const Quantization& input) { return input == output; });
  const auto quantize = [&](float number) {
    return std::clamp(std::nearbyint(number / output.scale + static_cast<float>(output.zero_point)),
                      float{INT8_MIN}, float{INT8_MAX});
  };
  if ((moves && !same) || !(quantize(quantized.min) < quantize(quantized.max)) ||
      !HasFittingScales(operation, inputs, output, weight.has_value() ? &*weight : nullptr)) {
    return;
  }
  operation = std::move(quantized);
}

}  // namespace belay::xnnpack
