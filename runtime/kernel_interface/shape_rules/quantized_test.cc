#include "runtime/kernel_interface/shape_rules/quantized.h"

#include <cstdint>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(QuantizedTest, BoundsMatchDType) {
  using Bounds = std::pair<int64_t, int64_t>;
  EXPECT_EQ(*QuantizedBounds(DType::kUint8), Bounds(0, 255));
  EXPECT_EQ(*QuantizedBounds(DType::kInt8), Bounds(-128, 127));
  EXPECT_EQ(*QuantizedBounds(DType::kUint16), Bounds(0, 65535));
  EXPECT_EQ(*QuantizedBounds(DType::kInt16), Bounds(-32768, 32767));
  EXPECT_EQ(*QuantizedBounds(DType::kInt32), Bounds(INT32_MIN, INT32_MAX));
  EXPECT_THAT(QuantizedBounds(DType::kInt64), StatusIs(kInvalid, HasSubstr("got int64")));
  EXPECT_OK(CheckQuantizedRange(DType::kInt8, -128, 127));
  EXPECT_THAT(CheckQuantizedRange(DType::kInt8, -129, 127),
              StatusIs(kInvalid, "quant_min, quant_max: [-129, 127] is beyond int8's [-128, 127]"));
  EXPECT_THAT(CheckQuantizedRange(DType::kUint8, 0, 256), StatusIs(kInvalid));
  EXPECT_THAT(CheckQuantizedRange(DType::kFloat32, 0, 1), StatusIs(kInvalid));
}

TEST(QuantizedTest, ChosenRangeContainsZero) {
  EXPECT_OK(CheckChosenRange(DType::kInt8, -128, 127));
  EXPECT_OK(CheckChosenRange(DType::kInt8, 0, 1));
  EXPECT_OK(CheckChosenRange(DType::kInt8, -1, 0));
  for (const auto& [low, high] : {std::pair(1, 2), std::pair(-2, -1), std::pair(0, 0)}) {
    EXPECT_THAT(CheckChosenRange(DType::kInt8, low, high),
                StatusIs(kInvalid, HasSubstr("expected a range around 0")));
  }
  EXPECT_THAT(CheckChosenRange(DType::kInt64, -1, 1), StatusIs(kInvalid, HasSubstr("got int64")));
}

TEST(QuantizedTest, PerTensorParameterHasOneElement) {
  EXPECT_OK(CheckOneElement<D>("scale", ToDims({1, 1})));
  EXPECT_OK(CheckOneElement<D>("scale", Dims<D>{Overflowed()}));  // may be one element
  EXPECT_THAT(CheckOneElement<D>("scale", ToDims({2})),
              StatusIs(kInvalid, "scale: expected one element, got shape [2]"));
}

TEST(QuantizedTest, PerTokenParameterHasOneElementPerRow) {
  EXPECT_OK(CheckTokenParameter<D>("scales", ToDims({2, 3, 1}), ToDims({2, 3, 4})));
  EXPECT_OK(CheckTokenParameter<D>("scales", ToDims({3, 1}), ToDims({2, 3, 4})));
  EXPECT_THAT(CheckTokenParameter<D>("scales", ToDims({2, 1}), ToDims({2, 3, 4})),
              StatusIs(kInvalid, HasSubstr("is not that of the rows of [2,3,4]")));
  EXPECT_THAT(CheckTokenParameter<D>("scales", Dims<D>(), ToDims({3, 4})), StatusIs(kInvalid));
  EXPECT_THAT(CheckTokenParameter<D>("scales", ToDims({1, 1, 1}), ToDims({3, 4})),
              StatusIs(kInvalid));
  EXPECT_EQ(*ToSizes(*TokenShape<D>(ToDims({2, 3}))), Sizes({2, 1}));
  EXPECT_THAT(TokenShape<D>({}), StatusIs(kInvalid, "input: expected at least one dimension"));
  EXPECT_THAT(TokenShape<D>(ToDims({2, 0})), StatusIs(kInvalid, HasSubstr("have no elements")));
}

TEST(QuantizedTest, GroupsDivideRows) {
  const auto groups = [](const Dims<D>& input, const Dims<D>& scales, int64_t size) {
    return GroupCount<D>(input, scales, size);
  };
  EXPECT_EQ(*groups(ToDims({3, 8}), ToDims({3, 2}), 4), D(2));
  // A group larger than the row, with one scale per row.
  EXPECT_EQ(*groups(ToDims({3, 8}), ToDims({3, 1}), 16), D(1));
  EXPECT_THAT(groups(ToDims({3, 8}), ToDims({3, 2}), 16), StatusIs(kInvalid, HasSubstr("divide")));
  EXPECT_THAT(groups(ToDims({3, 8}), {}, 16), StatusIs(kInvalid, HasSubstr("divide")));
  EXPECT_THAT(groups(ToDims({3, 8}), ToDims({3, 2}), 3),
              StatusIs(kInvalid, "group_size: rows of 8 elements do not divide into groups of 3"));
  EXPECT_THAT(groups(ToDims({3, 8}), ToDims({3, 2}), 1),
              StatusIs(kInvalid, "group_size: expected at least 2, got 1"));
  EXPECT_THAT(groups(ToDims({8}), ToDims({2}), 4), StatusIs(kInvalid, HasSubstr("a matrix")));
  EXPECT_FALSE(groups({D(3), Overflowed()}, ToDims({3, 1}), 4)->ok());
  EXPECT_OK(CheckGroupParameter<D>("scales", ToDims({3, 2}), D(3), D(2)));
  EXPECT_OK(CheckGroupParameter<D>("scales", ToDims({1}), D(3), D(2)));
  for (const Sizes& sizes : {Sizes({3, 1}), Sizes({2, 2}), Sizes({6})}) {
    EXPECT_THAT(CheckGroupParameter<D>("scales", ToDims(sizes), D(3), D(2)),
                StatusIs(kInvalid, HasSubstr("scales: expected shape [3,2]")));
  }
}

TEST(QuantizedTest, PerChannelParameterHasOneElementPerChannel) {
  EXPECT_EQ(*ChannelAxis<D>(ToDims({2, 3}), -1), 1);
  EXPECT_THAT(ChannelAxis<D>({}, 0), StatusIs(kRange, HasSubstr("has no channels")));
  EXPECT_THAT(ChannelAxis<D>(ToDims({2}), 1), StatusIs(kRange));
  EXPECT_OK(CheckChannelParameter<D>("scales", ToDims({3}), ToDims({2, 3}), 1));
  EXPECT_OK(CheckChannelParameter<D>("scales", ToDims({1}), ToDims({2, 3}), 1));
  for (const Sizes& sizes : {Sizes({2}), Sizes({3, 1})}) {
    EXPECT_THAT(CheckChannelParameter<D>("scales", ToDims(sizes), ToDims({2, 3}), 1),
                StatusIs(kInvalid, HasSubstr("scales: expected shape [3]")));
  }
}

}  // namespace
}  // namespace belay
