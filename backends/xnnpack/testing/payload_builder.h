// Builds valid payloads for tests through flatc's object API; a test then modifies them.
//
//   PayloadBuilder payload;
//   const uint32_t x = payload.Input(0, {2, 3}), y = payload.Output(1, {2, 3});
//   payload.Unary(NodeType::Abs, x, y);
//   payload.tensor(y).dims = {2, 4};
//   EXPECT_THAT(Read(payload.Serialize()), StatusIs(…));
#ifndef BELAY_BACKENDS_XNNPACK_TESTING_PAYLOAD_BUILDER_H_
#define BELAY_BACKENDS_XNNPACK_TESTING_PAYLOAD_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/xnnpack/graph.h"

namespace belay::xnnpack {

inline constexpr uint32_t kNoId = UINT32_MAX;

class PayloadBuilder {
 public:
  fb::GraphT& graph() { return graph_; }

  // Each returns the value's id, which is its index.
  uint32_t Tensor(std::vector<uint32_t> dims);
  uint32_t Input(uint32_t external_id, std::vector<uint32_t> dims);
  uint32_t Output(uint32_t external_id, std::vector<uint32_t> dims);
  // Stores its elements in the payload.
  uint32_t Constant(std::vector<uint32_t> dims, const std::vector<float>& elements);
  fb::TensorValueT& tensor(uint32_t id);

  // Sets quantization parameters: Quantize for QINT8, QUINT8 and QINT32, QuantizeChannels for
  // QCINT8, QCINT4 and QCINT32, QuantizeRows for QDINT8, QuantizeGroups for QBINT4.
  void Quantize(uint32_t id, Datatype datatype, float scale, int32_t zero_point);
  void QuantizeChannels(uint32_t id, Datatype datatype, std::vector<float> scales,
                        int32_t channel_dim);
  void QuantizeRows(uint32_t id, int32_t nonbatch_dims);
  void QuantizeGroups(uint32_t id, std::vector<float> scales, int32_t group_size);

  // Appends a node and returns its fields.
  template <class FieldsT>
  FieldsT& Add(NodeType type, FieldsT fields = {}) {
    graph_.nodes.push_back(std::make_unique<fb::NodeT>());
    fb::NodeUnionUnion& node = graph_.nodes.back()->node;
    node.type = type;
    auto* added = new FieldsT(std::move(fields));
    node.value = added;  // takes ownership
    return *added;
  }
  fb::UnaryT& Unary(NodeType type, uint32_t input, uint32_t output);
  fb::BinaryT& Binary(NodeType type, uint32_t input1, uint32_t input2, uint32_t output);
  void Bounds(float min, float max);  // of the last node

  // Serializes with header and constants.
  std::string Serialize() const;
  // Serializes only the FlatBuffer, with this identifier.
  std::string SerializeGraph(const char* identifier = "XN01") const;

 private:
  uint32_t AddValue(fb::TensorValueT tensor);

  fb::GraphT graph_;
  std::string constants_;
};

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_TESTING_PAYLOAD_BUILDER_H_
