#include "runtime/core/same_value.h"

#include <cmath>
#include <complex>
#include <cstdint>

#include "gtest/gtest.h"

namespace belay {
namespace {

const double kNan = std::nan("1"), kOtherNan = -std::nan("2");

TEST(SameValueTest, DistinguishesZerosAndEquatesNans) {
  EXPECT_TRUE(SameValue(0.5, 0.5));
  EXPECT_FALSE(SameValue(0.5, 0.25));
  EXPECT_FALSE(SameValue(0.0, -0.0));
  EXPECT_TRUE(SameValue(kNan, kOtherNan));
  EXPECT_FALSE(SameValue(kNan, 1.0));
  EXPECT_FALSE(SameValue(1.0, kNan));
}

TEST(SameValueTest, ComparesBothPartsOfComplexNumbers) {
  using Complex = std::complex<double>;
  EXPECT_TRUE(SameValue(Complex(1, kNan), Complex(1, kOtherNan)));
  EXPECT_FALSE(SameValue(Complex(0.0, 1), Complex(-0.0, 1)));
  EXPECT_FALSE(SameValue(Complex(1, 0.0), Complex(1, -0.0)));
}

TEST(SameValueTest, OtherValuesCompareByEquality) {
  EXPECT_TRUE(SameValue(int64_t{3}, int64_t{3}));
  EXPECT_FALSE(SameValue(true, false));
}

}  // namespace
}  // namespace belay
