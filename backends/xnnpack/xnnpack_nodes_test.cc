// Results of single nodes.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/testing/loaded_payload.h"
#include "backends/xnnpack/testing/payload_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/test_outputs.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(XnnpackNodesTest, ResizesImages) {
  PayloadBuilder payload;
  auto& resize = payload.Add<fb::ResizeT>(NodeType::StaticResizeBilinear2D);
  resize.new_height = 1;
  resize.new_width = 4;
  resize.input_id = payload.Input(0, {1, 1, 2, 1});
  resize.output_id = payload.Output(1, {1, 1, 4, 1});
  std::vector<float> x = {0, 4};
  ASSERT_OK_AND_ASSIGN(auto handle, Init(payload, Float({1, 1, 2, 1}), Float({1, 1, 4, 1})));
  EXPECT_THAT(Call(*handle, Float({1, 1, 2, 1}, x.data())).value(), ElementsAre(0, 1, 3, 4));
  resize.new_width = 3;
  resize.flags = 8;
  payload.tensor(1).dims = {1, 1, 3, 1};
  ASSERT_OK_AND_ASSIGN(handle, Init(payload, Float({1, 1, 2, 1}), Float({1, 1, 3, 1})));
  EXPECT_THAT(Call(*handle, Float({1, 1, 2, 1}, x.data())).value(), ElementsAre(0, 2, 4));
}

TEST(XnnpackNodesTest, PReluSlopesArePerChannel) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {2, 2}), y = payload.Output(1, {2, 2});
  payload.Binary(NodeType::PReLU, x, payload.Constant({1, 2}, {0.5, 2}), y);
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({2, 2}), Float({2, 2})));
  std::vector<float> numbers = {-2, -2, 3, 3};
  EXPECT_THAT(Call(*handle, Float({2, 2}, numbers.data())).value(), ElementsAre(-1, -4, 3, 3));
}

TEST(XnnpackNodesTest, Int8NodesUseTheirScales) {
  // Scale 0.5 and zero point 1: (x + x) · 1, at most 3.
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {4}), y = payload.Output(1, {4});
  std::vector<uint32_t> values;
  for (int i = 0; i < 4; ++i) {
    values.push_back(payload.Tensor({4}));
    payload.Quantize(values.back(), Datatype::QINT8, 0.5, 1);
  }
  payload.Unary(NodeType::Convert, x, values[0]);
  payload.Binary(NodeType::Add, values[0], values[0], values[1]);
  payload.Unary(NodeType::Clamp, values[1], values[2]);
  payload.Bounds(-2, 3);
  payload.Binary(NodeType::Subtract, values[2], values[0], values[3]);
  payload.Unary(NodeType::Convert, values[3], y);
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({4}), Float({4})));
  std::vector<float> numbers = {-3, 0.5, 1, 10};
  EXPECT_THAT(Call(*handle, Float({4}, numbers.data())).value(), ElementsAre(1, 0.5, 1, -7));
}

// int8 arguments and outputs; each node type at least once.
TEST(XnnpackNodesTest, CallsMayUseInt8) {
  const auto call = [](const PayloadBuilder& payload, std::vector<int64_t> sizes,
                       std::vector<int8_t> elements,
                       std::vector<int64_t> result) -> absl::StatusOr<std::vector<int>> {
    TensorView x = TensorView::Contiguous(DType::kInt8, sizes, elements.data());
    TensorView y = TensorView::Contiguous(DType::kInt8, result, nullptr);
    ABSL_ASSIGN_OR_RETURN(const auto handle, Init(payload, x, y));
    FreshOutputs allocator;
    EValue argument = x, output = y;
    EValue *arguments[] = {&argument}, *outputs[] = {&output};
    ABSL_ASSIGN_OR_RETURN(AlignedBuffer scratch, AlignedBuffer::Create(handle->ScratchBytes()));
    KernelContext context(arguments, outputs, &allocator, scratch.span());
    ABSL_RETURN_IF_ERROR(handle->Execute(context));
    const std::vector<int8_t> computed = ToVector<int8_t>(*output.get_if<TensorView>());
    return std::vector<int>(computed.begin(), computed.end());
  };
  const auto quantized = [](PayloadBuilder& payload, std::vector<uint32_t> x,
                            std::vector<uint32_t> y) {
    const uint32_t in = payload.Input(0, x), out = payload.Output(1, y);
    for (uint32_t id : {in, out}) payload.Quantize(id, Datatype::QINT8, 0.5, 1);
    return std::pair(in, out);
  };
  {
    // (q - 1)² · 0.5² in steps of 0.5 from 1.
    PayloadBuilder payload;
    const auto [x, y] = quantized(payload, {5}, {5});
    payload.Binary(NodeType::Multiply, x, x, y);
    EXPECT_THAT(call(payload, {5}, {1, 3, -3, 13, 127}, {5}).value(),
                ElementsAre(1, 3, 9, 73, 127));
  }
  {
    PayloadBuilder payload;
    const auto [x, y] = quantized(payload, {2, 2}, {3, 3});
    auto& pad = payload.Add<fb::PadT>(NodeType::StaticConstantPad);
    pad.pre_paddings = {1, 0};
    pad.post_paddings = {0, 1};
    pad.padding_value = -1.5;
    pad.input_id = x;
    pad.output_id = y;
    EXPECT_THAT(call(payload, {2, 2}, {1, 2, 3, 4}, {3, 3}).value(),
                ElementsAre(-2, -2, -2, 1, 2, -2, 3, 4, -2));
    // NaN becomes the minimum; large values saturate.
    pad.padding_value = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(call(payload, {2, 2}, {1, 2, 3, 4}, {3, 3}).value(),
                ElementsAre(-128, -128, -128, 1, 2, -128, 3, 4, -128));
    pad.padding_value = 1e9;
    EXPECT_THAT(call(payload, {2, 2}, {1, 2, 3, 4}, {3, 3}).value(),
                ElementsAre(127, 127, 127, 1, 2, 127, 3, 4, 127));
  }
  // One scale for all weights: [out, in], and [in, out].
  for (const bool transposed : {false, true}) {
    PayloadBuilder payload;
    const auto [x, y] = quantized(payload, {2, 4}, {2, 4});
    auto& linear = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
    // Bytes 1 to 16.
    std::vector<float> weight(4);
    auto* bytes = reinterpret_cast<int8_t*>(weight.data());
    for (int i = 0; i < 16; ++i) bytes[i] = static_cast<int8_t>(i + 1);
    linear.input1_id = x;
    linear.filter_id = payload.Constant({4, 4}, weight);
    linear.bias_id = kNoId;
    linear.output_id = y;
    linear.flags = transposed ? 1 : 0;
    payload.Quantize(linear.filter_id, Datatype::QINT8, 1, 0);
    // Rows (1, 0, 0, 0) and (0, 1, 0, 0) with scale 0.5.
    EXPECT_THAT(
        call(payload, {2, 4}, {2, 1, 1, 1, 1, 2, 1, 1}, {2, 4}).value(),
        transposed ? ElementsAre(2, 3, 4, 5, 6, 7, 8, 9) : ElementsAre(2, 6, 10, 14, 3, 7, 11, 15));
  }
}

// --- Data movement, and nodes computed by functions.h ---

TEST(XnnpackNodesTest, ConcatenationsHaveTwoToFiveOperands) {
  const NodeType types[] = {NodeType::Concatenate2, NodeType::Concatenate3, NodeType::Concatenate4,
                            NodeType::Concatenate5};
  for (uint32_t count = 2; count <= 5; ++count) {
    PayloadBuilder payload;
    const uint32_t x = payload.Input(0, {2, 1}), y = payload.Output(1, {2, count});
    auto& cat = payload.Add<fb::ConcatenateT>(types[count - 2]);
    cat.axis = 1;
    uint32_t* const ids[] = {&cat.input1_id, &cat.input2_id, &cat.input3_id, &cat.input4_id,
                             &cat.input5_id};
    std::vector<float> expected;
    for (int row = 0; row < 2; ++row) {
      for (uint32_t i = 0; i < count; ++i) {
        expected.push_back(i == 0 ? 7.0f + static_cast<float>(row) : static_cast<float>(i));
      }
    }
    for (uint32_t i = 0; i < 5; ++i) {
      *ids[i] = i >= count ? kNoId
                : i == 0   ? x
                           : payload.Constant({2, 1}, std::vector<float>(2, static_cast<float>(i)));
    }
    cat.output_id = y;
    ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({2, 1}), Float({2, count})));
    std::vector<float> numbers = {7, 8};
    EXPECT_EQ(Call(*handle, Float({2, 1}, numbers.data())).value(), expected);
    *ids[count - 1] = 99;
    EXPECT_THAT(Init(payload, Float({2, 1}), Float({2, count})),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no value has id 99")));
  }
}

TEST(XnnpackNodesTest, MatmulOperandsMayBeTransposed) {
  PayloadBuilder payload;
  auto& product = payload.Binary(NodeType::BatchMatrixMultiply, payload.Input(0, {1, 2}),
                                 payload.Constant({2, 2}, {1, 2, 3, 4}), payload.Output(1, {1, 2}));
  std::vector<float> x = {1, 10};
  ASSERT_OK_AND_ASSIGN(auto handle, Init(payload, Float({1, 2}), Float({1, 2})));
  EXPECT_THAT(Call(*handle, Float({1, 2}, x.data())).value(), ElementsAre(31, 42));
  product.flags = 1;
  ASSERT_OK_AND_ASSIGN(handle, Init(payload, Float({1, 2}), Float({1, 2})));
  EXPECT_THAT(Call(*handle, Float({1, 2}, x.data())).value(), ElementsAre(21, 43));
}

TEST(XnnpackNodesTest, HardswishUsesTheLibrary) {
  PayloadBuilder payload;
  payload.Unary(NodeType::Hardswish, payload.Input(0, {5}), payload.Output(1, {5}));
  ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({5}), Float({5})));
  std::vector<float> x = {-4, -3, 0, 3, 6};
  EXPECT_THAT(Call(*handle, Float({5}, x.data())).value(), ElementsAre(0, 0, 0, 3, 6));
}

// float32 constants at any offset in the payload.
TEST(XnnpackNodesTest, WeightsMayBeMisaligned) {
  for (uint64_t at : {0, 1, 2, 3}) {
    PayloadBuilder payload;
    auto& linear = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
    linear.input1_id = payload.Input(0, {1, 2});
    const float numbers[] = {1, 2, 3, 4, 10, 20};
    std::vector<float> bytes(8);
    std::copy_n(reinterpret_cast<const char*>(numbers), sizeof(numbers),
                reinterpret_cast<char*>(bytes.data()) + at);
    linear.filter_id = payload.Constant({2, 2}, bytes);
    linear.bias_id = payload.Constant({2}, {});
    fb::ConstantDataOffsetT &filter = *payload.graph().constant_data[1],
                            &bias = *payload.graph().constant_data[2];
    filter.offset = at;
    filter.size = 16;
    bias.offset = at + 16;
    bias.size = 8;
    linear.output_id = payload.Output(1, {1, 2});
    ASSERT_OK_AND_ASSIGN(const auto handle, Init(payload, Float({1, 2}), Float({1, 2})));
    std::vector<float> x = {1, 100};
    EXPECT_THAT(Call(*handle, Float({1, 2}, x.data())).value(), ElementsAre(211, 423));
  }
}

}  // namespace
}  // namespace belay::xnnpack
