#include "backends/xnnpack/nan.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace belay::xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

TEST(NanTest, LargestMagnitudeCoversAllElements) {
  const auto largest = [](std::vector<float> numbers) {
    return LargestMagnitude(numbers.data(), static_cast<int64_t>(numbers.size()));
  };
  EXPECT_EQ(largest({}), 0);
  EXPECT_EQ(largest({-0.0f}), 0);
  EXPECT_EQ(largest({1, -3, 2}), 3);
  EXPECT_EQ(largest({1, kMax, -2}), kMax);
  for (float special : {kInfinity, -kInfinity, kNan, -kNan}) {
    std::vector<float> numbers(37, -1e-40f);
    EXPECT_EQ(largest(numbers), 1e-40f);
    for (size_t i : {size_t{0}, size_t{20}, size_t{36}}) {
      std::vector<float> one = numbers;
      one[i] = special;
      EXPECT_EQ(largest(one), kInfinity) << i;
    }
  }
}

TEST(NanTest, ReadsOnlyFp32Weights) {
  const std::vector<float> numbers = {1, -3, 2};
  Graph graph;
  graph.values.resize(3);
  for (Value& value : graph.values) {
    value.datatype = Datatype::FP32;
    value.sizes = Sizes({3});
    value.constant = {reinterpret_cast<const std::byte*>(numbers.data()), 12};
  }
  Node node{.type = NodeType::FullyConnected, .inputs = {0, 1, -1}};
  EXPECT_EQ(WeightMagnitudesOf(graph, node).filter, 3);
  EXPECT_EQ(WeightMagnitudesOf(graph, node).bias, 0);
  node.inputs = {0, 1, 2};
  EXPECT_EQ(WeightMagnitudesOf(graph, node).bias, 3);
  // Three bytes, not twelve.
  graph.values[1].datatype = Datatype::QINT8;
  graph.values[1].constant = graph.values[1].constant.first(3);
  EXPECT_EQ(WeightMagnitudesOf(graph, node).filter, 0);
}

// Expects a bound from `expected` to twice that.
void ExpectMagnitude(float expected, const Node& node, std::vector<float> inputs,
                     const WeightMagnitudes& weights = {},
                     const Sizes& input = Sizes({1, 4, 5, 7})) {
  const Sizes* sizes[] = {&input, &input};
  const Operands operands{.sizes = sizes, .inputs = {}, .output_sizes = &input, .output = nullptr};
  const float got = ResultMagnitude(node, weights, inputs, operands);
  EXPECT_GE(got, expected) << fb::EnumNameNodeUnion(node.type);
  EXPECT_LE(got, expected * 2) << fb::EnumNameNodeUnion(node.type);
}

TEST(NanTest, BoundsResultsByOperands) {
  ExpectMagnitude(5, {.type = NodeType::Add}, {2, 3});
  ExpectMagnitude(5, {.type = NodeType::Subtract}, {2, 3});
  ExpectMagnitude(1e30f, {.type = NodeType::Multiply}, {1e10f, 1e20f});
  ExpectMagnitude(kInfinity, {.type = NodeType::Multiply}, {1e20f, 1e20f});
  ExpectMagnitude(kInfinity, {.type = NodeType::Add}, {kMax, 1});
  ExpectMagnitude(kInfinity, {.type = NodeType::Div}, {1, 1});
  ExpectMagnitude(3, {.type = NodeType::Minimum}, {2, 3});
  ExpectMagnitude(3, {.type = NodeType::Maximum}, {3, 2});
  ExpectMagnitude(1, {.type = NodeType::Softmax}, {100});
  ExpectMagnitude(kInfinity, {.type = NodeType::Softmax}, {kInfinity});
  ExpectMagnitude(3, {.type = NodeType::Clamp}, {3});
  ExpectMagnitude(1, {.type = NodeType::Clamp, .min = -1, .max = 0.5f}, {3});
  ExpectMagnitude(kInfinity, {.type = NodeType::Clamp, .min = -1, .max = 0.5f}, {kInfinity});
  ExpectMagnitude(3, {.type = NodeType::StaticReshape}, {3});
  ExpectMagnitude(4, {.type = NodeType::Concatenate3}, {3, 4, 2});
  ExpectMagnitude(7, {.type = NodeType::StaticConstantPad, .number = -7}, {3});
  ExpectMagnitude(kInfinity, {.type = NodeType::StaticConstantPad, .number = kNan}, {3});
  ExpectMagnitude(kInfinity, {.type = NodeType::Exp}, {3});
  ExpectMagnitude(20 * 3, {.type = NodeType::GlobalAvgPooling2d}, {3});
}

TEST(NanTest, BoundsSumsByWeights) {
  const Window window{.kernel_height = 3, .kernel_width = 2, .groups = 2, .group_inputs = 5};
  ExpectMagnitude(6 * 3, {.type = NodeType::AvgPooling2d, .window = window}, {3});
  ExpectMagnitude(3, {.type = NodeType::MaxPooling2d, .window = window}, {3});
  for (NodeType type : {NodeType::Conv2d, NodeType::DepthwiseConv2d, NodeType::ConvTranspose2d}) {
    const Node node{.type = type, .window = window};
    ExpectMagnitude(30 * 3 * 0.5f + 40, node, {3}, {.filter = 0.5f, .bias = 40});
    ExpectMagnitude(kInfinity, node, {1e20f}, {.filter = 1e20f, .bias = 0});
    ExpectMagnitude(kInfinity, node, {0}, {.filter = kInfinity, .bias = 0});
    ExpectMagnitude(kInfinity, node, {0}, {.filter = 0, .bias = kInfinity});
  }
  ExpectMagnitude(7 * 3 * 0.5f + 40, {.type = NodeType::FullyConnected}, {3},
                  {.filter = 0.5f, .bias = 40});
  ExpectMagnitude(6, {.type = NodeType::FullyConnected, .min = 0, .max = 6}, {3},
                  {.filter = 0.5f, .bias = 40});
}

}  // namespace
}  // namespace belay::xnnpack
