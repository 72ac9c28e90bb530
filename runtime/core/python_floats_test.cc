#include "runtime/core/python_floats.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace belay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Results of CPython.
TEST(PythonFloatsTest, FloorDivision) {
  EXPECT_EQ(PythonFloatFloorDiv(7.0, 2.0), 3);
  EXPECT_EQ(PythonFloatFloorDiv(-7.0, 2.0), -4);
  EXPECT_EQ(PythonFloatFloorDiv(7.0, -2.0), -4);
  EXPECT_EQ(PythonFloatFloorDiv(-7.0, -2.0), 3);
  EXPECT_EQ(PythonFloatFloorDiv(0.3, 0.1), 2);  // 0.3 / 0.1 rounds to 2.9999999999999996
  EXPECT_EQ(PythonFloatFloorDiv(1.0, 0.1), 9);  // 1 / 0.1 rounds up to 10
  EXPECT_TRUE(std::signbit(PythonFloatFloorDiv(-0.0, 3.0)));
  EXPECT_TRUE(std::isnan(PythonFloatFloorDiv(kInf, 2.0)));
}

TEST(PythonFloatsTest, FloorDivisionByZeroIsTheQuotient) {
  EXPECT_EQ(PythonFloatFloorDiv(1.0, 0.0), kInf);
  EXPECT_EQ(PythonFloatFloorDiv(-1.0, 0.0), -kInf);
  EXPECT_TRUE(std::isnan(PythonFloatFloorDiv(0.0, 0.0)));
}

TEST(PythonFloatsTest, RoundsEachStep) {
  int steps = 0;
  const auto round = [&](double x) {
    ++steps;
    return static_cast<double>(static_cast<float>(x));
  };
  EXPECT_EQ(PythonFloatFloorDiv(-7.0, 2.0, round), -4);
  EXPECT_EQ(steps, 4);
}

}  // namespace
}  // namespace belay
