#include "runtime/kernel_interface/shape_rules/dims.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ToSizesTest, DimsRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const Sizes sizes, ToSizes(ToDims({2, 0, 3})));
  EXPECT_EQ(sizes, Sizes({2, 0, 3}));
  ASSERT_OK_AND_ASSIGN(const Sizes scalar, ToSizes({}));
  EXPECT_TRUE(scalar.empty());
}

TEST(ToSizesTest, RejectsInvalidShapes) {
  const CheckedInt overflow = CheckedInt(INT64_MAX) + 1;
  EXPECT_THAT(ToSizes({CheckedInt(2), overflow}),
              StatusIs(kInvalid, HasSubstr("[2,overflow] have a dimension that overflowed")));
  EXPECT_THAT(ToSizes({CheckedInt(-1)}),
              StatusIs(kInvalid, HasSubstr("[-1] have a negative dimension")));
  EXPECT_THAT(ToSizes(ToDims({int64_t{1} << 32, int64_t{1} << 32})),
              StatusIs(kInvalid, HasSubstr("too many elements")));
  EXPECT_THAT(ToSizes(std::vector<CheckedInt>(kMaxRank + 1, 1)),
              StatusIs(kInvalid, HasSubstr("rank 17")));
}

TEST(CheckedIntTest, MaxAndMin) {
  EXPECT_EQ(SymMax(2, 3).value(), 3);
  EXPECT_EQ(SymMax(3, 2).value(), 3);
  EXPECT_EQ(SymMin(2, 3).value(), 2);
  EXPECT_EQ(SymMin(3, 2).value(), 2);
  const CheckedInt overflow = CheckedInt(INT64_MAX) + 1;
  EXPECT_FALSE(SymMin(overflow, 3).ok());
}

TEST(NormalizeDimTest, CountsNegativeDimsFromTheEnd) {
  EXPECT_EQ(*NormalizeDim(0, 2), 0);
  EXPECT_EQ(*NormalizeDim(1, 2), 1);
  EXPECT_EQ(*NormalizeDim(-1, 2), 1);
  EXPECT_EQ(*NormalizeDim(-2, 2), 0);
}

TEST(NormalizeDimTest, RankZeroCountsAsOne) {
  EXPECT_EQ(*NormalizeDim(0, 0), 0);
  EXPECT_EQ(*NormalizeDim(-1, 0), 0);
  EXPECT_THAT(NormalizeDim(1, 0),
              StatusIs(absl::StatusCode::kOutOfRange, "dim 1 is out of range [-1, 0]"));
}

TEST(NormalizeDimTest, RejectsDimsOutOfRange) {
  EXPECT_THAT(NormalizeDim(3, 2),
              StatusIs(absl::StatusCode::kOutOfRange, "dim 3 is out of range [-2, 1]"));
  EXPECT_THAT(NormalizeDim(-3, 2), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(NormalizeDim(INT64_MIN, 2), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(NormalizeDim(INT64_MAX, 2), StatusIs(absl::StatusCode::kOutOfRange));
}

}  // namespace
}  // namespace belay
