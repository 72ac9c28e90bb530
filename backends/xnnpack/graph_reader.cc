#include "backends/xnnpack/graph_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
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
#include "runtime/core/element.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/read_ahead.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

constexpr uint32_t kMaxExternals = 4096;  // limit of ExecuTorch's runtime
constexpr int64_t kMaxBytes = int64_t{1} << 47;
constexpr std::string_view kTables = "the payload's tables";

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

// Bytes of a value; nullopt if the datatype has no elements in memory, or on overflow. Rows of 4-bit
// elements have an even length (CheckSizes).
std::optional<int64_t> ByteSize(Datatype datatype, const Sizes& sizes) {
  const std::optional<int64_t> numel = NumElements(sizes);
  if (!numel.has_value()) return std::nullopt;
  switch (datatype) {
    case Datatype::FP32:
    case Datatype::QINT32:
    case Datatype::QCINT32:
    case Datatype::INT32:
      return CheckedMul(*numel, int64_t{4});
    case Datatype::FP16:
    case Datatype::BF16:
      return CheckedMul(*numel, int64_t{2});
    case Datatype::QINT8:
    case Datatype::QUINT8:
    case Datatype::QCINT8:
    case Datatype::QDINT8:
    case Datatype::QPINT8:
      return *numel;
    case Datatype::QCINT4:
    case Datatype::QBINT4:
      return *numel / 2;
    default:
      return std::nullopt;
  }
}

// The quantization parameters of a datatype.
enum class Quantization : uint8_t { kNone, kTensor, kChannel, kToken, kGroup };
Quantization QuantizationOf(Datatype datatype) {
  switch (datatype) {
    case Datatype::QINT8:
    case Datatype::QUINT8:
    case Datatype::QINT32:
      return Quantization::kTensor;
    case Datatype::QCINT8:
    case Datatype::QCINT4:
    case Datatype::QCINT32:
      return Quantization::kChannel;
    case Datatype::QDINT8:
    case Datatype::QPINT8:
      return Quantization::kToken;
    case Datatype::QBINT4:
      return Quantization::kGroup;
    default:
      return Quantization::kNone;
  }
}

bool ZeroPointFits(Datatype datatype, int32_t zero_point) {
  switch (datatype) {
    case Datatype::QINT8:
      return zero_point >= INT8_MIN && zero_point <= INT8_MAX;
    case Datatype::QUINT8:
      return zero_point >= 0 && zero_point <= UINT8_MAX;
    default:
      return zero_point == 0;
  }
}

absl::Status CheckScale(float scale) {
  if (scale > 0 && std::isnormal(scale)) return absl::OkStatus();
  return Invalid(absl::StrCat("expected a positive normal number as scale, got ", scale));
}

class Reader {
 public:
  Reader(const fb::Graph& root, absl::Span<const std::byte> region, const NamedDataMap& named_data,
         size_t arguments, size_t outputs, const GraphSupport& support, MemoryBudget& memory)
      : root_(root),
        region_(region),
        named_data_(named_data),
        arguments_(arguments),
        outputs_(outputs),
        support_(support),
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
      ABSL_ASSIGN_OR_RETURN(
          const absl::Span<const std::byte> bytes,
          named_data_.Find(std::string_view(entry.named_key()->data(), entry.named_key()->size())));
      ReadAhead(bytes);
      return bytes;
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
    ABSL_RETURN_IF_ERROR(support_.check_value(value));
    if (tensor->dq_datatype() != Datatype::INVALID) {
      return absl::UnimplementedError(absl::StrCat("datatype ", DatatypeName(tensor->dq_datatype()),
                                                   " as a dynamic quantization is not supported"));
    }
    const bool nibbles = value.datatype == Datatype::QCINT4 || value.datatype == Datatype::QBINT4;
    if (nibbles && (value.sizes.size() != 2 || value.sizes[1] % 2 != 0)) {
      return absl::UnimplementedError(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                                   " of sizes ", FormatSizes(value.sizes),
                                                   ", expected a matrix with rows of even length"));
    }
    const std::optional<int64_t> bytes = ByteSize(value.datatype, value.sizes);
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
    const Quantization kind = QuantizationOf(value.datatype);
    if (kind == Quantization::kNone && wire == nullptr) return absl::OkStatus();
    if (wire == nullptr) {
      return Invalid(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                  " without quantization parameters"));
    }
    if (const fb::PerTensorQuant* quant = wire->quant_params_as_PerTensorQuant();
        quant != nullptr && kind == Quantization::kTensor) {
      value.scale = quant->scale();
      value.zero_point = quant->zero_point();
      ABSL_RETURN_IF_ERROR(CheckScale(value.scale));
      if (ZeroPointFits(value.datatype, value.zero_point)) return absl::OkStatus();
      return Invalid(absl::StrCat("datatype ", DatatypeName(value.datatype), " with zero point ",
                                  value.zero_point));
    }
    if (const fb::PerTokenDynamicQuant* quant = wire->quant_params_as_PerTokenDynamicQuant();
        quant != nullptr && kind == Quantization::kToken) {
      value.nonbatch_dims = quant->num_nonbatch_dims();
      if (value.nonbatch_dims >= 1 && value.nonbatch_dims <= value.sizes.size()) {
        return absl::OkStatus();
      }
      return Invalid(absl::StrCat(value.nonbatch_dims,
                                  " dimensions that are not batches, of sizes ",
                                  FormatSizes(value.sizes)));
    }
    if (const fb::PerChannelQuant* quant = wire->quant_params_as_PerChannelQuant();
        quant != nullptr && kind == Quantization::kChannel) {
      ABSL_RETURN_IF_ERROR(CheckIsConstant(value));
      if (quant->channel_dim() < 0 || quant->channel_dim() >= value.sizes.size()) {
        return Invalid(absl::StrCat("channel_dim ", quant->channel_dim(), " of sizes ",
                                    FormatSizes(value.sizes)));
      }
      value.channel_dim = quant->channel_dim();
      return ReadScales(*quant, static_cast<uint64_t>(value.sizes[value.channel_dim]),
                        sizeof(float), value);
    }
    if (const fb::PerChannelGroupQuant* quant = wire->quant_params_as_PerChannelGroupQuant();
        quant != nullptr && kind == Quantization::kGroup) {
      ABSL_RETURN_IF_ERROR(CheckIsConstant(value));
      value.group_size = quant->group_size();
      if (quant->channel_dim() != 0 || value.group_size < 1 ||
          value.sizes[1] % value.group_size != 0) {
        return Invalid(absl::StrCat("groups of ", value.group_size, " along channel_dim ",
                                    quant->channel_dim(), " of sizes ", FormatSizes(value.sizes)));
      }
      return ReadScales(*quant,
                        static_cast<uint64_t>(value.sizes[0] * (value.sizes[1] / value.group_size)),
                        sizeof(uint16_t), value);
    }
    return Invalid(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                " with quantization parameters of kind ",
                                static_cast<int>(wire->quant_params_type())));
  }

  static absl::Status CheckIsConstant(const Value& value) {
    if (value.is_constant) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("datatype ", DatatypeName(value.datatype),
                                                 " of a value that is not constant"));
  }

  // Reads `expected` scales: floats in the table, or a constant whose elements have
  // `constant_bytes` bytes: 4 for floats, 2 for bfloat16.
  template <class Quant>
  absl::Status ReadScales(const Quant& quant, uint64_t expected, size_t constant_bytes,
                          Value& value) {
    const bool in_table = quant.scale_buffer_idx() == 0;
    const size_t element = in_table ? sizeof(float) : constant_bytes;
    absl::Span<const std::byte> bytes;
    uint64_t count = quant.num_scales();
    if (in_table) {
      count = quant.scale() == nullptr ? 0 : quant.scale()->size();
      if (count > 0) bytes = {reinterpret_cast<const std::byte*>(quant.scale()->Data()), count * 4};
    } else {
      ABSL_ASSIGN_OR_RETURN(bytes, Constant(quant.scale_buffer_idx()));
    }
    if (count != expected || bytes.size() / element < count) {
      return Invalid(absl::StrCat("expected ", expected, " scales, got ", count, " in ",
                                  bytes.size(), " bytes"));
    }
    // At most the constant's bytes; but many values may share one constant.
    ABSL_RETURN_IF_ERROR(memory_.Take(count * sizeof(float), "scales"));
    ABSL_RETURN_IF_ERROR(CheckMemory(count * sizeof(float), "scales"));
    value.channel_scales.resize(count);
    for (size_t i = 0; i < count; ++i) {
      if (element == sizeof(float)) {
        std::memcpy(&value.channel_scales[i], bytes.data() + i * element, element);
      } else {
        uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * element, element);
        value.channel_scales[i] = BFloat16BitsToFloat(bits);
      }
      ABSL_RETURN_IF_ERROR(CheckScale(value.channel_scales[i]));
    }
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
    if (!HasNodeFields(node.type)) {
      return absl::UnimplementedError(absl::StrCat("node type ", static_cast<int>(node.type), ", ",
                                                   NodeTypeName(node.type), ", is not supported"));
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
    ABSL_RETURN_IF_ERROR(support_.check_node(graph_, node));
    std::vector<const Sizes*> sizes;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value* value = graph_.input(node, static_cast<int>(i));
      sizes.push_back(value == nullptr ? nullptr : &value->sizes);
    }
    Sizes common[2];
    if (support_.sizes_are_bounds && Broadcasts(node.type)) {
      std::tie(common[0], common[1]) = CommonBounds(*sizes[0], *sizes[1]);
      sizes = {&common[0], &common[1]};
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

  const fb::Graph& root_;
  absl::Span<const std::byte> region_;
  const NamedDataMap& named_data_;
  size_t arguments_, outputs_;
  const GraphSupport& support_;
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
                                size_t arguments, size_t outputs, const GraphSupport& support,
                                MemoryBudget& memory) {
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
  return Reader(*root, parts.constants, named_data, arguments, outputs, support, memory).Read();
}

}  // namespace belay::xnnpack
