#include "runtime/kernel_interface/shape_rules/random.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::Status Randint(int64_t low, int64_t high, DType dtype) {
  return ReadStatus<RandintCall<K>>("low high size dtype", {low, high, Ints({2}), dtype});
}

TEST(RandintTest, RangeMustFitDType) {
  struct Case {
    DType dtype;
    int64_t least, most;
  };
  const Case cases[] = {{DType::kBool, 0, 1},
                        {DType::kUint8, 0, 255},
                        {DType::kInt8, -128, 127},
                        {DType::kInt16, -32768, 32767},
                        {DType::kInt32, INT32_MIN, INT32_MAX},
                        {DType::kFloat16, -65504, 65504}};
  for (const Case& c : cases) {
    SCOPED_TRACE(DTypeName(c.dtype));
    EXPECT_OK(Randint(c.least, c.most + 1, c.dtype));
    EXPECT_THAT(
        Randint(c.least, c.most + 2, c.dtype),
        StatusIs(kInvalid, absl::StrCat(DTypeName(c.dtype), " does not hold ", c.most + 1)));
    EXPECT_THAT(
        Randint(c.least - 1, c.most + 1, c.dtype),
        StatusIs(kInvalid, absl::StrCat(DTypeName(c.dtype), " does not hold ", c.least - 1)));
  }
  EXPECT_OK(Randint(INT64_MIN, INT64_MAX, DType::kInt64));
  EXPECT_OK(Randint(INT64_MIN, INT64_MAX, DType::kFloat32));
}

TEST(RandintTest, ChecksBoundsAndDType) {
  EXPECT_THAT(Randint(3, 3, DType::kInt64),
              StatusIs(kInvalid, HasSubstr("'high': expected more than low, 3, got 3")));
  EXPECT_THAT(Randint(0, 3, DType::kComplex64),
              StatusIs(kInvalid, HasSubstr("'dtype': expected a real dtype, got complex64")));
  EXPECT_THAT(ReadStatus<RandintCall<K>>("low high size dtype", {0, 3, Ints({-1}), None()}),
              StatusIs(kInvalid, HasSubstr("size -1 at dimension 0")));
}

TEST(RandomStateTest, IsTwoIntegers) {
  for (const EValue& state : {Tensor({3}, DType::kInt64), Tensor({2, 1}, DType::kInt64)}) {
    EXPECT_THAT(ReadStatus<AdvanceCall<K>>("random_state count", {state, 1}),
                StatusIs(kInvalid, HasSubstr("the two integers of a generator's state")));
  }
  EXPECT_THAT(ReadStatus<AdvanceCall<K>>("random_state count", {Tensor({2}), 1}),
              StatusIs(kInvalid, HasSubstr("got float32")));
  // As `aten.<op>`, without a state.
  EXPECT_OK((ReadStatus<SeededCall<PoissonCall<K>, K>>("self", {Tensor({2})})));
}

absl::Status Dropout(const Sizes& sizes, DType dtype, double p, TestArgument train) {
  return CheckShapesOf<DropoutCall<K>>("input p train", {Tensor(sizes, dtype), p, train});
}

TEST(DropoutTest, ChecksDTypeAndProbability) {
  EXPECT_OK(Dropout({3}, DType::kFloat32, 0, true));
  EXPECT_OK(Dropout({3}, DType::kFloat32, 1, None()));
  for (const double p : {-0.1, 1.1}) {
    EXPECT_THAT(Dropout({3}, DType::kFloat32, p, true), StatusIs(kInvalid));
  }
  EXPECT_THAT(Dropout({3}, DType::kInt32, 0.5, true),
              StatusIs(kInvalid, "input: expected a floating point type, got int32"));
}

TEST(DropoutTest, AcceptsAnythingWithoutDropping) {
  EXPECT_OK(Dropout({3}, DType::kInt32, 7, false));
  EXPECT_OK(Dropout({0}, DType::kInt32, 7, true));
}

}  // namespace
}  // namespace belay
