#include "runtime/kernel_interface/shape_rules/convolution.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

ConvolutionParams Params(int spatial, bool transposed = false, int64_t groups = 1) {
  const std::vector<int64_t> one(spatial, 1), none(spatial, 0);
  return *MakeConvolutionParams(one, none, one, transposed, none, groups, spatial);
}
absl::StatusOr<Sizes> Shape(const Sizes& input, const Sizes& weight, const ConvolutionParams& p) {
  ABSL_ASSIGN_OR_RETURN(const Dims<D> shape,
                        ConvolutionShape<D>(ToDims(input), ToDims(weight), nullptr, p));
  return ToSizes(shape);
}

TEST(ConvolutionTest, HasOneToThreeDimensions) {
  const std::vector<int64_t> one = {1}, none = {0};
  for (const int spatial : {0, 4}) {
    EXPECT_THAT(MakeConvolutionParams(one, none, one, false, none, 1, spatial),
                StatusIs(kInvalid, HasSubstr("expected an input of rank 3, 4 or 5")));
  }
  EXPECT_EQ(*Shape({1, 2, 5}, {4, 2, 3}, Params(1)), Sizes({1, 4, 3}));
  EXPECT_EQ(*Shape({1, 2, 5, 5, 5}, {4, 2, 3, 3, 3}, Params(3)), Sizes({1, 4, 3, 3, 3}));
  EXPECT_THAT(Shape({1, 2, 5}, {4, 2, 3}, Params(2)),
              StatusIs(kInvalid, HasSubstr("expected input and weight of rank 4")));
  EXPECT_THAT(Shape({1, 2, 5, 5}, {4, 2, 3}, Params(2)), StatusIs(kInvalid, HasSubstr("rank 4")));
}

TEST(ConvolutionTest, OnlyBatchOrChannelsMayBeEmpty) {
  EXPECT_EQ(*Shape({0, 2, 5}, {4, 2, 3}, Params(1)), Sizes({0, 4, 3}));
  EXPECT_THAT(Shape({1, 2, 0}, {4, 2, 3}, Params(1)),
              StatusIs(kInvalid, HasSubstr("has no elements at dimension 2")));
  // An empty spatial dimension is an error even if the batch or the channels are empty.
  EXPECT_THAT(Shape({0, 2, 0}, {4, 2, 3}, Params(1)),
              StatusIs(kInvalid, HasSubstr("is too small for weight")));
  EXPECT_THAT(Shape({1, 0, 0}, {4, 0, 3}, Params(1)),
              StatusIs(kInvalid, HasSubstr("is too small for weight")));
  EXPECT_THAT(
      Shape({1, 2, 5}, {4, 2, 0}, Params(1)),
      StatusIs(kInvalid, HasSubstr("weight: shape [4,2,0] has no elements at dimension 2")));
  EXPECT_THAT(Shape({1, 2, 5}, {2, 0, 3}, Params(1, /*transposed=*/true)),
              StatusIs(kInvalid, HasSubstr("gives no channels")));
  EXPECT_EQ(*Shape({1, 2, 5}, {2, 4, 3}, Params(1, /*transposed=*/true)), Sizes({1, 4, 7}));
}

TEST(ConvolutionTest, AcceptsUnknownSizes) {
  const Dims<D> input = {D(1), D(2), Overflowed()}, weight = ToDims({4, 2, 3});
  ASSERT_OK_AND_ASSIGN(const Dims<D> longer,
                       ConvolutionShape<D>(input, weight, nullptr, Params(1)));
  EXPECT_FALSE(longer[2].ok());
  const Dims<D> rows = {Overflowed(), D(2), Overflowed()};
  ASSERT_OK_AND_ASSIGN(const Dims<D> shape,
                       ConvolutionShape<D>(ToDims({1, 2, 5}), rows, nullptr, Params(1)));
  EXPECT_FALSE(shape[1].ok() || shape[2].ok());
}

TEST(ConvolutionTest, BiasHasOneElementPerChannel) {
  const auto shape = [](const Dims<D>& bias) {
    return ConvolutionShape<D>(ToDims({1, 2, 5}), ToDims({4, 2, 3}), &bias, Params(1)).status();
  };
  EXPECT_OK(shape(ToDims({4})));
  EXPECT_THAT(shape(ToDims({3})), StatusIs(kInvalid, "bias: expected shape [4], got [3]"));
  EXPECT_THAT(shape(ToDims({4, 1})), StatusIs(kInvalid, "bias: expected shape [4], got [4,1]"));
}

}  // namespace
}  // namespace belay
