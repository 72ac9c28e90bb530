#include "backends/xnnpack/testing/payload_builder.h"

#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "executorch/format/xnnpack_payload.h"
#include "flatbuffers/flatbuffers.h"

namespace belay::xnnpack {
namespace {

constexpr size_t kConstantsSizeOffset = 22;

}  // namespace

uint32_t PayloadBuilder::AddValue(fb::TensorValueT tensor) {
  const auto id = static_cast<uint32_t>(graph_.values.size());
  tensor.id_out = id;
  tensor.num_dims = static_cast<uint32_t>(tensor.dims.size());
  tensor.datatype = Datatype::FP32;
  auto value = std::make_unique<fb::ValueT>();
  value->value.Set(std::move(tensor));
  graph_.values.push_back(std::move(value));
  return id;
}

uint32_t PayloadBuilder::Tensor(std::vector<uint32_t> dims) {
  fb::TensorValueT tensor;
  tensor.dims = std::move(dims);
  tensor.external_id = kNoId;
  return AddValue(std::move(tensor));
}

uint32_t PayloadBuilder::Input(uint32_t external_id, std::vector<uint32_t> dims) {
  const uint32_t id = Tensor(std::move(dims));
  tensor(id).external_id = external_id;
  tensor(id).flags = 1;
  graph_.num_externs = std::max(graph_.num_externs, external_id + 1);
  return id;
}

uint32_t PayloadBuilder::Output(uint32_t external_id, std::vector<uint32_t> dims) {
  const uint32_t id = Input(external_id, std::move(dims));
  tensor(id).flags = 2;
  return id;
}

uint32_t PayloadBuilder::Constant(std::vector<uint32_t> dims, const std::vector<float>& elements) {
  const uint32_t id = Tensor(std::move(dims));
  if (graph_.constant_data.empty()) {
    graph_.constant_data.push_back(std::make_unique<fb::ConstantDataOffsetT>());
  }
  tensor(id).constant_buffer_idx = static_cast<uint32_t>(graph_.constant_data.size());
  auto entry = std::make_unique<fb::ConstantDataOffsetT>();
  entry->offset = constants_.size();
  entry->size = elements.size() * sizeof(float);
  graph_.constant_data.push_back(std::move(entry));
  constants_.append(reinterpret_cast<const char*>(elements.data()),
                    elements.size() * sizeof(float));
  return id;
}

fb::TensorValueT& PayloadBuilder::tensor(uint32_t id) {
  fb::ValueUnionUnion& value = graph_.values[id]->value;
  if (auto* quantized = value.AsQuantizedTensorValue()) return *quantized->tensor_value;
  return *value.AsTensorValue();
}

void PayloadBuilder::Quantize(uint32_t id, Datatype datatype, float scale, int32_t zero_point) {
  fb::QuantizedTensorValueT quantized;
  quantized.tensor_value = std::make_unique<fb::TensorValueT>(tensor(id));
  quantized.tensor_value->datatype = datatype;
  fb::PerTensorQuantT quant;
  quant.scale = scale;
  quant.zero_point = zero_point;
  quantized.quant_params.Set(std::move(quant));
  graph_.values[id]->value.Set(std::move(quantized));
}

void PayloadBuilder::QuantizeChannels(uint32_t id, Datatype datatype, std::vector<float> scales,
                                      int32_t channel_dim) {
  Quantize(id, datatype, 1, 0);
  fb::PerChannelQuantT quant;
  quant.scale = std::move(scales);
  quant.channel_dim = channel_dim;
  graph_.values[id]->value.AsQuantizedTensorValue()->quant_params.Set(std::move(quant));
}

void PayloadBuilder::QuantizeRows(uint32_t id, int32_t nonbatch_dims) {
  Quantize(id, Datatype::QDINT8, 1, 0);
  fb::PerTokenDynamicQuantT quant;
  quant.num_nonbatch_dims = nonbatch_dims;
  graph_.values[id]->value.AsQuantizedTensorValue()->quant_params.Set(std::move(quant));
}

void PayloadBuilder::QuantizeGroups(uint32_t id, std::vector<float> scales, int32_t group_size) {
  Quantize(id, Datatype::QBINT4, 1, 0);
  fb::PerChannelGroupQuantT quant;
  quant.scale = std::move(scales);
  quant.group_size = group_size;
  graph_.values[id]->value.AsQuantizedTensorValue()->quant_params.Set(std::move(quant));
}

fb::UnaryT& PayloadBuilder::Unary(NodeType type, uint32_t input, uint32_t output) {
  fb::UnaryT fields;
  fields.input_id = input;
  fields.output_id = output;
  return Add(type, fields);
}

fb::BinaryT& PayloadBuilder::Binary(NodeType type, uint32_t input1, uint32_t input2,
                                    uint32_t output) {
  fb::BinaryT fields;
  fields.input1_id = input1;
  fields.input2_id = input2;
  fields.output_id = output;
  return Add(type, fields);
}

void PayloadBuilder::Bounds(float min, float max) {
  auto bounds = std::make_unique<fb::OutputMinMaxT>();
  bounds->output_min = min;
  bounds->output_max = max;
  graph_.nodes.back()->output_min_max = std::move(bounds);
}

std::string PayloadBuilder::SerializeGraph(const char* identifier) const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Graph::Pack(builder, &graph_), identifier);
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

std::string PayloadBuilder::Serialize() const {
  const std::string graph = SerializeGraph();
  std::string payload =
      JoinPayload({reinterpret_cast<const std::byte*>(graph.data()), graph.size()});
  flatbuffers::WriteScalar<uint64_t>(payload.data() + kConstantsSizeOffset, constants_.size());
  return payload + constants_;
}

}  // namespace belay::xnnpack
