#include "runtime/core/python_integers.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "gtest/gtest.h"

namespace belay {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(),
                  kMax = std::numeric_limits<int64_t>::max();

TEST(PythonIntegersTest, QuotientsAreRoundedTowardsMinusInfinity) {
  EXPECT_EQ(PythonFloorDiv(7, 2), 3);
  EXPECT_EQ(PythonFloorDiv(-7, 2), -4);
  EXPECT_EQ(PythonFloorDiv(7, -2), -4);
  EXPECT_EQ(PythonFloorDiv(-7, -2), 3);
  EXPECT_EQ(PythonFloorDiv(-8, 2), -4);
  EXPECT_EQ(PythonFloorDiv(kMin, 1), kMin);
  EXPECT_EQ(PythonFloorDiv(kMin, -1), std::nullopt);
  EXPECT_EQ(PythonFloorDiv(kMax, -1), -kMax);
  EXPECT_EQ(PythonFloorDiv(1, 0), std::nullopt);
}

TEST(PythonIntegersTest, RemaindersHaveTheSignOfTheDivisor) {
  EXPECT_EQ(PythonMod(7, 3), 1);
  EXPECT_EQ(PythonMod(-7, 3), 2);
  EXPECT_EQ(PythonMod(7, -3), -2);
  EXPECT_EQ(PythonMod(-7, -3), -1);
  EXPECT_EQ(PythonMod(-6, 3), 0);
  EXPECT_EQ(PythonMod(kMin, -1), 0);
  EXPECT_EQ(PythonMod(1, 0), std::nullopt);
}

TEST(PythonIntegersTest, ShiftsFitOrAreNullopt) {
  EXPECT_EQ(PythonShiftLeft(3, 4), 48);
  EXPECT_EQ(PythonShiftLeft(0, 1000), 0);
  EXPECT_EQ(PythonShiftLeft(-1, 63), kMin);
  EXPECT_EQ(PythonShiftLeft(-1, 3), -8);
  EXPECT_EQ(PythonShiftLeft(-1, 64), std::nullopt);
  EXPECT_EQ(PythonShiftLeft(1, 62), int64_t{1} << 62);
  EXPECT_EQ(PythonShiftLeft(1, 63), std::nullopt);
  EXPECT_EQ(PythonShiftLeft(2, 62), std::nullopt);
  EXPECT_EQ(PythonShiftLeft(1, -1), std::nullopt);
  EXPECT_EQ(PythonShiftRight(-5, 1), -3);
  EXPECT_EQ(PythonShiftRight(-5, 1000), -1);
  EXPECT_EQ(PythonShiftRight(5, 64), 0);
  EXPECT_EQ(PythonShiftRight(5, -1), std::nullopt);
}

TEST(PythonIntegersTest, PowersOfNonNegativeExponents) {
  EXPECT_EQ(PythonPow(0, 0), 1);
  EXPECT_EQ(PythonPow(-3, 3), -27);
  EXPECT_EQ(PythonPow(2, 62), int64_t{1} << 62);
  EXPECT_EQ(PythonPow(-2, 63), kMin);
  EXPECT_EQ(PythonPow(2, 63), std::nullopt);
  EXPECT_EQ(PythonPow(int64_t{1} << 32, 3), std::nullopt);
  EXPECT_EQ(PythonPow(-1, kMax), -1);
  EXPECT_EQ(PythonPow(2, -1), std::nullopt);
}

TEST(PythonIntegersTest, DoublesInRangeAreTruncated) {
  EXPECT_EQ(TruncateToInt64(-2.9), -2);
  EXPECT_EQ(TruncateToInt64(-9223372036854775808.0), kMin);
  EXPECT_EQ(TruncateToInt64(9223372036854775808.0), std::nullopt);
  EXPECT_EQ(TruncateToInt64(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
}

}  // namespace
}  // namespace belay
