#include "backends/xnnpack/aot/int8_form.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/ir/match.h"

namespace belay::xnnpack {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::ValueId;
namespace m = exir::match;

constexpr const char* kQuantize = "quantized_decomposed.quantize_per_tensor.default";
constexpr const char* kDequantize = "quantized_decomposed.dequantize_per_tensor.default";

bool Is(const exir::Graph& graph, NodeId id, const m::OpNames& names) {
  return id.valid() && names.Contains(*graph.node(id).target);
}

// Parameters of a node of these names, and its operand.
struct Conversion {
  ValueId input;
  Quantization parameters;
};
std::optional<Conversion> ConversionOf(const exir::Graph& graph, NodeId node,
                                       const m::OpNames& names) {
  ValueId input;
  double scale = 0, zero_point = 0;
  const m::Pattern conversion =
      m::Op(names, m::Value(&input), m::Number(&scale), m::Number(&zero_point));
  if (!m::Matcher(graph).Match(conversion, node).has_value()) return std::nullopt;
  const auto narrow = static_cast<float>(scale);
  if (!(narrow > 0) || !std::isnormal(narrow)) return std::nullopt;
  if (!(zero_point >= INT8_MIN && zero_point <= INT8_MAX)) return std::nullopt;
  return Conversion{input, {narrow, static_cast<int32_t>(zero_point)}};
}

// Returns the int8 operand of the dequantize node that computes the value.
std::optional<ValueId> Int8Operand(const exir::ExportedProgram& program, ValueId value) {
  const NodeId producer = program.top().value(value).producer;
  const auto conversion = ConversionOf(program.top(), producer, kDequantize);
  if (!conversion.has_value() || !CheckConversion(program, producer).ok()) return std::nullopt;
  return conversion->input;
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
  if (!weight.is_quantized() || weight.group_size != 0 ||
      (weight.scales.size() > 1 && weight.channel_dim != results)) {
    return false;
  }
  return !operation.bias.has_value() || !WeightOf(program, *operation.bias)->is_quantized();
}

}  // namespace

std::optional<Quantization> QuantizationOf(const exir::ExportedProgram& program, ValueId value) {
  const exir::Graph& graph = program.top();
  const exir::TensorMeta* meta = graph.value(value).tensor();
  if (meta == nullptr || meta->dtype != DType::kInt8) return std::nullopt;
  NodeId node = graph.value(value).producer;
  if (!Is(graph, node, kQuantize)) {
    const std::vector<NodeId>& users = graph.value(value).users;
    const auto user = std::find_if(users.begin(), users.end(),
                                   [&](NodeId id) { return Is(graph, id, kDequantize); });
    if (user == users.end()) return std::nullopt;
    node = *user;
  }
  const std::optional<Conversion> conversion = ConversionOf(graph, node, {kQuantize, kDequantize});
  return conversion.has_value() ? std::optional(conversion->parameters) : std::nullopt;
}

absl::Status CheckConversion(const exir::ExportedProgram& program, NodeId id) {
  const exir::Graph& graph = program.top();
  const exir::Node& node = graph.node(id);
  const bool quantizes = Is(graph, id, kQuantize);
  const std::optional<Conversion> conversion = ConversionOf(graph, id, {kQuantize, kDequantize});
  if (!conversion.has_value()) {
    return absl::UnimplementedError("its scale and zero point are not known int8 parameters");
  }
  const ValueId bytes = quantizes ? graph.ResultOf(id) : conversion->input;
  if (QuantizationOf(program, bytes) != conversion->parameters) {
    return absl::UnimplementedError(
        absl::StrCat("%", graph.value(bytes).name, " is not int8 with this scale and zero point"));
  }
  if (quantizes && (node.argument("quant_min") != Argument(INT8_MIN) ||
                    node.argument("quant_max") != Argument(INT8_MAX))) {
    return absl::UnimplementedError("its range is not -128 to 127");
  }
  return absl::OkStatus();
}

// quantize(op(dequantize(a), dequantize(b), …))         ->  int8 op(a, b, …)
// quantize(clamp(op(dequantize(a), dequantize(b), …)))  ->  int8 op(a, b, …) with bounds
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
