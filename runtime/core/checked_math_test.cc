#include "runtime/core/checked_math.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(CheckedMathTest, ResultsThatFitAreReturned) {
  EXPECT_EQ(CheckedAdd<int64_t>(2, 3), 5);
  EXPECT_EQ(CheckedSub<int64_t>(2, 3), -1);
  EXPECT_EQ(CheckedMul<int64_t>(-2, 3), -6);
  EXPECT_EQ(CheckedAdd<uint64_t>(UINT64_MAX, 0), UINT64_MAX);
}

TEST(CheckedMathTest, OverflowIsNullopt) {
  EXPECT_EQ(CheckedAdd<int64_t>(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd<uint64_t>(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(CheckedSub<uint64_t>(0, 1), std::nullopt);
  EXPECT_EQ(CheckedSub<int64_t>(INT64_MIN, 1), std::nullopt);
  EXPECT_EQ(CheckedMul<int64_t>(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(CheckedMul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(CheckedMul<uint8_t>(16, 16), std::nullopt);
}

TEST(CheckedMathTest, AlignUpRoundsToTheNextMultiple) {
  EXPECT_EQ(CheckedAlignUp(0, 64), 0);
  EXPECT_EQ(CheckedAlignUp(1, 64), 64);
  EXPECT_EQ(CheckedAlignUp(64, 64), 64);
  EXPECT_EQ(CheckedAlignUp(UINT64_MAX, 1), UINT64_MAX);
}

TEST(CheckedMathTest, AlignUpRejectsOverflowAndInvalidAlignments) {
  EXPECT_EQ(CheckedAlignUp(UINT64_MAX, 64), std::nullopt);
  EXPECT_EQ(CheckedAlignUp(UINT64_MAX - 62, 64), std::nullopt);
  EXPECT_EQ(CheckedAlignUp(1, 0), std::nullopt);
  EXPECT_EQ(CheckedAlignUp(1, 48), std::nullopt);
}

TEST(CheckedMathTest, RangeFitsDoesNotWrap) {
  EXPECT_TRUE(RangeFits(0, 0, 0));
  EXPECT_TRUE(RangeFits(4, 6, 10));
  EXPECT_TRUE(RangeFits(10, 0, 10));
  EXPECT_FALSE(RangeFits(4, 7, 10));
  EXPECT_FALSE(RangeFits(11, 0, 10));
  EXPECT_FALSE(RangeFits(UINT64_MAX, 2, 10));
  EXPECT_FALSE(RangeFits(2, UINT64_MAX, 10));
}

TEST(CheckedIntTest, FloorDivRoundsTowardsMinusInfinity) {
  EXPECT_EQ(FloorDiv(CheckedInt(7), CheckedInt(2)).value(), 3);
  EXPECT_EQ(FloorDiv(CheckedInt(-7), CheckedInt(2)).value(), -4);
  EXPECT_EQ(FloorDiv(CheckedInt(7), CheckedInt(-2)).value(), -4);
  EXPECT_EQ(FloorDiv(CheckedInt(-7), CheckedInt(-2)).value(), 3);
  EXPECT_EQ(FloorDiv(CheckedInt(-8), CheckedInt(2)).value(), -4);
  EXPECT_EQ(FloorDiv(CheckedInt(-8), CheckedInt(-1)).value(), 8);
}

TEST(CheckedIntTest, InvalidResultsStayInvalid) {
  const CheckedInt overflow = CheckedInt(INT64_MAX) + 1;
  EXPECT_FALSE(overflow.ok());
  EXPECT_EQ(overflow.value(), 0);
  EXPECT_FALSE((overflow - 1).ok());
  EXPECT_FALSE((CheckedInt(0) * overflow).ok());
  EXPECT_FALSE(FloorDiv(overflow, 1).ok());
  EXPECT_FALSE(FloorDiv(CheckedInt(1), 0).ok());
  EXPECT_FALSE(FloorDiv(CheckedInt(INT64_MIN), -1).ok());
}

TEST(CheckedIntTest, ComparisonsWithInvalidValuesAreFalse) {
  const CheckedInt overflow = CheckedInt(INT64_MAX) + 1;
  EXPECT_FALSE(overflow == overflow);
  // Either operand may be invalid, even with value 0.
  for (const auto& [a, b] : {std::pair(overflow, CheckedInt(0)),
                             {overflow, CheckedInt(1)},
                             {CheckedInt(0), overflow},
                             {CheckedInt(-1), overflow}}) {
    EXPECT_FALSE(a == b);
    EXPECT_FALSE(a < b);
    EXPECT_FALSE(a <= b);
  }
  EXPECT_TRUE(CheckedInt(1) < 2);
  EXPECT_FALSE(CheckedInt(2) < 2);
  EXPECT_TRUE(CheckedInt(2) <= 2);
  EXPECT_FALSE(CheckedInt(3) <= 2);
  EXPECT_TRUE(CheckedInt(2) == 2);
  EXPECT_FALSE(CheckedInt(3) == 2);
}

}  // namespace
}  // namespace belay
