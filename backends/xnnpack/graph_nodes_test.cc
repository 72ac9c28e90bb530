#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/testing/sample_payloads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const PayloadBuilder& payload, absl::StatusCode code,
                   const std::string& message) {
  EXPECT_THAT(Read(payload.Serialize(), 1, 1), StatusIs(code, HasSubstr(message)));
}
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

TEST(GraphNodesTest, FunctionsRequireFloat32) {
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

TEST(GraphNodesTest, RejectsNodeTypes) {
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

TEST(GraphNodesTest, RejectsOperands) {
  Abs missing;
  missing.node.input_id = 9;
  ExpectRefused(missing, kInvalid, "no value has id 9");
  Conv unnamed;  // only a bias may be omitted
  unnamed.node.filter_id = kNoId;
  ExpectRefused(unnamed, kInvalid, "no value has id 4294967295");
  Conv biased;
  biased.node.bias_id = 9;
  ExpectRefused(biased, kInvalid, "no value has id 9");
  Abs nowhere;
  nowhere.node.output_id = kNoId;
  ExpectRefused(nowhere, kInvalid, "no value has id 4294967295");
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

TEST(GraphNodesTest, RejectsBounds) {
  for (const auto& [min, max] : {std::pair(1.0f, 1.0f), {2.0f, 1.0f}, {NAN, 1.0f}, {1.0f, NAN}}) {
    Conv payload;
    payload.Bounds(min, max);
    ExpectRefused(payload, kInvalid, "expected bounds that are less and greater");
  }
}

TEST(GraphNodesTest, RejectsOperandDatatypes) {
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
  moved.Quantize(moved.y, Datatype::QINT8, 1, 1);
  ExpectRefused(moved, kUnimplemented, "values 0 and 1 have different quantization parameters");
  moved.Quantize(moved.y, Datatype::QINT8, 1, 0);
  EXPECT_OK(Read(moved.Serialize()).status());
  Abs integer;  // neither FP32 nor QINT8
  integer.Quantize(integer.x, Datatype::QINT32, 1, 0);
  ExpectRefused(integer, kUnimplemented, "value 0 of datatype QINT32 is not supported here");
}

TEST(GraphNodesTest, OperandsMustHaveOneDatatype) {
  const auto with = [](bool x, bool z, bool y) {
    PayloadBuilder payload;
    const uint32_t ids[] = {payload.Input(0, {2, 3}), payload.Input(1, {2, 3}),
                            payload.Output(2, {2, 3})};
    const bool quantized[] = {x, z, y};
    for (int i = 0; i < 3; ++i) {
      if (quantized[i]) payload.Quantize(ids[i], Datatype::QINT8, 1, 0);
    }
    payload.Binary(NodeType::Add, ids[0], ids[1], ids[2]);
    return payload.Serialize();
  };
  const auto refused = [&](bool x, bool z, bool y, const char* value) {
    EXPECT_THAT(Read(with(x, z, y), 2, 1),
                StatusIs(kUnimplemented, HasSubstr(absl::StrCat("node 0 (Add): ", value))));
  };
  EXPECT_OK(Read(with(false, false, false), 2, 1).status());
  EXPECT_OK(Read(with(true, true, true), 2, 1).status());
  refused(false, false, true, "value 2 of datatype QINT8");
  refused(true, true, false, "value 2 of datatype FP32");
  refused(true, false, true, "value 1 of datatype FP32");
  refused(false, true, false, "value 1 of datatype QINT8");
}

TEST(GraphNodesTest, ChecksWeightDatatypeCombinations) {
  const auto refused = [](const PayloadBuilder& payload, const std::string& operands) {
    ExpectRefused(payload, kUnimplemented,
                  absl::StrCat(operands, " is not a supported combination"));
  };
  Conv filter;
  filter.QuantizeChannels(filter.filter, Datatype::QCINT8, {1, 2, 3}, 0);
  refused(filter, "input FP32, filter QCINT8, bias FP32, output FP32");
  filter.node.bias_id = kNoId;
  refused(filter, "input FP32, filter QCINT8, bias none, output FP32");
  Conv bias;
  bias.Quantize(bias.bias, Datatype::QINT32, 1, 0);
  refused(bias, "input FP32, filter FP32, bias QINT32, output FP32");
  bias.node.bias_id = kNoId;
  EXPECT_OK(Read(bias.Serialize()).status());
  QuantizedConv sums;
  sums.graph().values[sums.bias]->value.Set(fb::TensorValueT(sums.tensor(sums.bias)));
  sums.tensor(sums.bias).datatype = Datatype::FP32;
  refused(sums, "input QINT8, filter QCINT8, bias FP32, output QINT8");
  sums.node.bias_id = kNoId;
  EXPECT_OK(Read(sums.Serialize()).status());
  QuantizedConv one;  // scale for all
  one.Quantize(one.filter, Datatype::QINT8, 1, 0);
  one.Quantize(one.bias, Datatype::QINT32, 1, 0);
  EXPECT_OK(Read(one.Serialize()).status());
}

// In an [in, out] filter the channels are not where the library expects them.
TEST(GraphNodesTest, LinearLayerChannelsAreRows) {
  PayloadBuilder payload;
  fb::FullyConnectedT& node = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
  node.input1_id = payload.Input(0, {2, 3});
  node.filter_id = payload.Constant({3, 3}, std::vector<float>(9));
  node.bias_id = kNoId;
  node.output_id = payload.Output(1, {2, 3});
  payload.Quantize(node.input1_id, Datatype::QINT8, 1, 0);
  payload.Quantize(node.output_id, Datatype::QINT8, 1, 0);
  payload.QuantizeChannels(node.filter_id, Datatype::QCINT8, {1, 2, 3}, 0);
  EXPECT_OK(Read(payload.Serialize()).status());
  node.flags = 1;
  ExpectRefused(payload, kUnimplemented, "a QCINT8 filter that is stored [in, out]");
  payload.Quantize(node.filter_id, Datatype::QINT8, 1, 0);
  EXPECT_OK(Read(payload.Serialize()).status());
}

TEST(GraphNodesTest, RejectsComputedSlopesAndBiases) {
  PayloadBuilder slopes;
  slopes.Binary(NodeType::PReLU, slopes.Input(0, {2, 3}), slopes.Input(1, {1, 3}),
                slopes.Output(2, {2, 3}));
  EXPECT_THAT(Read(slopes.Serialize(), 2, 1),
              StatusIs(kUnimplemented, HasSubstr("slopes that are not constant")));
  PayloadBuilder payload;
  fb::FullyConnectedT& node = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
  node.input1_id = payload.Input(0, {2, 3});
  node.filter_id = payload.Constant({4, 3}, std::vector<float>(12));
  node.bias_id = payload.Input(1, {4});
  node.output_id = payload.Output(2, {2, 4});
  EXPECT_THAT(Read(payload.Serialize(), 2, 1),
              StatusIs(kUnimplemented, HasSubstr("a filter or bias that is not constant")));
}

TEST(GraphNodesTest, RejectsComputedFilters) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {2, 3}), w = payload.Input(1, {4, 3});
  fb::FullyConnectedT& node = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
  node.input1_id = x;
  node.filter_id = w;
  node.bias_id = kNoId;
  node.output_id = payload.Output(2, {2, 4});
  EXPECT_THAT(Read(payload.Serialize(), 2, 1),
              StatusIs(kUnimplemented, HasSubstr("a filter or bias that is not constant")));
}

TEST(GraphNodesTest, RejectsWrongOutputSizes) {
  Abs payload;
  payload.tensor(payload.y).dims = {3, 2};
  ExpectRefused(payload, kInvalid, "it computes sizes [2,3], its output 1 has [3,2]");
}

TEST(GraphNodesTest, RejectsWindows) {
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
  for (NodeType type : {NodeType::MaxPooling2d, NodeType::AvgPooling2d}) {
    PayloadBuilder payload;
    auto& pool = payload.Add<fb::PoolT>(type);
    pool.pooling_height = pool.pooling_width = pool.stride_height = pool.stride_width = 1;
    pool.dilation_height = pool.dilation_width = 1;
    pool.input_id = payload.Input(0, {1, 2, 2, 1});
    pool.output_id = payload.Output(1, {1, 2, 2, 1});
    EXPECT_OK(Read(payload.Serialize()).status());
    pool.pooling_height = 0;
    ExpectRefused(payload, kInvalid, "number of channels of 0");
    pool.pooling_height = 1;
    pool.padding_left = 40000;
    ExpectRefused(payload, kInvalid, "of 40000, at most 32767 is possible");
    pool.padding_left = 0;
    payload.tensor(0).dims = {2, 2, 1};
    payload.tensor(0).num_dims = 3;
    ExpectRefused(payload, kInvalid, "an input of rank 4, got [2,2,1]");
  }
}

// --- Lists in nodes must have the declared length ---

TEST(GraphNodesTest, RejectsListsOfOtherLengths) {
  const std::string count = "expected 3 numbers, got 2";
  const auto refused = [](const PayloadBuilder& payload, const std::string& message) {
    ExpectRefused(payload, kInvalid, message);
  };
  {
    Abs payload;
    payload.graph().nodes.clear();
    auto& node = payload.Add<fb::TransposeT>(NodeType::StaticTranspose);
    node.perm = {0, 1};
    node.num_dims = 3;
    refused(payload, count);
  }
  {
    Abs payload;
    payload.graph().nodes.clear();
    auto& node = payload.Add<fb::ReshapeT>(NodeType::StaticReshape);
    node.new_shape = {2, 3};
    node.num_dims = 3;
    refused(payload, count);
  }
  {
    Abs payload;
    payload.graph().nodes.clear();
    auto& node = payload.Add<fb::SliceT>(NodeType::StaticSlice);
    node.offsets = {0, 0};
    node.sizes = {2, 3, 1};
    node.num_dims = 3;
    refused(payload, count);
    node.offsets = {0, 0, 0};
    node.sizes = {2, 3};
    refused(payload, count);
  }
  {
    Abs payload;
    payload.graph().nodes.clear();
    auto& node = payload.Add<fb::PadT>(NodeType::StaticConstantPad);
    node.pre_paddings.assign(7, 0);
    node.post_paddings.assign(2, 0);
    refused(payload, "7 dimensions, at most 6");
    std::swap(node.pre_paddings, node.post_paddings);
    refused(payload, "7 dimensions, at most 6");
  }
}

}  // namespace
}  // namespace belay::xnnpack
