#include "runtime/kernel_interface/shape_rules/fft.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Sizes> Transformed(const Sizes& shape, const std::vector<int64_t>& dims) {
  return TransformedDims<D>(ToDims(shape), dims);
}

TEST(FftTest, TransformsEachDimensionOnce) {
  EXPECT_EQ(*Transformed({2, 3}, {-1, 0}), Sizes({1, 0}));
  EXPECT_EQ(*Transformed({}, {}), Sizes());
  EXPECT_THAT(Transformed({2, 3}, {1, -1}), StatusIs(kInvalid, HasSubstr("more than once")));
  EXPECT_THAT(Transformed({2, 3}, {2}), StatusIs(kRange, HasSubstr("dim 2")));
  EXPECT_THAT(Transformed({}, {0}),
              StatusIs(kInvalid, "fft: the scalar tensor has no dimension to transform"));
  EXPECT_THAT(Transformed({2, 0}, {1}),
              StatusIs(kInvalid, "fft: dimension 1 of shape [2,0] is empty"));
  EXPECT_EQ(*Transformed({2, 0}, {0}), Sizes({0}));
}

TEST(FftTest, RealTransformKeepsHalf) {
  EXPECT_EQ(*ToSizes(*RealFftShape<D>(ToDims({4, 5}), {0, 1}, true)), Sizes({4, 3}));
  EXPECT_EQ(*ToSizes(*RealFftShape<D>(ToDims({4, 5}), {1, 0}, true)), Sizes({3, 5}));
  EXPECT_EQ(*ToSizes(*RealFftShape<D>(ToDims({4, 5}), {1}, false)), Sizes({4, 5}));
  EXPECT_THAT(RealFftShape<D>(ToDims({4}), {}, true),
              StatusIs(kInvalid, "dim: expected at least one dimension"));
}

TEST(FftTest, InverseRealTransformNeedsHalf) {
  const auto shape = [](const Dims<D>& input, D last) {
    return InverseRealFftShape<D>(input, {1}, last);
  };
  EXPECT_EQ(*ToSizes(*shape(ToDims({4, 3}), D(5))), Sizes({4, 5}));
  EXPECT_EQ(*ToSizes(*shape(ToDims({4, 3}), D(4))), Sizes({4, 4}));
  EXPECT_THAT(shape(ToDims({4, 3}), D(6)),
              StatusIs(kInvalid, "last_dim_size: 6 does not belong to an input of shape [4,3]"));
  EXPECT_THAT(shape(ToDims({4, 3}), D(0)), StatusIs(kInvalid, HasSubstr("last_dim_size: 0")));
  EXPECT_FALSE((*shape(ToDims({4, 3}), Overflowed()))[1].ok());
  EXPECT_OK(shape({D(4), Overflowed()}, D(6)));
  EXPECT_THAT(shape({D(4), Overflowed()}, D(0)), StatusIs(kInvalid));
  EXPECT_THAT(InverseRealFftShape<D>(ToDims({4}), {}, D(2)),
              StatusIs(kInvalid, "dim: expected at least one dimension"));
}

TEST(FftTest, HasThreeNormalizations) {
  for (const int64_t number : {-1, 3}) {
    EXPECT_THAT(
        ReadStatus<RealFftCall<K>>("self dim normalization onesided",
                                   {Tensor({4}), Ints({0}), number, true}),
        StatusIs(kInvalid, absl::StrCat("normalization: expected 0, 1 or 2, got ", number)));
  }
}

}  // namespace
}  // namespace belay
