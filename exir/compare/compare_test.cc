#include "exir/compare/compare.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T = float>
bool Same(ComputeType<T> want, ComputeType<T> got, const Closeness& closeness) {
  return CompareTensors(TestTensor::Of<T>({1}, {want}), TestTensor::Of<T>({1}, {got}), closeness)
      .ok();
}
std::string Difference(const TensorView& want, const TensorView& got) {
  return std::string(CompareTensors(want, got, {}).message());
}

TEST(CompareTensorsTest, CloseNumbers) {
  EXPECT_TRUE(Same(0, -0.0f, {}));
  EXPECT_TRUE(Same(100, 101, {.rtol = 0.01}));
  EXPECT_FALSE(Same(100, 101.5, {.rtol = 0.01}));
  EXPECT_TRUE(Same(0, 0.5, {.atol = 0.5}));
  EXPECT_FALSE(Same(1, std::nextafter(1.0f, 2.0f), {}));
  EXPECT_FALSE(Same(1, 1, {.atol = -1, .rtol = -1}));
}

TEST(CompareTensorsTest, InfinitiesAndNaN) {
  constexpr Closeness kFar = {.atol = 1, .rtol = 1};
  EXPECT_TRUE(Same(kNan, -kNan, {}));
  EXPECT_TRUE(Same(kInfinity, kInfinity, {}));
  EXPECT_FALSE(Same(kInfinity, -kInfinity, kFar));
  EXPECT_FALSE(Same(kInfinity, 1e38f, kFar));
  EXPECT_FALSE(Same(1, kInfinity, kFar));
  EXPECT_FALSE(Same(1, kNan, kFar));
  EXPECT_TRUE(Same(1, kNan, {.finite_only = true}));
  EXPECT_FALSE(Same(1, 2, {.finite_only = true}));
  EXPECT_TRUE(Same(kInfinity, 1, {.finite_only = true}));
  EXPECT_FALSE(Same(kNan, 1, kFar));
}

TEST(CompareTensorsTest, Bits) {
  EXPECT_TRUE(Same(kNan, -kNan, kSameBits));
  EXPECT_FALSE(Same(kNan, -kNan, kIdentical));
  EXPECT_TRUE(Same(kNan, kNan, kIdentical));
  for (const Closeness& closeness : {kSameBits, kIdentical}) {
    EXPECT_TRUE(Same(1, 1, closeness));
    EXPECT_FALSE(Same(0, -0.0f, closeness));
    EXPECT_FALSE(Same(kNan, 1, closeness));
  }
}

TEST(CompareTensorsTest, IntegersAndBoolsMustBeEqual) {
  constexpr Closeness kFar = {.atol = 1, .rtol = 1};
  EXPECT_TRUE(Same<int32_t>(100, 100, kFar));
  EXPECT_FALSE(Same<int32_t>(100, 101, kFar));
  EXPECT_FALSE(Same<bool>(true, false, kFar));
}

TEST(CompareTensorsTest, LowPrecisionDtypesGetWiderTolerance) {
  constexpr Closeness kFine = {.atol = 1e-5, .rtol = 1e-4};
  constexpr Closeness kByPrecision = {.atol = 1e-5, .rtol = 1e-4, .by_precision = true};
  EXPECT_FALSE(Same(1, 1.01, kByPrecision));
  EXPECT_TRUE(Same<BFloat16>(1, 1.01, kByPrecision));
  EXPECT_FALSE(Same<BFloat16>(1, 1.01, kFine));
  EXPECT_TRUE(Same<Half>(1, 1.002, kByPrecision));
  EXPECT_FALSE(Same<Half>(1, 1.01, kByPrecision));
}

TEST(CompareTensorsTest, CanceledSumsMayDeviateByAShareOfTheLargestValue) {
  constexpr Closeness kClose = {.rtol = 1e-4, .by_precision = true};  // 1e-6 of the largest
  const TestTensor want = TestTensor::Of<float>({4}, {1000, -2000, kInfinity, 0.1f});
  const auto got = [](float last) {
    return TestTensor::Of<float>({4}, {1000, -2000, kInfinity, last});
  };
  EXPECT_TRUE(CompareTensors(want, got(0.1019f), kClose).ok());
  EXPECT_FALSE(CompareTensors(want, got(0.1022f), kClose).ok());
  EXPECT_FALSE(CompareTensors(want, got(0.1019f), {.rtol = 1e-4}).ok());
  EXPECT_FALSE(CompareTensors(want, got(0.1001f), {.by_precision = true}).ok());  // rtol 0: equal
  using Complex = std::complex<float>;
  EXPECT_TRUE(CompareTensors(TestTensor::Of<Complex>({2}, {Complex(0, 2000), Complex(0.1f, 0)}),
                             TestTensor::Of<Complex>({2}, {Complex(0, 2000), Complex(0.1019f, 0)}),
                             kClose)
                  .ok());
}

TEST(CompareTensorsTest, ComparesComplexNumbersByPart) {
  using Complex = std::complex<float>;
  EXPECT_TRUE(Same<Complex>({1000, 1}, {1001, 1}, {.rtol = 0.01}));
  EXPECT_FALSE(Same<Complex>({1000, 1}, {1000, 1.5}, {.rtol = 0.01}));
}

TEST(CompareTensorsTest, ReportsMismatchCountAndFirstMismatch) {
  const TestTensor want = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Difference(want, TestTensor::Of<float>({2, 2}, {1, 2, 9, 5})),
            "2 of 4 elements differ; element 2: expected 3, got 9");
  EXPECT_EQ(Difference(want, TestTensor::Of<float>({4}, {1, 2, 3, 4})),
            "expected f32[2,2], got f32[4]");
  EXPECT_FALSE(CompareTensors(want, TestTensor::Of<double>({2, 2}, {1, 2, 3, 4}), {}).ok());
  EXPECT_FALSE(CompareTensors(want, TestTensor::Of<float>({4}, {1, 2, 3, 4}), kAnyElements).ok());
  EXPECT_OK(CompareTensors(want, TestTensor::Of<float>({2, 2}, {5, 6, 7, 8}), kAnyElements));
}

TEST(CompareTensorsTest, DifferentNumbersPrintDifferently) {
  EXPECT_EQ(Difference(TestTensor::Of<float>({1}, {1}),
                       TestTensor::Of<float>({1}, {std::nextafter(1.0f, 2.0f)})),
            "1 of 1 elements differ; element 0: expected 1, got 1.0000001192092896");
  EXPECT_EQ(
      Difference(TestTensor::Of<uint64_t>({1}, {~uint64_t{0}}), TestTensor::Of<uint64_t>({1}, {0})),
      "1 of 1 elements differ; element 0: expected 18446744073709551615, got 0");
  EXPECT_THAT(Difference(TestTensor::Of<bool>({1}, {true}), TestTensor::Of<bool>({1}, {false})),
              HasSubstr("expected true, got false"));
}

TEST(CompareTensorsTest, ComparesByIndexIgnoringStrides) {
  float swapped[] = {1, 3, 2, 4};
  const TensorView got = {
      .dtype = DType::kFloat32, .sizes = {2, 2}, .strides = {1, 2}, .data = swapped};
  const TestTensor want = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_OK(CompareTensors(want, got, kIdentical));
}

TEST(CompareValuesTest, NumbersMayBeRounded) {
  constexpr Closeness kClose = {.atol = 1e-5, .rtol = 1e-4};
  EXPECT_OK(CompareValues(EValue(1.0), EValue(1.0 + 1e-7), kClose));
  EXPECT_FALSE(CompareValues(EValue(1.0), EValue(1.1), kClose).ok());
  EXPECT_FALSE(CompareValues(EValue(1.0), EValue(1.0 + 1e-7), kSameBits).ok());
  EXPECT_OK(CompareValues(EValue(1.0), EValue(2.0), kAnyElements));
}

TEST(CompareValuesTest, KindsMustBeEqual) {
  constexpr Closeness kFar = {.atol = 9, .rtol = 9};
  EXPECT_OK(CompareValues(EValue(int64_t{3}), EValue(int64_t{3}), {}));
  EXPECT_OK(CompareValues(EValue(), EValue(), {}));
  EXPECT_OK(CompareValues(EValue(std::string_view("a")), EValue(std::string_view("a")), {}));
  for (const Closeness& closeness : {kFar, kAnyElements}) {
    EXPECT_THAT(CompareValues(EValue(int64_t{3}), EValue(int64_t{4}), closeness),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_FALSE(CompareValues(EValue(true), EValue(false), closeness).ok());
    EXPECT_FALSE(CompareValues(EValue(1.0), EValue(int64_t{1}), closeness).ok());
    EXPECT_FALSE(CompareValues(EValue(), EValue(true), closeness).ok());
    EXPECT_FALSE(CompareValues(EValue(true), EValue(), closeness).ok());
    EXPECT_FALSE(
        CompareValues(EValue(std::string_view("a")), EValue(std::string_view("b")), closeness)
            .ok());
  }
  EXPECT_OK(CompareValues(EValue(DType::kInt8), EValue(DType::kInt8), {}));
  EXPECT_FALSE(CompareValues(EValue(DType::kInt8), EValue(DType::kInt16), {}).ok());
  EXPECT_OK(
      CompareValues(EValue(MemoryFormat::kContiguous), EValue(MemoryFormat::kContiguous), {}));
  EXPECT_FALSE(
      CompareValues(EValue(MemoryFormat::kContiguous), EValue(MemoryFormat::kPreserve), {}).ok());
  EXPECT_FALSE(CompareValues(EValue(std::string_view("a")), EValue(), {}).ok());
  EXPECT_THAT(CompareValues(EValue(true), EValue(int64_t{1}), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("got another int")));
  EValue element;
  EValue* elements[] = {&element};
  EXPECT_THAT(CompareValues(EValue(ListView{elements}), EValue(ListView{elements}), {}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("can't compare lists")));
  const TestTensor three = TestTensor::Of<int64_t>({}, {3});
  EXPECT_FALSE(CompareValues(EValue(three.view()), EValue(int64_t{3}), {}).ok());
}

TEST(CompareRecordedTest, ScalarIsTensorOfRankZero) {
  const TestTensor three = TestTensor::Of<int64_t>({}, {3});
  EXPECT_OK(CompareRecorded(three, EValue(int64_t{3}), {}));
  EXPECT_OK(CompareRecorded(three, EValue(three.view()), {}));
  EXPECT_FALSE(CompareRecorded(three, EValue(int64_t{4}), {}).ok());
  EXPECT_FALSE(CompareRecorded(three, EValue(3.0), {}).ok());
  EXPECT_THAT(CompareRecorded(three, EValue(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("got none")));
}

TEST(LargestDeviationTest, IgnoresNonFiniteElements) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const TestTensor want = TestTensor::Of<float>({4}, {0, 10, -2, kInf});
  const TestTensor got = TestTensor::Of<float>({4}, {0.5f, 9, -2.5f, 1});
  const Deviation largest = LargestDeviation(EValue(want.view()), EValue(got.view()));
  EXPECT_EQ(largest.absolute, 1);
  EXPECT_EQ(largest.relative, 0.25);  // third element; 0 has no relative deviation
  const Deviation numbers = LargestDeviation(EValue(4.0), EValue(5.0));
  EXPECT_EQ(numbers.absolute, 1);
  EXPECT_EQ(numbers.relative, 0.25);
  const TestTensor fewer = TestTensor::Of<float>({2}, {9, 9});
  for (const EValue& other : {EValue(int64_t{1}), EValue(4.0), EValue(), EValue(fewer.view())}) {
    EXPECT_EQ(LargestDeviation(EValue(want.view()), other).absolute, 0);
    EXPECT_EQ(LargestDeviation(other, EValue(want.view())).absolute, 0);
  }
  // If either side is not finite.
  EXPECT_EQ(LargestDeviation(EValue(1.0), EValue(HUGE_VAL)).absolute, 0);
  EXPECT_EQ(LargestDeviation(EValue(HUGE_VAL), EValue(1.0)).absolute, 0);
  EXPECT_EQ(LargestDeviation(EValue(int64_t{1}), EValue(int64_t{5})).absolute, 0);
}

}  // namespace
}  // namespace belay::exir
