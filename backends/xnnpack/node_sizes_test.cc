#include "backends/xnnpack/node_sizes.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Sizes> SizesOf(const Node& node, const std::vector<Sizes>& inputs) {
  std::vector<const Sizes*> pointers;
  for (const Sizes& input : inputs) pointers.push_back(&input);
  if (node.type == NodeType::FullyConnected || node.type == NodeType::Conv2d ||
      node.type == NodeType::DepthwiseConv2d || node.type == NodeType::ConvTranspose2d) {
    pointers.resize(3, nullptr);  // the bias
  }
  return OutputSizes(node, pointers);
}

Node Of(NodeType type, Sizes numbers = {}, Sizes more_numbers = {}) {
  Node node;
  node.type = type;
  node.numbers = numbers;
  node.more_numbers = more_numbers;
  return node;
}
Node Flagged(NodeType type, uint32_t flags) {
  Node node = Of(type);
  node.flags = flags;
  return node;
}
Node Windowed(NodeType type, Window window) {
  Node node = Of(type);
  node.window = window;
  return node;
}

struct Case {
  Node node;
  std::vector<Sizes> inputs;
  Sizes expected;
};

Window Kernel(int64_t size, int64_t stride = 1, int64_t padding = 0) {
  Window w;
  w.kernel_height = w.kernel_width = size;
  w.stride_height = w.stride_width = stride;
  w.top = w.left = w.bottom = w.right = padding;
  return w;
}
Window Channels(Window w, int64_t groups, int64_t inputs, int64_t outputs) {
  w.groups = groups;
  w.group_inputs = inputs;
  w.group_outputs = outputs;
  return w;
}

Window Dilated(int64_t size, int64_t height, int64_t width) {
  Window w = Kernel(size);
  w.dilation_height = height;
  w.dilation_width = width;
  return w;
}

TEST(OutputSizesTest, FollowFromTheInputs) {
  Window asymmetric = Channels(Kernel(3, 2), 1, 3, 8);
  asymmetric.right = asymmetric.bottom = 1;
  Window transposed = Channels(Kernel(3, 2, 1), 1, 2, 4);
  transposed.adjust_height = 1;
  const Case cases[] = {
      {Of(NodeType::Add), {{2, 1, 4}, {3, 1}}, {2, 3, 4}},
      {Of(NodeType::Multiply), {{}, {2, 3}}, {2, 3}},
      {Of(NodeType::FullyConnected), {{5, 6, 3}, {7, 3}}, {5, 6, 7}},
      {Flagged(NodeType::FullyConnected, 1), {{5, 3}, {3, 7}}, {5, 7}},
      {Of(NodeType::BatchMatrixMultiply), {{5, 2, 3}, {5, 3, 4}}, {5, 2, 4}},
      {Flagged(NodeType::BatchMatrixMultiply, 1), {{5, 2, 3}, {5, 4, 3}}, {5, 2, 4}},
      {Of(NodeType::Softmax), {{2, 3}}, {2, 3}},
      {Of(NodeType::StaticTranspose, {0, 2, 3, 1}), {{1, 2, 3, 4}}, {1, 3, 4, 2}},
      {Windowed(NodeType::Conv2d, asymmetric), {{1, 16, 16, 3}, {8, 3, 3, 3}}, {1, 8, 8, 8}},
      {Windowed(NodeType::DepthwiseConv2d, Channels(Kernel(3, 1, 1), 4, 1, 2)),
       {{2, 5, 6, 4}, {1, 3, 3, 8}},
       {2, 5, 6, 8}},
      {Windowed(NodeType::ConvTranspose2d, transposed), {{1, 4, 4, 2}, {4, 3, 3, 2}}, {1, 8, 7, 4}},
      {Windowed(NodeType::MaxPooling2d, Kernel(2, 2)), {{1, 5, 4, 3}}, {1, 2, 2, 3}},
      {Windowed(NodeType::AvgPooling2d, Kernel(3, 1, 1)), {{1, 5, 4, 3}}, {1, 5, 4, 3}},
      {Flagged(NodeType::GlobalAvgPooling2d, 64), {{2, 5, 4, 3}}, {2, 1, 1, 3}},
      {Of(NodeType::GlobalAvgPooling2d), {{2, 5, 4, 3}}, {2, 3}},
      {Of(NodeType::StaticReshape, {2, 0}), {{4, 3}}, {2, 6}},
      {Of(NodeType::StaticReshape), {{1, 1}}, {}},
      {Of(NodeType::StaticConstantPad, {1, 0}, {0, 2}), {{4, 3}}, {5, 5}},
      {Of(NodeType::StaticSlice, {1, 0}, {3, 2}), {{4, 3}}, {3, 2}},
      {Of(NodeType::StaticResizeBilinear2D, {7, 9}), {{1, 2, 3, 4}}, {1, 7, 9, 4}},
      {Of(NodeType::PReLU), {{1, 2, 3, 4}, {1, 1, 1, 4}}, {1, 2, 3, 4}},
      {Of(NodeType::Concatenate3, {1}), {{2, 1}, {2, 2}, {2, 3}}, {2, 6}},
      {Of(NodeType::Concatenate4, {0}), {{1, 1}, {2, 1}, {3, 1}, {4, 1}}, {10, 1}},
      {Of(NodeType::Concatenate5, {0}), {{1}, {2}, {3}, {4}, {5}}, {15}},
      {Of(NodeType::Abs), {{}}, {}},
  };
  for (const Case& c : cases) {
    const auto sizes = SizesOf(c.node, c.inputs);
    ASSERT_OK(sizes.status()) << fb::EnumNameNodeUnion(c.node.type);
    EXPECT_EQ(*sizes, c.expected) << fb::EnumNameNodeUnion(c.node.type);
  }
}

struct Refusal {
  Node node;
  std::vector<Sizes> inputs;
  std::string message;
};

TEST(CommonBoundsTest, AreTheSmallerOnes) {
  EXPECT_EQ(CommonBounds({3, 5}, {1, 24}), std::make_pair(Sizes({3, 5}), Sizes({1, 5})));
  EXPECT_EQ(CommonBounds({7}, {2, 1, 4}), std::make_pair(Sizes({4}), Sizes({2, 1, 4})));
  EXPECT_EQ(CommonBounds({}, {2}), std::make_pair(Sizes({}), Sizes({2})));
}

TEST(OutputSizesTest, RejectsMismatchedInputs) {
  Window adjusted = Channels(Kernel(3, 2), 1, 2, 4);
  adjusted.adjust_width = 2;
  Window taller = Channels(Kernel(3, 2), 1, 2, 4);
  taller.adjust_height = 2;
  Window wide = Kernel(2);
  wide.left = 2;
  const int64_t huge = int64_t{1} << 40;
  const Refusal refusals[] = {
      {Of(NodeType::Add), {{2, 3}, {2}}, "sizes [2,3] and [2] do not broadcast"},
      {Of(NodeType::FullyConnected), {{5, 3}, {7, 4}}, "takes 4 channels, got [5,3]"},
      {Of(NodeType::FullyConnected), {{5, 3}, {7}}, "expected a filter of rank 2, got [7]"},
      {Of(NodeType::FullyConnected), {{}, {7, 3}}, "for []"},
      {Of(NodeType::BatchMatrixMultiply),
       {{5, 2, 3}, {5, 4, 3}},
       "expected matrices of sizes [5,3,3], got [5,4,3]"},
      {Of(NodeType::BatchMatrixMultiply), {{5, 2, 3}, {1, 3, 4}}, "got [1,3,4]"},
      {Of(NodeType::BatchMatrixMultiply), {{3}, {3}}, "got [3]"},
      {Of(NodeType::BatchMatrixMultiply), {{2, 3}, {3}}, "got [3]"},
      {Of(NodeType::Softmax), {{}}, "the input has no dimension"},
      {Of(NodeType::StaticTranspose, {0, 1}), {{1, 2, 3}}, "a number per dimension of [1,2,3]"},
      {Of(NodeType::StaticTranspose, {0, 0, 1}), {{1, 2, 3}}, "[0,0,1] is not a permutation"},
      {Of(NodeType::StaticTranspose, {0, 257, 1}), {{1, 2, 3}}, "is not a permutation"},
      {Windowed(NodeType::Conv2d, Kernel(1)), {{2, 3}, {1, 1, 1, 1}}, "an input of rank 4"},
      {Windowed(NodeType::Conv2d, Channels(Kernel(1), 2, 2, 1)),
       {{1, 2, 3, 3}, {2, 1, 1, 2}},
       "2 groups of 2 channels, the input has 3"},
      {Windowed(NodeType::Conv2d, Channels(Kernel(1), huge, huge, huge)),
       {{1, 2, 3, 3}, {2, 1, 1, 2}},
       "the input has 3"},
      {Windowed(NodeType::DepthwiseConv2d, Channels(Kernel(1), 1, 2, 1)),
       {{1, 2, 3, 2}, {1, 1, 1, 1}},
       "expected groups of 1 input channel, got 2"},
      {Windowed(NodeType::Conv2d, Channels(Kernel(3), 1, 2, 4)),
       {{1, 5, 5, 2}, {4, 2, 3, 3}},
       "expected a filter of sizes [4,3,3,2], got [4,2,3,3]"},
      {Windowed(NodeType::Conv2d, Channels(Kernel(3), 1, 2, 4)),
       {{1, 2, 5, 2}, {4, 3, 3, 2}},
       "the window is larger than the padded input"},
      {Windowed(NodeType::ConvTranspose2d, Channels(Kernel(3, 1, 4), 1, 2, 4)),
       {{1, 2, 5, 2}, {4, 3, 3, 2}},
       "the window is larger than the padded input"},
      {Windowed(NodeType::ConvTranspose2d, adjusted),
       {{1, 5, 5, 2}, {4, 3, 3, 2}},
       "the adjustment is not less than the stride"},
      {Windowed(NodeType::ConvTranspose2d, taller),
       {{1, 5, 5, 2}, {4, 3, 3, 2}},
       "the adjustment is not less than the stride"},
      // Sizes that overflow 64 bits.
      {Windowed(NodeType::MaxPooling2d, Dilated(3, INT64_MAX, 1)),
       {{1, 5, 5, 2}},
       "the window is larger"},
      {Windowed(NodeType::MaxPooling2d, Dilated(3, 1, INT64_MAX)),
       {{1, 5, 5, 2}},
       "the window is larger"},
      {Windowed(NodeType::AvgPooling2d, Kernel(2)), {{5, 5, 2}}, "an input of rank 4"},
      {Windowed(NodeType::MaxPooling2d, wide), {{1, 5, 5, 2}}, "the padding is not less"},
      {Windowed(NodeType::MaxPooling2d, Kernel(2, 1, 2)),
       {{1, 5, 5, 2}},
       "the padding is not less"},
      {Windowed(NodeType::MaxPooling2d, Kernel(6)), {{1, 5, 5, 2}}, "the window is larger"},
      {Of(NodeType::GlobalAvgPooling2d), {{1, 5, 5}}, "an input of rank 4, got [1,5,5]"},
      {Of(NodeType::StaticReshape, {0, 0}), {{4, 3}}, "more than one inferred size"},
      {Of(NodeType::StaticReshape, {5, 0}),
       {{4, 3}},
       "[4,3] does not have as many elements as [5,0]"},
      {Of(NodeType::StaticReshape, {5}), {{4, 3}}, "does not have as many elements"},
      {Of(NodeType::StaticReshape, {huge, huge, 0}), {{4, 3}}, "does not have as many elements"},
      {Of(NodeType::StaticReshape, {100, 0}), {{4, 3}}, "does not have as many elements"},
      {Of(NodeType::StaticConstantPad, {1}, {1, 1}), {{4, 3}}, "a number per dimension"},
      {Of(NodeType::StaticConstantPad, {1, 1}, {1}), {{4, 3}}, "a number per dimension"},
      {Of(NodeType::StaticConstantPad, {INT64_MAX, 1}, {1, 1}), {{4, 3}}, "too large"},
      {Of(NodeType::StaticConstantPad, {huge, huge}, {1, 1}), {{4, 3}}, "the output's sizes are"},
      {Of(NodeType::StaticSlice, {1}, {1, 1}), {{4, 3}}, "a number per dimension"},
      {Of(NodeType::StaticSlice, {1, 1}, {1}), {{4, 3}}, "a number per dimension"},
      {Of(NodeType::StaticSlice, {3, 0}, {2, 3}), {{4, 3}}, "2 elements at 3 of dimension 0"},
      {Of(NodeType::StaticSlice, {3, 0}, {0, 3}), {{4, 3}}, "the output's sizes are [0,3]"},
      {Of(NodeType::StaticResizeBilinear2D, {0, 2}), {{1, 4, 4, 3}}, "the output's sizes are"},
      {Of(NodeType::StaticResizeBilinear2D, {2, 2}), {{4, 3}}, "an input of rank 4"},
      {Of(NodeType::PReLU), {{2, 3}, {2}}, "expected slopes of sizes [3], got [2]"},
      {Of(NodeType::PReLU), {{2, 3}, {}}, "expected slopes"},
      {Of(NodeType::PReLU), {{}, {1}}, "expected slopes of sizes [1], got [1]"},
      {Of(NodeType::PReLU), {{}, {}}, "expected slopes"},
      {Of(NodeType::Concatenate2, {2}), {{2, 3}, {2, 3}}, "axis 2 of inputs of rank 2"},
      {Of(NodeType::Concatenate2, {0}), {{2, 3}, {2, 4}}, "expected an input of sizes [2,3]"},
      {Of(NodeType::Concatenate2, {0}), {{2, 3}, {2}}, "expected an input of sizes [2,3], got [2]"},
      {Of(NodeType::Concatenate2, {0}), {{INT64_MAX, 1}, {1, 1}}, "the sum of sizes is too large"},
  };
  for (const Refusal& r : refusals) {
    EXPECT_THAT(SizesOf(r.node, r.inputs),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(r.message)));
  }
}

TEST(OutputSizesTest, BiasesHaveOneElementPerChannel) {
  const Sizes image({1, 5, 5, 2}), filter({4, 1, 1, 2}), rows({3, 2}), weight({4, 2});
  const Sizes good({4}), few({3}), scalar;
  const Node conv = Windowed(NodeType::Conv2d, Channels(Kernel(1), 1, 2, 4));
  const Node linear = Of(NodeType::FullyConnected);
  for (const auto& [node, x, w, result] : {std::tuple(conv, image, filter, Sizes({1, 5, 5, 4})),
                                           std::tuple(linear, rows, weight, Sizes({3, 4}))}) {
    const Sizes* inputs[] = {&x, &w, &good};
    EXPECT_EQ(OutputSizes(node, inputs).value(), result);
    for (const Sizes* bias : {&few, &scalar}) {
      inputs[2] = bias;
      EXPECT_THAT(OutputSizes(node, inputs),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("expected a bias of sizes [4], got [")));
    }
  }
}

TEST(WorkOfTest, CountsMultiplyAdds) {
  const Sizes x({1, 16, 16, 3}), y({1, 8, 8, 8}), filter({8, 3, 3, 3});
  const Sizes* inputs[] = {&x, &filter, nullptr};
  EXPECT_EQ(WorkOf(Windowed(NodeType::Conv2d, Channels(Kernel(3), 1, 3, 8)), inputs, y),
            8u * 8 * 8 * 27);
  const Sizes a({4, 5}), b({4, 7}), weight({7, 5});
  const Sizes* linear[] = {&a, &weight, nullptr};
  EXPECT_EQ(WorkOf(Of(NodeType::FullyConnected), linear, b), 4u * 7 * 5);
  EXPECT_EQ(WorkOf(Of(NodeType::Abs), linear, a), 20u);
}

}  // namespace
}  // namespace belay::xnnpack
