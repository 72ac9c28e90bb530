#include "backends/xnnpack/graph_reader.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "backends/xnnpack/testing/sample_payloads.h"
#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const PayloadBuilder& payload, absl::StatusCode code, const std::string& message,
                   const TestNamedData& data = {}) {
  EXPECT_THAT(Read(payload.Serialize(), 1, 1, data), StatusIs(code, HasSubstr(message)));
}
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

TEST(GraphReaderTest, ReadsAGraph) {
  Conv payload;
  payload.Bounds(0, 6);
  payload.graph().nodes[0]->debug_handle = 7;
  ASSERT_OK_AND_ASSIGN(const Graph graph, Read(payload.Serialize()));
  ASSERT_EQ(graph.values.size(), 4u);
  EXPECT_EQ(graph.values[0].argument, 0);
  EXPECT_EQ(graph.values[1].output, 0);
  EXPECT_EQ(graph.values[2].constant.size(), 54 * sizeof(float));
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& node = graph.nodes[0];
  EXPECT_EQ(DescribeNode(graph, 0), "node 0 (Conv2d)");
  EXPECT_EQ(node.inputs, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(node.output, 1);
  EXPECT_EQ(node.min, 0);
  EXPECT_EQ(node.max, 6);
  EXPECT_EQ(node.debug_handle, 7u);
  EXPECT_EQ(node.window.stride_height, 2);
}

TEST(GraphReaderTest, ReadsOldPayloadsWithoutHeader) {
  EXPECT_OK(Read(Abs().SerializeGraph("XN00")).status());
}

TEST(GraphReaderTest, FindsConstantsInNamedData) {
  Conv payload;
  fb::ConstantDataOffsetT& entry = *payload.graph().constant_data[1];
  entry.offset = UINT64_MAX;
  entry.named_key = "weight";
  TestNamedData data;
  data.entries["weight"] = std::string(54 * sizeof(float), '\0');
  ASSERT_OK_AND_ASSIGN(const Graph graph, Read(payload.Serialize(), 1, 1, data));
  EXPECT_EQ(reinterpret_cast<const char*>(graph.values[2].constant.data()),
            data.entries["weight"].data());
  ExpectRefused(payload, absl::StatusCode::kNotFound, "value 2: no such key");
  data.entries["weight"].pop_back();
  ExpectRefused(payload, kInvalid, "needs 216 bytes, constant 1 has 215", data);
}

// --- The bytes ---

TEST(GraphReaderTest, RejectsADamagedHeader) {
  const std::string good = Abs().Serialize();
  EXPECT_THAT(Read(good.substr(0, 20)), StatusIs(kDataLoss, HasSubstr("expected at least 30")));
  EXPECT_THAT(Read(""), StatusIs(kDataLoss, HasSubstr("expected at least 8")));
  const auto with = [&](size_t at, uint32_t number) {
    std::string bytes = good;
    flatbuffers::WriteScalar<uint32_t>(bytes.data() + at, number);
    return bytes;
  };
  EXPECT_THAT(Read(with(10, 1u << 31)), StatusIs(kDataLoss, HasSubstr("a graph of")));
  EXPECT_THAT(Read(with(14, UINT32_MAX)), StatusIs(kDataLoss, HasSubstr("a graph of")));
  EXPECT_THAT(Read(with(18, 32)), StatusIs(kDataLoss, HasSubstr("bytes of constants at 32")));
  EXPECT_THAT(Read(with(18, UINT32_MAX)), StatusIs(kDataLoss, HasSubstr("bytes of constants")));
  EXPECT_THAT(Read(with(22, 1)), StatusIs(kDataLoss, HasSubstr("1 bytes of constants")));
}

TEST(GraphReaderTest, RejectsAnotherVersion) {
  EXPECT_THAT(Read(Abs().SerializeGraph("XN02")), StatusIs(kUnimplemented, HasSubstr("XN01")));
}

TEST(GraphReaderTest, RejectsDamagedTables) {
  std::string bytes = Abs().Serialize();
  flatbuffers::WriteScalar<uint32_t>(bytes.data() + 32, 1u << 30);  // the root's offset
  EXPECT_THAT(Read(bytes), StatusIs(kDataLoss, HasSubstr("damaged")));
}

TEST(GraphReaderTest, RejectsEveryTruncation) {
  const std::string good = Conv().Serialize();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Read(good.substr(0, size)).ok()) << size;
  }
}

TEST(GraphReaderTest, DamagedBytesYieldAnErrorOrAGraph) {
  const std::string good = Conv().Serialize();
  for (size_t i = 0; i < good.size(); ++i) {
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ flip);
      Read(bytes).IgnoreError();
    }
  }
}

// Tables that the object API never writes: any field may be missing.
std::string Finish(flatbuffers::FlatBufferBuilder& builder, const fb::GraphBuilder& graph) {
  builder.Finish(const_cast<fb::GraphBuilder&>(graph).Finish(), fb::GraphIdentifier());
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

TEST(GraphReaderTest, RejectsAGraphWithoutLists) {
  for (const bool values : {false, true}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto no_values = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Value>>());
    const auto no_nodes = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Node>>());
    fb::GraphBuilder graph(builder);
    if (values) graph.add_values(no_values);
    if (!values) graph.add_nodes(no_nodes);
    EXPECT_THAT(
        Read(Finish(builder, graph), 0, 0),
        StatusIs(kInvalid, HasSubstr("the graph has no list of values or no list of nodes")));
  }
}

TEST(GraphReaderTest, AllowsEmptyConstantListsAndMissingKeys) {
  const auto with = [](const std::vector<fb::ConstantDataOffsetT>& entries) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<fb::ConstantDataOffset>> offsets;
    for (const fb::ConstantDataOffsetT& entry : entries) {
      offsets.push_back(fb::CreateConstantDataOffset(builder, entry.offset, entry.size));
    }
    const auto constants = builder.CreateVector(offsets);
    const std::vector<uint32_t> numbers = {3};
    const auto dims = builder.CreateVector(numbers);
    fb::TensorValueBuilder tensor(builder);
    tensor.add_datatype(Datatype::FP32);
    tensor.add_num_dims(1);
    tensor.add_dims(dims);
    tensor.add_constant_buffer_idx(1);
    tensor.add_external_id(kNoId);
    const auto value = tensor.Finish();
    const std::vector values = {
        fb::CreateValue(builder, fb::ValueUnion::TensorValue, value.Union())};
    const auto of_values = builder.CreateVector(values);
    const auto of_nodes = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Node>>());
    fb::GraphBuilder graph(builder);
    graph.add_values(of_values);
    graph.add_nodes(of_nodes);
    graph.add_constant_data(constants);
    return Finish(builder, graph);
  };
  EXPECT_THAT(Read(with({}), 0, 0), StatusIs(kInvalid, HasSubstr("there are 0")));
  // Without a header, the payload has no constant bytes.
  fb::ConstantDataOffsetT entry;
  entry.size = 12;
  EXPECT_THAT(Read(with({{}, entry}), 0, 0),
              StatusIs(kInvalid, HasSubstr("12 bytes at 0 are not inside the payload's 0")));
}

TEST(GraphReaderTest, ChargesTablesToTheBudget) {
  EXPECT_THAT(Read(Abs().Serialize(), 1, 1, {}, 256),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("delegate_bytes")));
}

// --- Values ---

TEST(GraphReaderTest, RejectsTooManyExternals) {
  Abs payload;
  payload.graph().num_externs = 5000;
  ExpectRefused(payload, kInvalid, "5000 external values");
}

TEST(GraphReaderTest, RejectsAValueThatIsNotATensor) {
  Abs payload;
  payload.graph().values[0]->value.Reset();
  ExpectRefused(payload, kInvalid, "value 0: it is not a tensor");
}

TEST(GraphReaderTest, RejectsIds) {
  Abs none;
  none.tensor(0).id_out = kNoId;
  ExpectRefused(none, kInvalid, "value 0: it has no id");
  Abs same;
  same.tensor(1).id_out = 0;
  ExpectRefused(same, kInvalid, "value 1: the id 0 is a duplicate");
}

TEST(GraphReaderTest, RejectsDims) {
  Abs count;
  count.tensor(0).num_dims = 3;
  ExpectRefused(count, kInvalid, "expected 3 numbers, got 2");
  Abs rank;
  rank.tensor(0).dims.assign(7, 1);
  rank.tensor(0).num_dims = 7;
  ExpectRefused(rank, kInvalid, "7 dimensions, at most 6");
  Abs empty;
  empty.tensor(0).dims = {0, 3};
  ExpectRefused(empty, kInvalid, "[0,3] have no elements");
  Abs large;
  large.tensor(0).dims = {UINT32_MAX, UINT32_MAX};
  ExpectRefused(large, kInvalid, "too large");
  // The limit is 2^47 - 1 bytes.
  Abs most;
  most.tensor(0).dims = most.tensor(1).dims = {1u << 16, 1u << 16, 1u << 13};
  most.tensor(0).num_dims = most.tensor(1).num_dims = 3;
  ExpectRefused(most, kInvalid, "sizes [65536,65536,8192] are too large");
  most.tensor(0).dims[2] = most.tensor(1).dims[2] = (1u << 13) - 1;
  EXPECT_OK(Read(most.Serialize()).status());
  Abs overflow;
  overflow.tensor(0).dims.assign(6, UINT32_MAX);
  overflow.tensor(0).num_dims = 6;
  ExpectRefused(overflow, kInvalid, "too large");
}

TEST(GraphReaderTest, RejectsDatatypes) {
  Abs half;
  half.tensor(0).datatype = Datatype::FP16;
  ExpectRefused(half, kUnimplemented, "value 0: datatype FP16 is not supported");
  Abs unknown;
  unknown.tensor(0).datatype = static_cast<Datatype>(99);
  ExpectRefused(unknown, kUnimplemented, "unknown datatype");
  Abs dynamic;
  dynamic.tensor(0).dq_datatype = Datatype::QINT8;
  ExpectRefused(dynamic, kUnimplemented, "datatype QINT8 as a dynamic quantization");
}

TEST(GraphReaderTest, RejectsExternals) {
  Abs flags;
  flags.tensor(0).flags = 3;
  ExpectRefused(flags, kInvalid, "flags 3 with external id 0");
  Abs unflagged;
  unflagged.tensor(0).flags = 0;
  ExpectRefused(unflagged, kInvalid, "flags 0 with external id 0");
  Abs unnamed;
  unnamed.tensor(0).external_id = kNoId;
  ExpectRefused(unnamed, kInvalid, "flags 1 with external id 4294967295");
  Abs few;
  few.graph().num_externs = 1;
  ExpectRefused(few, kInvalid, "external id 1 of 1");
  Abs direction;
  direction.tensor(0).external_id = 1;
  ExpectRefused(direction, kInvalid,
                "external id 1 is an output of the call, the value is an input");
  Abs twice;
  twice.Input(0, {2, 3});
  ExpectRefused(twice, kInvalid, "external id 0 is used twice");
  Abs beyond;  // within the external values, but not of the call
  beyond.graph().num_externs = 5;
  beyond.tensor(0).external_id = 3;
  ExpectRefused(beyond, kInvalid, "external id 3 of 5; the call has 1 arguments and 1 outputs");
  EXPECT_THAT(Read(Abs().Serialize(), 1, 2), StatusIs(kInvalid, HasSubstr("no value is output 1")));
  EXPECT_THAT(Read(Abs().Serialize(), 0, 1), StatusIs(kInvalid, HasSubstr("external id 0")));
}

TEST(GraphReaderTest, RejectsConstants) {
  Conv missing;
  missing.tensor(missing.filter).constant_buffer_idx = 9;
  ExpectRefused(missing, kInvalid, "constant 9 does not exist, there are 3");
  Conv outside;
  outside.graph().constant_data[1]->offset = 40;
  ExpectRefused(outside, kInvalid, "216 bytes at 40 are not inside the payload's 228");
  Conv far;
  far.graph().constant_data[1]->offset = UINT64_MAX;
  ExpectRefused(far, kInvalid, "are not inside the payload's");
  Conv small;
  small.graph().constant_data[1]->size = 8;
  ExpectRefused(small, kInvalid, "needs 216 bytes, constant 1 has 8");
  Conv external;
  external.tensor(external.x).constant_buffer_idx = 1;
  ExpectRefused(external, kInvalid, "a constant is an external value");
  Conv old;
  old.graph().constant_data.clear();
  ExpectRefused(old, kInvalid, "constant 1 does not exist");
  for (int i = 0; i < 3; ++i) {
    old.graph().constant_buffer.push_back(std::make_unique<fb::BufferT>());
  }
  ExpectRefused(old, kUnimplemented, "XN00");
}

TEST(GraphReaderTest, RejectsQuantizationParameters) {
  const auto with = [](Datatype datatype, float scale, int32_t zero_point) {
    Abs payload;
    payload.Quantize(payload.x, datatype, scale, zero_point);
    return payload.Serialize();
  };
  const auto refused = [](const std::string& payload, const char* message) {
    EXPECT_THAT(Read(payload), StatusIs(kInvalid, HasSubstr(message)));
  };
  for (float scale : {0.0f, -1.0f, 1e-45f, std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::quiet_NaN()}) {
    refused(with(Datatype::QINT8, scale, 0), "expected a positive normal number as scale");
  }
  refused(with(Datatype::QINT8, 1, 128), "datatype QINT8 with zero point 128");
  refused(with(Datatype::QINT8, 1, -129), "datatype QINT8 with zero point -129");
  refused(with(Datatype::QINT32, 1, 1), "datatype QINT32 with zero point 1");
  refused(with(Datatype::QCINT8, 1, 0), "datatype QCINT8 with quantization parameters of kind 2");
  Abs none;
  none.tensor(0).datatype = Datatype::QINT8;
  refused(none.Serialize(), "datatype QINT8 without quantization parameters");
  none.tensor(0).datatype = Datatype::QCINT8;
  refused(none.Serialize(), "datatype QCINT8 without quantization parameters");
  Abs channels;  // for a datatype with one scale
  channels.QuantizeChannels(channels.x, Datatype::QINT8, {1, 2}, 0);
  refused(channels.Serialize(), "datatype QINT8 with quantization parameters of kind 1");
}

TEST(GraphReaderTest, ReadsChannelScales) {
  QuantizedConv payload;
  ASSERT_OK_AND_ASSIGN(Graph graph, Read(payload.Serialize()));
  EXPECT_EQ(graph.values[2].channel_scales, (std::vector<float>{1, 2, 3}));
  payload.scales().scale.clear();
  payload.scales().scale_buffer_idx = 2;  // the bias' bytes: 1, 2, 3
  payload.scales().num_scales = 3;
  ASSERT_OK_AND_ASSIGN(graph, Read(payload.Serialize()));
  EXPECT_EQ(graph.values[2].channel_scales, (std::vector<float>{1, 2, 3}));
}

TEST(GraphReaderTest, RejectsChannelScales) {
  QuantizedConv dim;
  dim.scales().channel_dim = 4;
  ExpectRefused(dim, kInvalid, "channel_dim 4 of sizes [3,3,3,2]");
  QuantizedConv negative;
  negative.scales().channel_dim = -1;
  ExpectRefused(negative, kInvalid, "channel_dim -1");
  QuantizedConv other;
  other.scales().channel_dim = 1;
  ExpectRefused(other, kInvalid, "a filter of sizes [3,3,3,2] with channel_dim 1");
  QuantizedConv few;
  few.scales().scale.pop_back();
  ExpectRefused(few, kInvalid, "expected 3 scales, got 2");
  QuantizedConv zero;
  zero.scales().scale[1] = 0;
  ExpectRefused(zero, kInvalid, "expected a positive normal number as scale, got 0");
  QuantizedConv shorter;
  shorter.scales().scale.clear();
  shorter.scales().scale_buffer_idx = 2;
  shorter.scales().num_scales = 3;
  shorter.graph().constant_data[2]->size = 11;
  ExpectRefused(shorter, kInvalid, "expected 3 scales, got 3 in 11 bytes");
  QuantizedConv empty;
  empty.scales().scale.clear();
  ExpectRefused(empty, kInvalid, "expected 3 scales, got 0 in 0 bytes");
  QuantizedConv missing;
  missing.scales().scale.clear();
  missing.scales().scale_buffer_idx = 9;
  ExpectRefused(missing, kInvalid, "value 2: constant 9 does not exist, there are 3");
  QuantizedConv variable;
  variable.QuantizeChannels(variable.x, Datatype::QCINT8, {1}, 0);
  ExpectRefused(variable, kUnimplemented, "of a value that is not constant");
}

// Too small a budget is an error; a sufficient one succeeds.
TEST(GraphReaderTest, ChargesScalesToTheBudget) {
  const std::string payload = QuantizedConv().Serialize();
  uint64_t least = 0;
  bool scales_were_too_many = false;
  for (; !Read(payload, 1, 1, {}, least).ok(); least += 4) {
    const absl::Status status = Read(payload, 1, 1, {}, least).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    scales_were_too_many |= absl::StrContains(status.message(), "scales");
    ASSERT_LT(least, 65536u);
  }
  EXPECT_TRUE(scales_were_too_many);
  EXPECT_OK(Read(payload, 1, 1, {}, least + 1).status());
}

// --- Datatypes that the library does not have ---

constexpr GraphSupport kAny = {[](const Value&) { return absl::OkStatus(); },
                               [](const Graph&, const Node&) { return absl::OkStatus(); }};

absl::StatusOr<Graph> ReadAny(const PayloadBuilder& payload) {
  return Read(payload.Serialize(), 1, 1, {}, 1 << 20, kAny);
}

// A linear layer of f32[2,4] by 4-bit weights [3, 4], quantized in groups of 2.
struct GroupedLinear : PayloadBuilder {
  uint32_t x = Input(0, {2, 4}), y = Output(1, {2, 3}), rows = Tensor({2, 4});
  uint32_t filter = Constant({3, 4}, {0, 0});
  fb::FullyConnectedT* node = nullptr;
  GroupedLinear() {
    QuantizeRows(rows, 1);
    QuantizeGroups(filter, {1, 2, 3, 4, 5, 6}, 2);
    Unary(NodeType::Convert, x, rows);
    node = &Add<fb::FullyConnectedT>(NodeType::FullyConnected);
    node->input1_id = rows;
    node->filter_id = filter;
    node->bias_id = kNoId;
    node->output_id = y;
  }
  fb::PerChannelGroupQuantT& groups() {
    return *graph()
                .values[filter]
                ->value.AsQuantizedTensorValue()
                ->quant_params.AsPerChannelGroupQuant();
  }
};

TEST(GraphReaderTest, ReadsRowsAndGroups) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, ReadAny(GroupedLinear()));
  EXPECT_EQ(graph.values[2].nonbatch_dims, 1);
  EXPECT_EQ(graph.values[3].group_size, 2);
  EXPECT_EQ(graph.values[3].channel_scales, std::vector<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(graph.values[3].constant.size(), 8u);
}

TEST(GraphReaderTest, ScalesOfGroupsInConstantsAreBfloat16) {
  GroupedLinear payload;
  payload.groups().scale.clear();
  payload.groups().num_scales = 6;
  // 1, 2, 1, 2, 1, 2
  const uint32_t words[] = {0x40003f80, 0x40003f80, 0x40003f80};
  std::vector<float> bits(3);
  std::memcpy(bits.data(), words, sizeof(words));
  payload.groups().scale_buffer_idx =
      payload.tensor(payload.Constant({3}, bits)).constant_buffer_idx;
  ASSERT_OK_AND_ASSIGN(const Graph graph, ReadAny(payload));
  EXPECT_EQ(graph.values[3].channel_scales, std::vector<float>({1, 2, 1, 2, 1, 2}));
  payload.groups().num_scales = 5;
  EXPECT_THAT(ReadAny(payload), StatusIs(kInvalid, HasSubstr("expected 6 scales, got 5")));
}

TEST(GraphReaderTest, RejectsGroupsThatDoNotDivideRows) {
  for (const int32_t size : {0, -1, 3, 8}) {
    GroupedLinear payload;
    payload.groups().group_size = size;
    EXPECT_THAT(ReadAny(payload), StatusIs(kInvalid, HasSubstr("groups of"))) << size;
  }
  GroupedLinear other;
  other.groups().channel_dim = 1;
  EXPECT_THAT(ReadAny(other), StatusIs(kInvalid, HasSubstr("channel_dim 1")));
}

TEST(GraphReaderTest, RejectsFourBitRowsOfOddLength) {
  GroupedLinear payload;
  payload.tensor(payload.filter).dims = {4, 3};
  EXPECT_THAT(ReadAny(payload), StatusIs(kUnimplemented, HasSubstr("rows of even length")));
}

TEST(GraphReaderTest, RejectsTooManyDimensionsOfRows) {
  for (const int32_t dims : {-1, 0, 3}) {
    GroupedLinear payload;
    payload.QuantizeRows(payload.rows, dims);
    EXPECT_THAT(ReadAny(payload), StatusIs(kInvalid, HasSubstr("not batches"))) << dims;
  }
}

TEST(GraphReaderTest, RejectsComputedGroups) {
  GroupedLinear payload;
  payload.tensor(payload.filter).constant_buffer_idx = 0;
  EXPECT_THAT(ReadAny(payload), StatusIs(kUnimplemented, HasSubstr("not constant")));
}

TEST(GraphReaderTest, ZeroPointsFitTheirDatatype) {
  Abs payload;
  payload.Quantize(payload.x, Datatype::QUINT8, 1, 255);
  payload.Quantize(payload.y, Datatype::QUINT8, 1, 0);
  EXPECT_OK(ReadAny(payload).status());
  payload.Quantize(payload.x, Datatype::QUINT8, 1, -1);
  EXPECT_THAT(ReadAny(payload), StatusIs(kInvalid, HasSubstr("QUINT8 with zero point -1")));
}

}  // namespace
}  // namespace belay::xnnpack
