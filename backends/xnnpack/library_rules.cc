#include "backends/xnnpack/library_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/node_rules.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {
namespace {

absl::Status CheckValue(const Value& value) {
  switch (value.datatype) {
    case Datatype::FP32:
    case Datatype::QINT8:
    case Datatype::QCINT8:
    case Datatype::QINT32:
    case Datatype::QCINT32:
      return absl::OkStatus();
    default:
      return absl::UnimplementedError(
          absl::StrCat("datatype ", DatatypeName(value.datatype),
                       " is not supported; supported are FP32, QINT8, and as constants QCINT8, "
                       "QINT32, QCINT32"));
  }
}

bool HasWeights(NodeType type) {
  return type == NodeType::FullyConnected || type == NodeType::Conv2d ||
         type == NodeType::DepthwiseConv2d || type == NodeType::ConvTranspose2d;
}

absl::Status CheckWeights(const Node& node, const Value& input, const Value& filter,
                          const Value* bias, const Value& output) {
  if (!filter.is_constant || (bias != nullptr && !bias->is_constant)) {
    return absl::UnimplementedError("a filter or bias that is not constant");
  }
  if (input.datatype == Datatype::FP32) {
    if (filter.datatype == Datatype::FP32 &&
        (bias == nullptr || bias->datatype == Datatype::FP32)) {
      return absl::OkStatus();
    }
  } else if (bias == nullptr || bias->datatype == Datatype::QINT32 ||
             bias->datatype == Datatype::QCINT32) {
    if (filter.datatype == Datatype::QINT8) {
      if (filter.zero_point == 0) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("a filter with zero point ", filter.zero_point));
    }
    const int channels = node.type == NodeType::DepthwiseConv2d ? 3 : 0;
    if (filter.datatype == Datatype::QCINT8) {
      if (node.type == NodeType::FullyConnected && (node.flags & kTransposedWeights) != 0) {
        return absl::UnimplementedError("a QCINT8 filter that is stored [in, out]");
      }
      if (filter.channel_dim == channels) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("a filter of sizes ",
                                                     FormatSizes(filter.sizes),
                                                     " with channel_dim ", filter.channel_dim));
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      "input ", DatatypeName(input.datatype), ", filter ", DatatypeName(filter.datatype), ", bias ",
      bias == nullptr ? "none" : DatatypeName(bias->datatype), ", output ",
      DatatypeName(output.datatype), " is not a supported combination"));
}

absl::Status CheckNode(const Graph& graph, const Node& node) {
  const NodeRule& rule = *FindNodeRule(node.type);
  const Value& input = *graph.input(node, 0);
  const Value& output = graph.values[node.output];
  const auto unsupported = [&](const Value& value) {
    return absl::UnimplementedError(absl::StrCat("value ", value.id, " of datatype ",
                                                 DatatypeName(value.datatype),
                                                 " is not supported here"));
  };
  for (const Value* value : {&input, &output}) {
    if (!(value->datatype == Datatype::FP32 && (rule.fp32 || rule.function)) &&
        !(value->datatype == Datatype::QINT8 && rule.qint8)) {
      return unsupported(*value);
    }
  }
  if (node.type == NodeType::Convert) {
    return input.datatype == output.datatype ? unsupported(output) : absl::OkStatus();
  }
  if (input.datatype != output.datatype) return unsupported(output);
  if (HasWeights(node.type)) {
    return CheckWeights(node, input, *graph.input(node, 1), graph.input(node, 2), output);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = *graph.input(node, static_cast<int>(i));
    if (value.datatype != output.datatype) return unsupported(value);
    if (rule.moves && (value.scale != output.scale || value.zero_point != output.zero_point)) {
      return absl::UnimplementedError(
          absl::StrCat("values ", value.id, " and ", output.id,
                       " have different quantization parameters, which it does not convert"));
    }
  }
  if (node.type == NodeType::PReLU && !graph.input(node, 1)->is_constant) {
    return absl::UnimplementedError("slopes that are not constant");
  }
  return absl::OkStatus();
}

}  // namespace

constexpr GraphSupport kLibrarySupport = {CheckValue, CheckNode};

}  // namespace belay::xnnpack
