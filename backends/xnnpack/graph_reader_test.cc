#include "backends/xnnpack/graph_reader.h"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::HasSubstr;

class Data final : public NamedDataMap {
 public:
  std::map<std::string, std::string, std::less<>> entries;
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    const auto it = entries.find(key);
    if (it == entries.end()) return absl::NotFoundError("no such key");
    return absl::Span<const std::byte>(reinterpret_cast<const std::byte*>(it->second.data()),
                                       it->second.size());
  }
};

absl::StatusOr<Graph> Read(const std::string& payload, size_t arguments = 1, size_t outputs = 1,
                           const Data& data = {}, uint64_t memory_bytes = 1 << 20) {
  MemoryBudget memory("delegate_bytes", memory_bytes);
  return ReadGraph({reinterpret_cast<const std::byte*>(payload.data()), payload.size()}, data,
                   arguments, outputs, memory);
}

// abs(x) of f32[2,3].
struct Abs : PayloadBuilder {
  uint32_t x = Input(0, {2, 3}), y = Output(1, {2, 3});
  fb::UnaryT& node = Unary(NodeType::Abs, x, y);
};

// A convolution of 1×5×5×2 by 3 filters of 3×3, stride 2.
struct Conv : PayloadBuilder {
  uint32_t x = Input(0, {1, 5, 5, 2}), y = Output(1, {1, 2, 2, 3});
  uint32_t filter = Constant({3, 3, 3, 2}, std::vector<float>(54, 1));
  uint32_t bias = Constant({3}, {1, 2, 3});
  fb::ConvolutionT& node = Add<fb::ConvolutionT>(NodeType::Conv2d);
  Conv() {
    node.kernel_height = node.kernel_width = 3;
    node.subsampling_height = node.subsampling_width = 2;
    node.dilation_height = node.dilation_width = 1;
    node.groups = 1;
    node.group_input_channels = 2;
    node.group_output_channels = 3;
    node.input1_id = x;
    node.filter_id = filter;
    node.bias_id = bias;
    node.output_id = y;
  }
};

void ExpectRefused(const PayloadBuilder& payload, absl::StatusCode code, const std::string& message,
                   const Data& data = {}) {
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
  Data data;
  data.entries["weight"] = std::string(54 * sizeof(float), '\0');
  ASSERT_OK_AND_ASSIGN(const Graph graph, Read(payload.Serialize(), 1, 1, data));
  EXPECT_EQ(reinterpret_cast<const char*>(graph.values[2].constant.data()),
            data.entries["weight"].data());
  ExpectRefused(payload, absl::StatusCode::kNotFound, "value 2: no such key");
  data.entries["weight"].pop_back();
  ExpectRefused(payload, kInvalid, "needs 216 bytes, constant 1 has 215", data);
}

// --- The bytes ---

TEST(GraphReaderTest, RefusesADamagedHeader) {
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

TEST(GraphReaderTest, RefusesAnotherVersion) {
  EXPECT_THAT(Read(Abs().SerializeGraph("XN02")), StatusIs(kUnimplemented, HasSubstr("XN01")));
}

TEST(GraphReaderTest, RefusesDamagedTables) {
  std::string bytes = Abs().Serialize();
  flatbuffers::WriteScalar<uint32_t>(bytes.data() + 32, 1u << 30);  // the root's offset
  EXPECT_THAT(Read(bytes), StatusIs(kDataLoss, HasSubstr("damaged")));
}

TEST(GraphReaderTest, EveryTruncationIsAnError) {
  const std::string good = Conv().Serialize();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Read(good.substr(0, size)).ok()) << size;
  }
}

TEST(GraphReaderTest, EveryDamagedByteIsAnErrorOrAGraph) {
  const std::string good = Conv().Serialize();
  for (size_t i = 0; i < good.size(); ++i) {
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ flip);
      Read(bytes).IgnoreError();
    }
  }
}

TEST(GraphReaderTest, TablesAreTakenFromTheBudget) {
  EXPECT_THAT(Read(Abs().Serialize(), 1, 1, {}, 256),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("delegate_bytes")));
}

// --- Values ---

TEST(GraphReaderTest, RefusesMoreExternalsThanItsRuntime) {
  Abs payload;
  payload.graph().num_externs = 5000;
  ExpectRefused(payload, kInvalid, "5000 external values");
}

TEST(GraphReaderTest, RefusesAValueThatIsNoTensor) {
  Abs payload;
  payload.graph().values[0]->value.Reset();
  ExpectRefused(payload, kInvalid, "value 0: it is no tensor");
}

TEST(GraphReaderTest, RefusesIds) {
  Abs none;
  none.tensor(0).id_out = kNoId;
  ExpectRefused(none, kInvalid, "value 0: it has no id");
  Abs same;
  same.tensor(1).id_out = 0;
  ExpectRefused(same, kInvalid, "value 1: the id 0 is there already");
}

TEST(GraphReaderTest, RefusesDims) {
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
  Abs overflow;
  overflow.tensor(0).dims.assign(6, UINT32_MAX);
  overflow.tensor(0).num_dims = 6;
  ExpectRefused(overflow, kInvalid, "too large");
}

TEST(GraphReaderTest, RefusesDatatypes) {
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

TEST(GraphReaderTest, RefusesExternals) {
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
  ExpectRefused(twice, kInvalid, "external id 0 is there already");
  EXPECT_THAT(Read(Abs().Serialize(), 1, 2), StatusIs(kInvalid, HasSubstr("no value is output 1")));
  EXPECT_THAT(Read(Abs().Serialize(), 0, 1), StatusIs(kInvalid, HasSubstr("external id 0")));
}

TEST(GraphReaderTest, RefusesConstants) {
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

TEST(GraphReaderTest, RefusesQuantizationParameters) {
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
  refused(with(Datatype::QINT32, 1, 1), "datatype QINT32 with zero point 1");
  refused(with(Datatype::QCINT8, 1, 0), "datatype QCINT8 with quantization parameters of kind 2");
  Abs none;
  none.tensor(0).datatype = Datatype::QINT8;
  refused(none.Serialize(), "datatype QINT8 without quantization parameters");
}

// A convolution whose operands are all quantized.
struct QuantizedConv : Conv {
  QuantizedConv() {
    Quantize(x, Datatype::QINT8, 0.5, 1);
    Quantize(y, Datatype::QINT8, 0.25, -3);
    QuantizeChannels(filter, Datatype::QCINT8, {1, 2, 3}, 0);
    QuantizeChannels(bias, Datatype::QCINT32, {1, 2, 3}, 0);
  }
  fb::PerChannelQuantT& scales() {
    return *graph()
                .values[filter]
                ->value.AsQuantizedTensorValue()
                ->quant_params.AsPerChannelQuant();
  }
};

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

TEST(GraphReaderTest, RefusesChannelScales) {
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
  QuantizedConv variable;
  variable.QuantizeChannels(variable.x, Datatype::QCINT8, {1}, 0);
  ExpectRefused(variable, kUnimplemented, "of a value that is no constant");
}

// --- Nodes ---

TEST(GraphReaderTest, FunctionsAreOfFloat32) {
  for (NodeType type : {NodeType::Gelu, NodeType::Tanh, NodeType::Exp, NodeType::Log,
                        NodeType::ReciprocalSquareRoot, NodeType::Sin, NodeType::Cos}) {
    Abs payload;
    payload.graph().nodes[0]->node.type = type;
    EXPECT_OK(Read(payload.Serialize()).status());
    payload.Quantize(payload.x, Datatype::QINT8, 1, 0);
    payload.Quantize(payload.y, Datatype::QINT8, 1, 0);
    ExpectRefused(payload, kUnimplemented, "value 0 of datatype QINT8 is not supported here");
  }
}

TEST(GraphReaderTest, RefusesNodeTypes) {
  Abs argmax;
  argmax.graph().nodes.clear();
  argmax.Add<fb::ArgMaxPoolT>(NodeType::ArgMaxPooling2d);
  ExpectRefused(argmax, kUnimplemented, "node type 21, ArgMaxPooling2d");
  Abs attention;
  attention.graph().nodes.clear();
  attention.Add<fb::AttentionT>(NodeType::ScaledDotProductAttention);
  ExpectRefused(attention, kUnimplemented, "node type 36, ScaledDotProductAttention");
  Abs none;
  none.graph().nodes[0]->node.Reset();
  ExpectRefused(none, kUnimplemented, "node 0 (unknown node type)");
}

TEST(GraphReaderTest, RefusesOperands) {
  Abs missing;
  missing.node.input_id = 9;
  ExpectRefused(missing, kInvalid, "there is no value of id 9");
  Abs early;
  early.node.input_id = early.Tensor({2, 3});
  ExpectRefused(early, kInvalid, "input 2 was not computed before");
  Abs argument;
  argument.node.output_id = argument.x;
  ExpectRefused(argument, kInvalid, "is a constant, an argument, or was computed before");
  Abs twice;
  twice.Unary(NodeType::Negate, twice.x, twice.y);
  ExpectRefused(twice, kInvalid, "node 1 (Negate): output 1 is a constant, an argument");
  Abs constant;
  constant.node.output_id = constant.Constant({2, 3}, std::vector<float>(6));
  ExpectRefused(constant, kInvalid, "output 2 is a constant");
  Abs idle;
  idle.graph().nodes.clear();
  ExpectRefused(idle, kInvalid, "no node computes output 0");
}

TEST(GraphReaderTest, RefusesBounds) {
  for (const auto& [min, max] : {std::pair(1.0f, 1.0f), {2.0f, 1.0f}, {NAN, 1.0f}, {1.0f, NAN}}) {
    Conv payload;
    payload.Bounds(min, max);
    ExpectRefused(payload, kInvalid, "expected bounds that are less and greater");
  }
}

TEST(GraphReaderTest, RefusesDatatypesOfOperands) {
  Abs abs;
  abs.Quantize(abs.x, Datatype::QINT8, 1, 0);
  abs.Quantize(abs.y, Datatype::QINT8, 1, 0);
  ExpectRefused(abs, kUnimplemented, "node 0 (Abs): value 0 of datatype QINT8");
  Abs convert;
  convert.graph().nodes[0]->node.type = NodeType::Convert;
  ExpectRefused(convert, kUnimplemented, "value 1 of datatype FP32");
  QuantizedConv mixed;
  mixed.Quantize(mixed.filter, Datatype::QINT32, 1, 0);
  mixed.graph().constant_data[1]->size = 216;
  ExpectRefused(mixed, kUnimplemented, "filter QINT32");
  QuantizedConv shifted;
  shifted.Quantize(shifted.filter, Datatype::QINT8, 1, 5);
  ExpectRefused(shifted, kInvalid, "a filter with zero point 5");
  Conv variable;
  variable.tensor(variable.filter).constant_buffer_idx = 0;
  ExpectRefused(variable, kInvalid, "input 2 was not computed before");
  Abs moved;
  moved.Quantize(moved.x, Datatype::QINT8, 1, 0);
  moved.Quantize(moved.y, Datatype::QINT8, 2, 0);
  moved.graph().nodes[0]->node.type = NodeType::Copy;
  ExpectRefused(moved, kUnimplemented, "values 0 and 1 have different quantization parameters");
}

TEST(GraphReaderTest, RefusesFiltersThatAreComputed) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {2, 3}), w = payload.Input(1, {4, 3});
  fb::FullyConnectedT& node = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
  node.input1_id = x;
  node.filter_id = w;
  node.bias_id = kNoId;
  node.output_id = payload.Output(2, {2, 4});
  EXPECT_THAT(Read(payload.Serialize(), 2, 1),
              StatusIs(kUnimplemented, HasSubstr("a filter or bias that is no constant")));
}

TEST(GraphReaderTest, RefusesSizesThatNodesDoNotCompute) {
  Abs payload;
  payload.tensor(payload.y).dims = {3, 2};
  ExpectRefused(payload, kInvalid, "it computes sizes [2,3], its output 1 has [3,2]");
}

TEST(GraphReaderTest, RefusesWindows) {
  for (auto field : {&fb::ConvolutionT::padding_top, &fb::ConvolutionT::padding_right,
                     &fb::ConvolutionT::padding_bottom, &fb::ConvolutionT::padding_left,
                     &fb::ConvolutionT::kernel_height, &fb::ConvolutionT::kernel_width,
                     &fb::ConvolutionT::subsampling_height, &fb::ConvolutionT::subsampling_width,
                     &fb::ConvolutionT::dilation_height, &fb::ConvolutionT::dilation_width,
                     &fb::ConvolutionT::adjustment_height, &fb::ConvolutionT::adjustment_width}) {
    Conv payload;
    payload.node.*field = 32768;
    ExpectRefused(payload, kInvalid, "of 32768, at most 32767 is possible");
  }
  for (auto field : {&fb::ConvolutionT::kernel_height, &fb::ConvolutionT::kernel_width,
                     &fb::ConvolutionT::subsampling_height, &fb::ConvolutionT::subsampling_width,
                     &fb::ConvolutionT::dilation_height, &fb::ConvolutionT::dilation_width,
                     &fb::ConvolutionT::groups, &fb::ConvolutionT::group_input_channels,
                     &fb::ConvolutionT::group_output_channels}) {
    Conv payload;
    payload.node.*field = 0;
    ExpectRefused(payload, kInvalid, "number of channels of 0");
  }
}

}  // namespace
}  // namespace belay::xnnpack
