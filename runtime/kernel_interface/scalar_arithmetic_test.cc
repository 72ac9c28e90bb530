#include "runtime/kernel_interface/scalar_arithmetic.h"

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/core/testing.h"

namespace belay {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

EValue I(int64_t v) { return EValue(v); }
EValue F(double v) { return EValue(v); }
EValue B(bool v) { return EValue(v); }

// Formats the result with its kind; "error" on failure.
std::string Apply(ScalarOp op, const std::vector<EValue>& arguments) {
  const absl::StatusOr<EValue> result = ApplyScalarOp(op, arguments);
  if (!result.ok()) return "error";
  if (const int64_t* i = result->get_if<int64_t>()) return std::to_string(*i);
  if (const bool* b = result->get_if<bool>()) return *b ? "true" : "false";
  char text[40];
  std::snprintf(text, sizeof(text), "%g.", *result->get_if<double>());
  return text;
}

TEST(ScalarArithmeticTest, IntegersAreChecked) {
  EXPECT_EQ(Apply(ScalarOp::kAdd, {I(2), I(3)}), "5");
  EXPECT_EQ(Apply(ScalarOp::kAdd, {I(kMax), I(1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kMul, {I(kMin), I(-1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kNeg, {I(kMin)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kPow, {I(-2), I(63)}), std::to_string(kMin));
  EXPECT_EQ(Apply(ScalarOp::kPow, {I(2), I(63)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kPow, {I(-1), I(kMax)}), "-1");
  EXPECT_EQ(Apply(ScalarOp::kPow, {I(2), I(-1)}), "0.5.");
}

TEST(ScalarArithmeticTest, DivisionFollowsPython) {
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {I(-7), I(2)}), "-4");
  EXPECT_EQ(Apply(ScalarOp::kMod, {I(-7), I(2)}), "1");
  EXPECT_EQ(Apply(ScalarOp::kMod, {I(7), I(-2)}), "-1");
  EXPECT_EQ(Apply(ScalarOp::kMod, {I(kMin), I(-1)}), "0");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {I(kMin), I(-1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(-7), I(2)}), "-4.");
  EXPECT_EQ(Apply(ScalarOp::kMod, {F(-7), F(2)}), "1.");
  EXPECT_EQ(Apply(ScalarOp::kTrueDiv, {I(1), I(4)}), "0.25.");
  for (const ScalarOp op : {ScalarOp::kFloorDiv, ScalarOp::kMod, ScalarOp::kTrueDiv}) {
    EXPECT_EQ(Apply(op, {I(1), I(0)}), "error");
    EXPECT_EQ(Apply(op, {F(1), F(0)}), "error");
  }
}

TEST(ScalarArithmeticTest, ShiftsOutOfRangeAreErrors) {
  EXPECT_EQ(Apply(ScalarOp::kLShift, {I(3), I(4)}), "48");
  EXPECT_EQ(Apply(ScalarOp::kLShift, {I(1), I(63)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kLShift, {I(-1), I(63)}), std::to_string(kMin));
  EXPECT_EQ(Apply(ScalarOp::kLShift, {I(0), I(kMax)}), "0");
  EXPECT_EQ(Apply(ScalarOp::kLShift, {I(1), I(-1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kRShift, {I(-5), I(200)}), "-1");
}

TEST(ScalarArithmeticTest, FloatsDominateAndBoolsAreIntegers) {
  EXPECT_EQ(Apply(ScalarOp::kAdd, {I(1), F(0.5)}), "1.5.");
  EXPECT_EQ(Apply(ScalarOp::kAdd, {B(true), B(true)}), "2");
  EXPECT_EQ(Apply(ScalarOp::kAnd, {B(true), B(false)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kAnd, {I(6), I(3)}), "2");
  EXPECT_EQ(Apply(ScalarOp::kMax, {I(3), F(2)}), "3.");
  EXPECT_EQ(Apply(ScalarOp::kMin, {I(3), I(2)}), "2");
}

TEST(ScalarArithmeticTest, ComparisonsWithNanAreFalseButNotEqual) {
  const double nan = std::nan("");
  for (const ScalarOp op :
       {ScalarOp::kEq, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe}) {
    EXPECT_EQ(Apply(op, {F(nan), F(1)}), "false");
  }
  EXPECT_EQ(Apply(ScalarOp::kNe, {F(nan), F(nan)}), "true");
  // Exact beyond the precision of doubles.
  EXPECT_EQ(Apply(ScalarOp::kLt, {I(kMax - 1), I(kMax)}), "true");
}

TEST(ScalarArithmeticTest, RoundingToIntegers) {
  EXPECT_EQ(Apply(ScalarOp::kTrunc, {F(-2.7)}), "-2");
  EXPECT_EQ(Apply(ScalarOp::kCeil, {F(-2.7)}), "-2");
  EXPECT_EQ(Apply(ScalarOp::kFloor, {F(-2.7)}), "-3");
  EXPECT_EQ(Apply(ScalarOp::kToInt, {F(1e30)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kToInt, {F(std::nan(""))}), "error");
  EXPECT_EQ(Apply(ScalarOp::kSqrt, {I(9)}), "3.");
  EXPECT_EQ(Apply(ScalarOp::kSqrt, {I(-1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kNot, {B(false)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kIfThenElse, {B(false), I(1), I(2)}), "2");
}

TEST(ScalarArithmeticTest, MixedKindsAreComparedAsFloats) {
  const double nan = std::nan("");
  EXPECT_EQ(Apply(ScalarOp::kLt, {I(2), F(2.5)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kGt, {F(2.5), I(2)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kEq, {F(2), I(2)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kLe, {F(2), F(2)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kGe, {F(2), F(2)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kGe, {I(3), I(2)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kGe, {I(1), I(2)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kEq, {I(3), I(2)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kNe, {I(3), I(3)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kLt, {F(1), F(nan)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kMax, {I(2), I(3)}), "3");
  EXPECT_EQ(Apply(ScalarOp::kMin, {F(2), I(3)}), "2.");
  EXPECT_EQ(Apply(ScalarOp::kMax, {I(2), F(3)}), "3.");
}

// Matches CPython's float_divmod.
TEST(ScalarArithmeticTest, FloatsAreDividedAsPythonDoes) {
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(7), F(2)}), "3.");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(7), F(-2)}), "-4.");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(-7), F(-2)}), "3.");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(6), F(2)}), "3.");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(0), F(-2)}), "-0.");
  EXPECT_EQ(Apply(ScalarOp::kFloorDiv, {F(1), F(3)}), "0.");
  EXPECT_EQ(Apply(ScalarOp::kMod, {F(7), F(-2)}), "-1.");
  EXPECT_EQ(Apply(ScalarOp::kMod, {F(-7), F(-2)}), "-1.");
  EXPECT_EQ(Apply(ScalarOp::kMod, {F(7), F(2)}), "1.");
  EXPECT_EQ(Apply(ScalarOp::kMod, {F(6), F(-2)}), "-0.");
  EXPECT_EQ(Apply(ScalarOp::kMod, {F(-6), F(2)}), "0.");
}

TEST(ScalarArithmeticTest, PowersWithoutRealResultAreErrors) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Apply(ScalarOp::kPow, {I(0), I(-1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kPow, {F(0), F(-0.5)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kPow, {F(0), F(2)}), "0.");
  EXPECT_EQ(Apply(ScalarOp::kPow, {F(-8), F(0.5)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kPow, {F(-2), F(3)}), "-8.");
  EXPECT_EQ(Apply(ScalarOp::kPow, {F(-2), F(infinity)}), "inf.");
  EXPECT_EQ(Apply(ScalarOp::kPow, {F(4), F(0.5)}), "2.");
}

TEST(ScalarArithmeticTest, BitwiseOperatorsTakeIntegersAndBools) {
  EXPECT_EQ(Apply(ScalarOp::kOr, {B(true), B(false)}), "true");
  EXPECT_EQ(Apply(ScalarOp::kOr, {B(false), B(false)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kOr, {I(6), I(3)}), "7");
  EXPECT_EQ(Apply(ScalarOp::kOr, {B(true), I(2)}), "3");
  EXPECT_EQ(Apply(ScalarOp::kOr, {I(2), B(true)}), "3");
  EXPECT_EQ(Apply(ScalarOp::kAnd, {B(true), I(3)}), "1");
  EXPECT_EQ(Apply(ScalarOp::kAnd, {I(3), B(true)}), "1");
  for (const ScalarOp op : {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kLShift, ScalarOp::kRShift}) {
    EXPECT_EQ(Apply(op, {F(1), I(1)}), "error");
    EXPECT_EQ(Apply(op, {I(1), F(1)}), "error");
  }
  EXPECT_THAT(ApplyScalarOp(ScalarOp::kAnd, {F(1.5), I(2)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "'&' is not defined for 1.5 and 2"));
}

TEST(ScalarArithmeticTest, FloatsStayFloats) {
  EXPECT_EQ(Apply(ScalarOp::kSub, {F(1), I(3)}), "-2.");
  EXPECT_EQ(Apply(ScalarOp::kMul, {F(1.5), I(3)}), "4.5.");
  EXPECT_EQ(Apply(ScalarOp::kSub, {I(1), I(3)}), "-2");
  EXPECT_EQ(Apply(ScalarOp::kNeg, {F(1.5)}), "-1.5.");
  EXPECT_EQ(Apply(ScalarOp::kNeg, {I(3)}), "-3");
  EXPECT_EQ(Apply(ScalarOp::kPos, {F(1.5)}), "1.5.");
  EXPECT_EQ(Apply(ScalarOp::kPos, {B(true)}), "1");
  EXPECT_EQ(Apply(ScalarOp::kToFloat, {I(3)}), "3.");
  for (const ScalarOp op :
       {ScalarOp::kTrunc, ScalarOp::kToInt, ScalarOp::kCeil, ScalarOp::kFloor}) {
    EXPECT_EQ(Apply(op, {I(kMax)}), std::to_string(kMax));
  }
  EXPECT_EQ(Apply(ScalarOp::kNot, {F(0.5)}), "false");
  EXPECT_EQ(Apply(ScalarOp::kIfThenElse, {F(0.5), I(1), I(2)}), "1");
}

TEST(ScalarArithmeticTest, WrongKindsAndCountsAreErrors) {
  EXPECT_EQ(Apply(ScalarOp::kAdd, {EValue(), I(1)}), "error");
  EXPECT_EQ(Apply(ScalarOp::kAdd, {I(1), EValue()}), "error");
  EXPECT_THAT(ApplyScalarOp(ScalarOp::kAdd, {I(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "'+': expected 2 arguments, got 1"));
  EXPECT_THAT(
      ApplyScalarOp(ScalarOp::kNeg, {EValue()}),
      StatusIs(absl::StatusCode::kInvalidArgument, "'neg': expected a real number, got none"));
  EXPECT_THAT(ApplyScalarOp(ScalarOp::kMul, {I(kMax), I(2)}),
              StatusIs(absl::StatusCode::kOutOfRange, "'*': the result does not fit in int64"));
  EXPECT_EQ(Apply(ScalarOp::kIfThenElse, {B(true), I(1), EValue()}), "error");
}

}  // namespace
}  // namespace belay
