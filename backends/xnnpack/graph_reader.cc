#include "backends/xnnpack/graph_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/xnnpack/node_fields.h"
#include "backends/xnnpack/node_rules.h"
#include "backends/xnnpack/node_sizes.h"
#include "executorch/format/xnnpack_payload.h"
#include "runtime/core/annotate.h"
#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

constexpr uint32_t kMaxExternals = 4096;  // limit of ExecuTorch's runtime
constexpr int64_t kMaxBytes = int64_t{1} << 47;
constexpr std::string_view kTables = "the payload's tables";

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

// Bytes per element; nullopt for unsupported datatypes.
std::optional<int64_t> ElementBytes(Datatype datatype) {
  switch (datatype) {
    case Datatype::FP32:
    case Datatype::QINT32:
    case Datatype::QCINT32:
      return 4;
    case Datatype::QINT8:
    case Datatype::QCINT8:
      return 1;
    default:
      return std::nullopt;
  }
}

absl::Status CheckScale(float scale) {
  if (scale > 0 && std::isnormal(scale)) return absl::OkStatus();
  return Invalid(absl::StrCat("expected a positive normal number as scale, got ", scale));
}

class Reader {
 public:
  Reader(const fb::Graph& root, absl::Span<const std::byte> region, const NamedDataMap& named_data,
         size_t arguments, size_t outputs, MemoryBudget& memory)
      : root_(root),
        region_(region),
        named_data_(named_data),
        arguments_(arguments),
        outputs_(outputs),
        memory_(memory),
        argument_taken_(arguments, false),
        output_taken_(outputs, false) {}

  absl::StatusOr<Graph> Read() {
    if (root_.values() == nullptr || root_.nodes() == nullptr) {
      return Invalid("the graph has no list of values or no list of nodes");
    }
    if (root_.num_externs() > kMaxExternals) {
      return Invalid(absl::StrCat(root_.num_externs(), " external values, at most ", kMaxExternals,
                                  " are possible"));
    }
    graph_.values.reserve(root_.values()->size());
    graph_.nodes.reserve(root_.nodes()->size());
    for (const fb::Value* value : *root_.values()) {
      const absl::Status status = AddValue(*value);
      if (!status.ok()) return Annotate(status, absl::StrCat("value ", graph_.values.size()));
    }
    for (const fb::Node* node : *root_.nodes()) {
      const absl::Status status = AddNode(*node);
      if (!status.ok()) {
        return Annotate(status, absl::StrCat("node ", graph_.nodes.size(), " (",
                                             NodeTypeName(node->node_type()), ")"));
      }
    }
    for (const Value& value : graph_.values) {
      if (value.output < 0) continue;
      if (!written_[static_cast<size_t>(&value - graph_.values.data())]) {
        return Invalid(absl::StrCat("no node computes output ", value.output));
      }
    }
    for (size_t i = 0; i < outputs_; ++i) {
      if (!output_taken_[i]) return Invalid(absl::StrCat("no value is output ", i, " of the call"));
    }
    return std::move(graph_);
  }

 private:
  // --- Constants ---

  absl::StatusOr<absl::Span<const std::byte>> Constant(uint32_t index) const {
    const auto* data = root_.constant_data();
    const auto* old = root_.constant_buffer();
    if (data == nullptr || data->size() == 0) {
      if (old == nullptr || index >= old->size()) {
        return Invalid(absl::StrCat("constant ", index, " does not exist, there are ",
                                    old == nullptr ? 0 : old->size()));
      }
      return absl::UnimplementedError("constants in the tables, the format of XN00 payloads");
    }
    if (index >= data->size()) {
      return Invalid(absl::StrCat("constant ", index, " does not exist, there are ", data->size()));
    }
    const fb::ConstantDataOffset& entry = *data->Get(index);
    // flatc's object API writes a missing key as an empty string.
    if (entry.named_key() != nullptr && entry.named_key()->size() > 0) {
      return named_data_.Find(
          std::string_view(entry.named_key()->data(), entry.named_key()->size()));
    }
    if (!RangeFits(entry.offset(), entry.size(), region_.size())) {
      return Invalid(absl::StrCat("constant ", index, ": ", entry.size(), " bytes at ",
                                  entry.offset(), " are not inside the payload's ", region_.size(),
                                  " bytes of constants"));
    }
    return region_.subspan(entry.offset(), entry.size());
  }

  // --- Values ---

  absl::Status AddValue(const fb::Value& wire) {
    const fb::TensorValue* tensor = nullptr;
    const fb::QuantizedTensorValue* quantized = wire.value_as_QuantizedTensorValue();
    if (quantized != nullptr) {
      tensor = quantized->tensor_value();
    } else {
      tensor = wire.value_as_TensorValue();
    }
    if (tensor == nullptr) return Invalid("it is not a tensor");
    Value value;
    value.id = tensor->id_out();
    value.datatype = tensor->datatype();
    if (value.id == kInvalidId) return Invalid("it has no id");
    ABSL_ASSIGN_OR_RETURN(value.sizes, ReadNumbers(tensor->dims(), tensor->num_dims()));
    const std::optional<int64_t> numel = NumElements(value.sizes);
    const std::optional<int64_t> element = ElementBytes(value.datatype);
    if (!element.has_value() || tensor->dq_datatype() != Datatype::INVALID) {
      return absl::UnimplementedError(absl::StrCat(
          "datatype ", DatatypeName(element.has_value() ? tensor->dq_datatype() : value.datatype),
          element.has_value() ? " as a dynamic quantization" : "",
          " is not supported; supported are FP32, QINT8, and as constants QCINT8, "
          "QINT32, QCINT32"));
    }
    const std::optional<int64_t> bytes =
        numel.has_value() ? CheckedMul(*numel, *element) : std::nullopt;
    if (!bytes.has_value() || *bytes == 0 || *bytes >= kMaxBytes) {
      return Invalid(absl::StrCat("sizes ", FormatSizes(value.sizes),
                                  bytes == int64_t{0} ? " have no elements" : " are too large"));
    }
    if (tensor->constant_buffer_idx() != 0) {
      value.is_constant = true;
      ABSL_ASSIGN_OR_RETURN(value.constant, Constant(tensor->constant_buffer_idx()));
      if (value.constant.size() < static_cast<uint64_t>(*bytes)) {
        return Invalid(absl::StrCat("a constant of sizes ", FormatSizes(value.sizes), " needs ",
                                    *bytes, " bytes, constant ", tensor->constant_buffer_idx(),
                                    " has ", value.constant.size()));
      }
    }
    ABSL_RETURN_IF_ERROR(ReadQuantization(quantized, value));
    ABSL_RETURN_IF_ERROR(ReadExternal(*tensor, value));
    if (!index_of_id_.emplace(value.id, static_cast<int>(graph_.values.size())).second) {
      return Invalid(absl::StrCat("the id ", value.id, " is a duplicate"));
    }
    written_.push_back(value.is_constant || value.argument >= 0);
    graph_.values.push_back(std::move(value));
    return absl::OkStatus();
  }

  absl::Status ReadQuantization(const fb::QuantizedTensorValue* wire, Value& value) {
    const bool per_tensor = value.datatype == Datatype::QINT8 || value.datatype == Datatype::QINT32;
    const bool per_channel =
        value.datatype == Datatype::QCINT8 || value.datatype == Datatype::QCINT32;
    if (wire == nullptr) {
      if (!per_tensor && !per_channel) return absl::OkStatus();
      return Invalid(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                  " without quantization parameters"));
    }
    if (const fb::PerTensorQuant* quant = wire->quant_params_as_PerTensorQuant();
        quant != nullptr && per_tensor) {
      value.scale = quant->scale();
      value.zero_point = quant->zero_point();
      ABSL_RETURN_IF_ERROR(CheckScale(value.scale));
      const bool fits = value.datatype == Datatype::QINT8
                            ? value.zero_point >= INT8_MIN && value.zero_point <= INT8_MAX
                            : value.zero_point == 0;
      if (fits) return absl::OkStatus();
      return Invalid(absl::StrCat("datatype ", DatatypeName(value.datatype), " with zero point ",
                                  value.zero_point));
    }
    const fb::PerChannelQuant* quant = wire->quant_params_as_PerChannelQuant();
    if (quant == nullptr || !per_channel) {
      return Invalid(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                  " with quantization parameters of kind ",
                                  static_cast<int>(wire->quant_params_type())));
    }
    if (!value.is_constant) {
      return absl::UnimplementedError(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                                   " of a value that is not constant"));
    }
    if (quant->channel_dim() < 0 || quant->channel_dim() >= value.sizes.size()) {
      return Invalid(absl::StrCat("channel_dim ", quant->channel_dim(), " of sizes ",
                                  FormatSizes(value.sizes)));
    }
    value.channel_dim = quant->channel_dim();
    return ReadScales(*quant, value);
  }

  absl::Status ReadScales(const fb::PerChannelQuant& quant, Value& value) {
    const auto channels = static_cast<uint64_t>(value.sizes[value.channel_dim]);
    const bool in_table = quant.scale_buffer_idx() == 0;
    absl::Span<const std::byte> bytes;
    uint64_t count = quant.num_scales();
    if (in_table) {
      count = quant.scale() == nullptr ? 0 : quant.scale()->size();
      if (count > 0) bytes = {reinterpret_cast<const std::byte*>(quant.scale()->Data()), count * 4};
    } else {
      ABSL_ASSIGN_OR_RETURN(bytes, Constant(quant.scale_buffer_idx()));
    }
    if (count != channels || bytes.size() / sizeof(float) < count) {
      return Invalid(absl::StrCat("expected ", channels, " scales, got ", count, " in ",
                                  bytes.size(), " bytes"));
    }
    // At most the constant's bytes; but many values may share one constant.
    ABSL_RETURN_IF_ERROR(memory_.Take(count * sizeof(float), "scales"));
    ABSL_RETURN_IF_ERROR(CheckMemory(count * sizeof(float), "scales"));
    value.channel_scales.resize(count);
    std::memcpy(value.channel_scales.data(), bytes.data(), count * sizeof(float));
    for (float scale : value.channel_scales) ABSL_RETURN_IF_ERROR(CheckScale(scale));
    return absl::OkStatus();
  }

  absl::Status ReadExternal(const fb::TensorValue& tensor, Value& value) {
    const uint32_t id = tensor.external_id(), flags = tensor.flags();
    if ((flags == 0) != (id == kInvalidId) ||
        (flags != 0 && flags != kExternalInput && flags != kExternalOutput)) {
      return Invalid(absl::StrCat("flags ", flags, " with external id ", id));
    }
    if (flags == 0) return absl::OkStatus();
    if (id >= root_.num_externs() || id >= arguments_ + outputs_) {
      return Invalid(absl::StrCat("external id ", id, " of ", root_.num_externs(),
                                  "; the call has ", arguments_, " arguments and ", outputs_,
                                  " outputs"));
    }
    if (value.is_constant) return Invalid("a constant is an external value");
    const bool is_argument = id < arguments_;
    if (is_argument != (flags == kExternalInput)) {
      return Invalid(
          absl::StrCat("external id ", id, " is an ", is_argument ? "argument" : "output",
                       " of the call, the value is an ", is_argument ? "output" : "input"));
    }
    (is_argument ? value.argument : value.output) =
        static_cast<int>(is_argument ? id : id - arguments_);
    std::vector<bool>& taken = is_argument ? argument_taken_ : output_taken_;
    const size_t index = is_argument ? id : id - arguments_;
    if (taken[index]) return Invalid(absl::StrCat("external id ", id, " is used twice"));
    taken[index] = true;
    return absl::OkStatus();
  }

  // --- Nodes ---

  absl::StatusOr<int> Find(uint32_t id) const {
    const auto it = index_of_id_.find(id);
    if (it == index_of_id_.end()) return Invalid(absl::StrCat("no value has id ", id));
    return it->second;
  }

  // Resolves ids of inputs and output to indices; an omitted input is -1.
  absl::Status Resolve(const OperandIds& operands, Node& node) const {
    node.flags = operands.flags;
    for (const uint32_t& id : operands.inputs) {
      if (operands.last_is_optional && id == kInvalidId && &id == &operands.inputs.back()) {
        node.inputs.push_back(-1);
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(const int index, Find(id));
      if (!written_[static_cast<size_t>(index)]) {
        return Invalid(absl::StrCat("input ", id, " was not computed before"));
      }
      node.inputs.push_back(index);
    }
    ABSL_ASSIGN_OR_RETURN(node.output, Find(operands.output));
    if (written_[static_cast<size_t>(node.output)]) {
      return Invalid(absl::StrCat("output ", operands.output,
                                  " is a constant, an argument, or was computed before"));
    }
    return absl::OkStatus();
  }

  absl::Status AddNode(const fb::Node& wire) {
    Node node;
    node.type = wire.node_type();
    node.debug_handle = wire.debug_handle();
    const NodeRule* rule = FindNodeRule(node.type);
    if (rule == nullptr || !(rule->fp32 || rule->qint8 || rule->function)) {
      return absl::UnimplementedError(absl::StrCat("node type ", static_cast<int>(node.type), ", ",
                                                   NodeTypeName(node.type),
                                                   ", is not supported by this XNNPACK"));
    }
    if (const fb::OutputMinMax* bounds = wire.output_min_max(); bounds != nullptr) {
      node.min = bounds->output_min();
      node.max = bounds->output_max();
      // Also rejects NaN.
      if (!(node.min < node.max)) {
        return Invalid(absl::StrCat("expected bounds that are less and greater, got ", node.min,
                                    " and ", node.max));
      }
    }
    ABSL_ASSIGN_OR_RETURN(const OperandIds operands, ReadNodeFields(wire, node));
    ABSL_RETURN_IF_ERROR(Resolve(operands, node));
    ABSL_RETURN_IF_ERROR(CheckDatatypes(*rule, node));
    std::vector<const Sizes*> sizes;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value* value = graph_.input(node, static_cast<int>(i));
      sizes.push_back(value == nullptr ? nullptr : &value->sizes);
    }
    ABSL_ASSIGN_OR_RETURN(const Sizes computed, OutputSizes(node, sizes));
    const Value& output = graph_.values[node.output];
    if (!(computed == output.sizes)) {
      return Invalid(absl::StrCat("it computes sizes ", FormatSizes(computed), ", its output ",
                                  output.id, " has ", FormatSizes(output.sizes)));
    }
    written_[node.output] = true;
    graph_.nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  static bool HasWeights(NodeType type) {
    return type == NodeType::FullyConnected || type == NodeType::Conv2d ||
           type == NodeType::DepthwiseConv2d || type == NodeType::ConvTranspose2d;
  }

  absl::Status CheckDatatypes(const NodeRule& rule, const Node& node) const {
    const Value& input = *graph_.input(node, 0);
    const Value& output = graph_.values[node.output];
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
      return CheckWeights(node, input, *graph_.input(node, 1), graph_.input(node, 2), output);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = *graph_.input(node, static_cast<int>(i));
      if (value.datatype != output.datatype) return unsupported(value);
      if (rule.moves && (value.scale != output.scale || value.zero_point != output.zero_point)) {
        return absl::UnimplementedError(
            absl::StrCat("values ", value.id, " and ", output.id,
                         " have different quantization parameters, which it does not convert"));
      }
    }
    if (node.type == NodeType::PReLU && !graph_.input(node, 1)->is_constant) {
      return absl::UnimplementedError("slopes that are not constant");
    }
    return absl::OkStatus();
  }

  static absl::Status CheckWeights(const Node& node, const Value& input, const Value& filter,
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
        return Invalid(absl::StrCat("a filter with zero point ", filter.zero_point));
      }
      const int channels = node.type == NodeType::DepthwiseConv2d ? 3 : 0;
      if (filter.datatype == Datatype::QCINT8) {
        if (node.type == NodeType::FullyConnected && (node.flags & 1) != 0) {
          return absl::UnimplementedError("a QCINT8 filter that is stored [in, out]");
        }
        if (filter.channel_dim == channels) return absl::OkStatus();
        return Invalid(absl::StrCat("a filter of sizes ", FormatSizes(filter.sizes),
                                    " with channel_dim ", filter.channel_dim));
      }
    }
    return absl::UnimplementedError(absl::StrCat(
        "input ", DatatypeName(input.datatype), ", filter ", DatatypeName(filter.datatype),
        ", bias ", bias == nullptr ? "none" : DatatypeName(bias->datatype), ", output ",
        DatatypeName(output.datatype), " is not a supported combination"));
  }

  const fb::Graph& root_;
  absl::Span<const std::byte> region_;
  const NamedDataMap& named_data_;
  size_t arguments_, outputs_;
  MemoryBudget& memory_;
  std::vector<bool> argument_taken_, output_taken_;
  Graph graph_;
  absl::flat_hash_map<uint32_t, int> index_of_id_;
  std::vector<bool> written_;  // by value
};

}  // namespace

std::string DescribeNode(const Graph& graph, size_t index) {
  return absl::StrCat("node ", index, " (", NodeTypeName(graph.nodes[index].type), ")");
}

absl::StatusOr<Graph> ReadGraph(absl::Span<const std::byte> payload, const NamedDataMap& named_data,
                                size_t arguments, size_t outputs, MemoryBudget& memory) {
  ABSL_ASSIGN_OR_RETURN(const PayloadParts parts, SplitPayload(payload));
  ABSL_RETURN_IF_ERROR(memory.Take(parts.flatbuffer.size(), kTables));
  ABSL_ASSIGN_OR_RETURN(const AlignedBuffer tables, AlignedBuffer::Create(parts.flatbuffer.size()));
  std::copy(parts.flatbuffer.begin(), parts.flatbuffer.end(), tables.data());
  ABSL_ASSIGN_OR_RETURN(const fb::Graph* root, VerifiedGraph(tables));
  MemoryBound bound;
  bound.Add(root->values() == nullptr ? 0 : root->values()->size(), sizeof(Value) + 32);
  bound.Add(root->nodes() == nullptr ? 0 : root->nodes()->size(), sizeof(Node) + 64);
  bound.Add(arguments + outputs, 2);
  ABSL_RETURN_IF_ERROR(memory.Take(bound.bytes(), kTables));
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), kTables));
  return Reader(*root, parts.constants, named_data, arguments, outputs, memory).Read();
}

}  // namespace belay::xnnpack
