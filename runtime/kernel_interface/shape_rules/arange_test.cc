#include "runtime/kernel_interface/shape_rules/arange.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr DType kF32 = DType::kFloat32, kI64 = DType::kInt64, kI32 = DType::kInt32;

absl::StatusOr<int64_t> Length(RealNumber start, RealNumber end, RealNumber step, DType dtype) {
  return ArangeLength(start, end, step, dtype);
}
RealNumber I(int64_t v) { return v; }

TEST(ArangeLengthTest, CountsTheStepsBeforeTheEnd) {
  EXPECT_EQ(*Length(I(0), I(5), I(2), kI64), 3);
  EXPECT_EQ(*Length(I(0), I(6), I(2), kI64), 3);
  EXPECT_EQ(*Length(I(5), I(0), I(-2), kI64), 3);
  EXPECT_EQ(*Length(I(5), I(5), I(1), kI64), 0);
  EXPECT_EQ(*Length(0.0, 1.0, 0.3, kF32), 4);
  EXPECT_EQ(*Length(1.0, 0.0, -0.5, kF32), 2);
  // As in PyTorch's formula: not even the first element.
  EXPECT_EQ(*Length(0.0, 1.0, kInfinity, kF32), 0);
  // int64 truncates the arguments first; other integers compute in floats.
  EXPECT_EQ(*Length(0.5, 3.5, 1.9, kI64), 3);
  EXPECT_EQ(*Length(0.5, 3.5, 1.9, kI32), 2);
}

TEST(ArangeLengthTest, StepMustPointToTheEnd) {
  EXPECT_THAT(Length(I(0), I(5), I(0), kI64), StatusIs(kInvalid, "the step must not be zero"));
  EXPECT_THAT(Length(0.0, 5.0, 0.0, kF32), StatusIs(kInvalid, "the step must not be zero"));
  EXPECT_THAT(Length(I(0), I(5), 0.5, kI64), StatusIs(kInvalid, "the step must not be zero"));
  EXPECT_EQ(*Length(I(0), I(5), 0.5, kI32), 10);
  EXPECT_THAT(Length(I(0), I(5), I(-1), kI64),
              StatusIs(kInvalid, "a step of -1 does not lead from 0 to 5"));
  EXPECT_THAT(Length(I(5), I(0), I(1), kI64),
              StatusIs(kInvalid, "a step of 1 does not lead from 5 to 0"));
}

TEST(ArangeLengthTest, ArgumentsMustBeFinite) {
  EXPECT_THAT(Length(kNan, 1.0, 1.0, kF32), StatusIs(kInvalid, HasSubstr("unsupported range")));
  EXPECT_THAT(Length(0.0, kInfinity, 1.0, kF32),
              StatusIs(kInvalid, "unsupported range from 0 to inf by 1"));
  EXPECT_THAT(Length(0.0, 1.0, kNan, kF32), StatusIs(kInvalid, HasSubstr("by nan")));
}

TEST(ArangeLengthTest, LengthMustFitInInt64) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  EXPECT_THAT(Length(I(0), kTwoTo63, I(1), kI64),
              StatusIs(kInvalid, HasSubstr("does not fit in int64")));
  EXPECT_THAT(Length(-2 * kTwoTo63, I(0), I(1), kI64),
              StatusIs(kInvalid, HasSubstr("does not fit in int64")));
  EXPECT_THAT(Length(I(0), I(1), kInfinity, kI64),
              StatusIs(kInvalid, HasSubstr("does not fit in int64")));
  EXPECT_EQ(*Length(-kTwoTo63, I(INT64_MIN), I(1), kI64), 0);
  EXPECT_EQ(*Length(I(INT64_MIN), I(-1), I(1), kI64), INT64_MAX);
  EXPECT_THAT(Length(I(INT64_MIN), I(INT64_MAX), I(1), kI64),
              StatusIs(kInvalid, HasSubstr("has too many elements")));
  EXPECT_THAT(Length(0.0, 1e300, 1.0, kF32), StatusIs(kInvalid, HasSubstr("too many elements")));
  EXPECT_THAT(Length(-1e308, 1e308, 1.0, kF32), StatusIs(kInvalid, HasSubstr("too many elements")));
}

}  // namespace
}  // namespace belay
