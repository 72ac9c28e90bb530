#include "executorch/payload_import/dynamic_dims.h"

#include <cstdint>
#include <string>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "backends/xnnpack/testing/sample_payloads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

namespace fb = xnnpack::fb;
using ::testing::ElementsAre;
using xnnpack::NodeType;
using xnnpack::PayloadBuilder;

constexpr int kStatic = kStaticDim;
using Classes = std::vector<int>;

std::vector<Classes> DimsOf(const PayloadBuilder& payload, const std::vector<bool>& dynamic) {
  const std::string bytes = payload.Serialize();
  const auto graph = xnnpack::Read(bytes, dynamic.size(), 1);
  EXPECT_OK(graph.status());
  return graph.ok() ? DynamicDims(*graph, dynamic) : std::vector<Classes>();
}

TEST(DynamicDimsTest, OfStaticArgumentsAreStatic) {
  EXPECT_THAT(DimsOf(xnnpack::Abs(), {false}), ElementsAre(Classes{kStatic, kStatic}));
}

TEST(DynamicDimsTest, OfElementwiseNodesVary) {
  EXPECT_THAT(DimsOf(xnnpack::Abs(), {true}), ElementsAre(Classes{0, 1}));
}

TEST(DynamicDimsTest, BroadcastOperandsShareClasses) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {4, 1, 3}), y = payload.Input(1, {2, 3});
  payload.Binary(NodeType::Add, x, y, payload.Output(2, {4, 2, 3}));
  EXPECT_THAT(DimsOf(payload, {true, true}), ElementsAre(Classes{0, kStatic, 1}, Classes{2, 1}));
  // A static operand fixes the dimension that it shares.
  EXPECT_THAT(DimsOf(payload, {true, false}),
              ElementsAre(Classes{0, kStatic, kStatic}, Classes{kStatic, kStatic}));
}

TEST(DynamicDimsTest, ConstantOperandsFixDimensions) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {4, 3}), w = payload.Constant({3}, {1, 2, 3});
  payload.Binary(NodeType::Multiply, x, w, payload.Output(1, {4, 3}));
  EXPECT_THAT(DimsOf(payload, {true}), ElementsAre(Classes{0, kStatic}));
}

// Features are static although rows have the same size.
TEST(DynamicDimsTest, FeaturesOfLinearLayersAreStatic) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {3, 3});
  const uint32_t filter = payload.Constant({2, 3}, {1, 2, 3, 4, 5, 6});
  auto& node = payload.Add<fb::FullyConnectedT>(NodeType::FullyConnected);
  node.input1_id = x;
  node.filter_id = filter;
  node.bias_id = xnnpack::kNoId;
  node.output_id = payload.Output(1, {3, 2});
  EXPECT_THAT(DimsOf(payload, {true}), ElementsAre(Classes{0, kStatic}));
}

TEST(DynamicDimsTest, OnlyTheBatchOfImagesVaries) {
  xnnpack::Conv payload;
  payload.tensor(payload.x).dims[0] = payload.tensor(payload.y).dims[0] = 4;
  EXPECT_THAT(DimsOf(payload, {true}), ElementsAre(Classes{0, kStatic, kStatic, kStatic}));
}

TEST(DynamicDimsTest, InferredSizesOfReshapesVary) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {1, 5, 6});
  auto& node = payload.Add<fb::ReshapeT>(NodeType::StaticReshape);
  node.num_dims = 3;
  node.new_shape = {0, 2, 3};
  node.input_id = x;
  node.output_id = payload.Output(1, {5, 2, 3});
  EXPECT_THAT(DimsOf(payload, {true}), ElementsAre(Classes{kStatic, 0, kStatic}));
  node.new_shape = {5, 2, 3};
  EXPECT_THAT(DimsOf(payload, {true}), ElementsAre(Classes{kStatic, kStatic, kStatic}));
}

PayloadBuilder Reshaped(const std::vector<uint32_t>& from, const std::vector<uint32_t>& shape,
                        const std::vector<uint32_t>& to) {
  PayloadBuilder payload;
  const uint32_t x = payload.Input(0, from);
  auto& node = payload.Add<fb::ReshapeT>(NodeType::StaticReshape);
  node.num_dims = static_cast<uint32_t>(shape.size());
  node.new_shape = shape;
  node.input_id = x;
  node.output_id = payload.Output(1, to);
  return payload;
}

TEST(DynamicDimsTest, InferredSizesMayBeProducts) {
  EXPECT_THAT(DimsOf(Reshaped({4, 32, 24}, {0, 24}, {128, 24}), {true}),
              ElementsAre(Classes{0, 1, kStatic}));
  EXPECT_THAT(DimsOf(Reshaped({2, 4, 32}, {2, 0}, {2, 128}), {true}),
              ElementsAre(Classes{kStatic, 0, 1}));
  EXPECT_THAT(DimsOf(Reshaped({8, 16}, {0, 4}, {32, 4}), {true}), ElementsAre(Classes{0, 1}));
}

TEST(DynamicDimsTest, SlicedAndConcatenatedDimensionsAreStatic) {
  PayloadBuilder slice;
  auto& fields = slice.Add<fb::SliceT>(NodeType::StaticSlice);
  fields.num_dims = 2;
  fields.offsets = {0, 1};
  fields.sizes = {4, 2};
  fields.input_id = slice.Input(0, {4, 5});
  fields.output_id = slice.Output(1, {4, 2});
  EXPECT_THAT(DimsOf(slice, {true}), ElementsAre(Classes{0, kStatic}));
  PayloadBuilder cat;
  auto& node = cat.Add<fb::ConcatenateT>(NodeType::Concatenate2);
  node.axis = 1;
  node.input1_id = cat.Input(0, {4, 5});
  node.input2_id = cat.Input(1, {4, 2});
  node.output_id = cat.Output(2, {4, 7});
  EXPECT_THAT(DimsOf(cat, {true, true}), ElementsAre(Classes{0, kStatic}, Classes{0, kStatic}));
}

}  // namespace
}  // namespace belay::pte
