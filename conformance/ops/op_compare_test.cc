#include "conformance/ops/op_compare.h"

#include <cstring>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
CaseTensor Want(DType dtype, const Sizes& sizes, const std::vector<T>& values) {
  CaseTensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = sizes;
  tensor.strides = ContiguousStrides(sizes);
  tensor.data =
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return tensor;
}
CaseTensor Floats(const std::vector<float>& values) {
  return Want(DType::kFloat32, {static_cast<int64_t>(values.size())}, values);
}
bool Same(const std::vector<float>& want, const std::vector<float>& got, const OpCase& c) {
  return CompareTensor(Floats(want), TestTensor::Of<float>({static_cast<int64_t>(got.size())}, got),
                       c)
      .empty();
}

const OpCase& Bits() {
  static const OpCase& c = *new OpCase{.check = CaseCheck::kBits};
  return c;
}
OpCase Values(double rtol, double atol) {
  return {.check = CaseCheck::kValues, .rtol = rtol, .atol = atol};
}

TEST(OpCompareTest, ComparesBits) {
  EXPECT_TRUE(Same({1, kNan, kInf}, {1, -kNan, kInf}, Bits()));
  EXPECT_FALSE(Same({0}, {-0.0f}, Bits()));
  EXPECT_FALSE(Same({1}, {std::nextafter(1.0f, 2.0f)}, Bits()));
  EXPECT_FALSE(Same({kNan}, {1}, Bits()));
}

TEST(OpCompareTest, ValuesAreWithinTolerance) {
  EXPECT_TRUE(Same({0, 100}, {-0.0f, 101}, Values(0.01, 0)));
  EXPECT_FALSE(Same({100}, {101.5}, Values(0.01, 0)));
  EXPECT_TRUE(Same({0}, {0.5}, Values(0, 0.5)));
  EXPECT_FALSE(Same({kInf}, {1e38f}, Values(1, 1)));
  EXPECT_FALSE(Same({kInf}, {-kInf}, Values(1, 1)));
  EXPECT_FALSE(Same({1}, {kNan}, Values(1, 1)));
  EXPECT_TRUE(Same({kNan}, {kNan}, Values(0, 0)));
}

TEST(OpCompareTest, IntegersIgnoreTolerance) {
  const CaseTensor want = Want<int32_t>(DType::kInt32, {1}, {100});
  EXPECT_TRUE(CompareTensor(want, TestTensor::Of<int32_t>({1}, {100}), Values(1, 1)).empty());
  EXPECT_FALSE(CompareTensor(want, TestTensor::Of<int32_t>({1}, {101}), Values(1, 1)).empty());
}

TEST(OpCompareTest, ComparesRealAndImaginaryParts) {
  const CaseTensor want = Want<float>(DType::kComplex64, {1}, {1000, 1});
  EXPECT_TRUE(
      CompareTensor(want, TestTensor::Of<std::complex<float>>({1}, {{1001, 1}}), Values(0.01, 0))
          .empty());
  EXPECT_FALSE(
      CompareTensor(want, TestTensor::Of<std::complex<float>>({1}, {{1000, 1.5}}), Values(0.01, 0))
          .empty());
}

TEST(OpCompareTest, ElementsAreComparedByIndex) {
  CaseTensor want = Want<float>(DType::kFloat32, {2, 2}, {1, 3, 2, 4});
  want.strides = {1, 2};
  const TestTensor got = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(CompareTensor(want, got, Bits()), "");
  EXPECT_EQ(CompareLayout(want, got), "expected strides [1,2], got [2,1] of shape [2,2]");
  const TestTensor wrong = TestTensor::Of<float>({2, 2}, {1, 2, 9, 4});
  EXPECT_EQ(CompareTensor(want, wrong, Bits()),
            "1 of 4 elements differ; element 2: expected 3, got 9");
}

TEST(OpCompareTest, ComparesDtypeAndShape) {
  const OpCase meta = {.check = CaseCheck::kMeta};
  EXPECT_EQ(CompareTensor(Floats({1}), TestTensor::Of<float>({1}, {2}), meta), "");
  EXPECT_EQ(CompareTensor(Floats({1}), TestTensor::Of<float>({1, 1}, {2}), meta),
            "expected f32[1], got f32[1,1]");
  EXPECT_NE(CompareTensor(Floats({1}), TestTensor::Of<double>({1}, {2}), meta), "");
}

TEST(OpCompareTest, IgnoresStridesOfSmallTensors) {
  CaseTensor want = Floats({1});
  want.strides = {77};
  EXPECT_EQ(CompareLayout(want, TestTensor::Of<float>({1}, {1})), "");
}

TEST(OpCompareTest, ComparesKindsOfScalars) {
  EXPECT_EQ(CompareScalar(int64_t{3}, EValue(int64_t{3}), Bits()), "");
  EXPECT_NE(CompareScalar(int64_t{3}, EValue(3.0), Bits()), "");
  EXPECT_NE(CompareScalar(true, EValue(int64_t{1}), Bits()), "");
  EXPECT_EQ(CompareScalar(1.5, EValue(1.5), Bits()), "");
  EXPECT_NE(CompareScalar(1.5, EValue(1.25), Bits()), "");
  EXPECT_EQ(CompareScalar(None{}, EValue(), Bits()), "");
  EXPECT_NE(CompareScalar(None{}, EValue(true), Bits()), "");
}

}  // namespace
}  // namespace belay::conformance
