// Kernels of the pointwise, creation and scalar families beyond the conformance cases: dtypes
// without vectors, arguments of wrong kinds, long and unusual layouts.
#include "runtime/kernels/operands/pointwise.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PointwiseKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (absl::Span<const Kernel> table : {UnaryKernels(), BinaryKernels(), ActivationKernels(),
                                           CreationKernels(), RandomKernels(), SymbolicKernels()}) {
      ASSERT_OK(registry_.Add(table));
    }
  }

  absl::Status Run(std::string_view op, std::vector<EValue> arguments, EValue* output) {
    EValue* const outputs[] = {output};
    FixedOutputs allocator;
    return RunOperator(registry_, op, std::move(arguments),
                       output == nullptr ? absl::Span<EValue* const>() : outputs, allocator);
  }
  absl::Status Run(std::string_view op, std::vector<EValue> arguments, const TestTensor& output) {
    EValue slot(output.view());
    return Run(op, std::move(arguments), &slot);
  }

  KernelRegistry registry_;
};

template <class T>
TestTensor Vector(const std::vector<ComputeType<T>>& values) {
  return TestTensor::Of<T>({static_cast<int64_t>(values.size())}, values);
}

TEST_F(PointwiseKernelTest, RunsLongerThanABufferOverOddLayouts) {
  // 7 * 191 elements, transposed; every second element of a broadcast row; output with transposed
  // strides.
  const Sizes sizes = {7, 191};
  std::vector<float> values(7 * 191), expected;
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TestTensor a = TestTensor::Dense<float>(sizes, {1, 0}, values);
  std::vector<int64_t> row(191);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int64_t>(i) * 10;
  const TestTensor b = TestTensor::Strided<int64_t>({1, 191}, {5000, 2}, row);
  for (size_t i = 0; i < values.size(); ++i)
    expected.push_back(values[i] + static_cast<float>(row[i % 191]));
  TestTensor out = TestTensor::Zeros(DType::kFloat32, sizes, {1, 7});
  ASSERT_OK(Run("aten.add.Tensor", {a.view(), b.view(), EValue(int64_t{1})}, out));
  EXPECT_EQ(ToVector<float>(out.view()), expected);
}

TEST_F(PointwiseKernelTest, EmptyAndRankZeroTensors) {
  TestTensor none = TestTensor::Zeros(DType::kFloat32, {0, 3});
  const TestTensor one = TestTensor::Of<float>({1, 1}, {2});
  EXPECT_OK(Run("aten.mul.Tensor", {none.view(), one.view()}, none));
  const TestTensor scalar = TestTensor::Of<float>({}, {3});
  TestTensor out = TestTensor::Zeros(DType::kFloat32, {});
  EXPECT_OK(Run("aten.mul.Tensor", {scalar.view(), scalar.view()}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(9));
}

TEST_F(PointwiseKernelTest, SixteenDimensions) {
  const Sizes sizes(kMaxRank, int64_t{2});
  TestTensor x = TestTensor::Zeros(DType::kInt8, sizes),
             out = TestTensor::Zeros(DType::kBool, sizes);
  EXPECT_OK(Run("aten.eq.Scalar", {x.view(), EValue(false)}, out));
  EXPECT_EQ(ToVector<bool>(out.view()), std::vector<bool>(1 << kMaxRank, true));
}

TEST_F(PointwiseKernelTest, IntegersWrapAndNeverTrap) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const TestTensor a = Vector<int64_t>({kMin, kMin, 7}), b = Vector<int64_t>({-1, 3, -2});
  TestTensor out = TestTensor::Zeros(DType::kInt64, {3});
  ASSERT_OK(
      Run("aten.div.Tensor_mode", {a.view(), b.view(), EValue(std::string_view("trunc"))}, out));
  EXPECT_THAT(ToVector<int64_t>(out.view()), ElementsAre(kMin, kMin / 3, -3));
  ASSERT_OK(Run("aten.remainder.Tensor", {a.view(), b.view()}, out));
  EXPECT_THAT(ToVector<int64_t>(out.view()), ElementsAre(0, 1, -1));
  ASSERT_OK(Run("aten.neg.default", {a.view()}, out));
  EXPECT_THAT(ToVector<int64_t>(out.view()), ElementsAre(kMin, kMin, -7));
  ASSERT_OK(Run("aten.abs.default", {a.view()}, out));
  EXPECT_THAT(ToVector<int64_t>(out.view()), ElementsAre(kMin, kMin, 7));
  const TestTensor shifts = Vector<int64_t>({-1, 64, 62});
  ASSERT_OK(Run("aten.bitwise_right_shift.Tensor", {a.view(), shifts.view()}, out));
  EXPECT_THAT(ToVector<int64_t>(out.view()), ElementsAre(-1, -1, 0));
}

TEST_F(PointwiseKernelTest, IntegerDivisionByZeroIsAnError) {
  const TestTensor a = Vector<uint8_t>({1, 2}), b = Vector<uint8_t>({1, 0});
  TestTensor out = TestTensor::Zeros(DType::kUint8, {2});
  for (const std::string_view op :
       {"aten.floor_divide.default", "aten.fmod.Tensor", "aten.remainder.Tensor"}) {
    EXPECT_THAT(Run(op, {a.view(), b.view()}, out),
                StatusIs(absl::StatusCode::kInvalidArgument, "integer division by zero"));
  }
}

TEST_F(PointwiseKernelTest, UnsignedWideIntegersKeepTheirRange) {
  const uint64_t big = std::numeric_limits<uint64_t>::max();
  const TestTensor a = Vector<uint64_t>({big, 5}), b = Vector<uint64_t>({2, 6});
  TestTensor truth = TestTensor::Zeros(DType::kBool, {2}),
             out = TestTensor::Zeros(DType::kUint64, {2});
  ASSERT_OK(Run("aten.gt.Tensor", {a.view(), b.view()}, truth));
  EXPECT_THAT(ToVector<bool>(truth.view()), ElementsAre(true, false));
  ASSERT_OK(Run("aten.floor_divide.default", {a.view(), b.view()}, out));
  EXPECT_THAT(ToVector<uint64_t>(out.view()), ElementsAre(big / 2, 0));
  const TestTensor c = Vector<uint16_t>({65535}), d = Vector<uint16_t>({2});
  TestTensor sum = TestTensor::Zeros(DType::kUint16, {1});
  ASSERT_OK(Run("aten.add.Tensor", {c.view(), d.view(), EValue(int64_t{1})}, sum));
  EXPECT_THAT(ToVector<uint16_t>(sum.view()), ElementsAre(1));
}

TEST_F(PointwiseKernelTest, ComparisonsRoundScalarsToTheTensorDtype) {
  const TestTensor a = Vector<Half>({0.1f});
  TestTensor out = TestTensor::Zeros(DType::kBool, {1});
  ASSERT_OK(Run("aten.eq.Scalar", {a.view(), EValue(0.1)}, out));
  EXPECT_THAT(ToVector<bool>(out.view()), ElementsAre(true));
  const TestTensor b = Vector<int8_t>({44});
  ASSERT_OK(Run("aten.eq.Scalar", {b.view(), EValue(int64_t{300})}, out));
  EXPECT_THAT(ToVector<bool>(out.view()), ElementsAre(true));  // 300 wraps to 44, as in PyTorch
}

TEST_F(PointwiseKernelTest, NonzeroBoolBytesAreTrue) {
  TestTensor a = TestTensor::Zeros(DType::kBool, {2});
  static_cast<uint8_t*>(a.view().data)[0] = 2;
  TestTensor out = TestTensor::Zeros(DType::kBool, {2});
  ASSERT_OK(Run("aten.bitwise_not.default", {a.view()}, out));
  EXPECT_THAT(ToVector<bool>(out.view()), ElementsAre(false, true));
}

TEST_F(PointwiseKernelTest, RejectsOutputsOfOtherDtypesOrShapes) {
  const TestTensor a = Vector<float>({1, 2});
  EXPECT_THAT(
      Run("aten.relu.default", {a.view()}, TestTensor::Zeros(DType::kInt32, {2})),
      StatusIs(absl::StatusCode::kInvalidArgument, "output 0: expected dtype float32, got int32"));
  EXPECT_THAT(Run("aten.relu.default", {a.view()}, TestTensor::Zeros(DType::kFloat32, {3})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      Run("aten.full.default",
          {EValue(int64_t{2}), EValue(1.0), EValue(), EValue(), EValue(), EValue()},
          TestTensor::Zeros(DType::kInt8, {2})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected dtype float32, got int8")));
}

// Operators that models use but that have no conformance cases.
TEST_F(PointwiseKernelTest, OperatorsWithoutConformanceCases) {
  const TestTensor a = Vector<float>({-2, 0, std::nanf(""), 3});
  TestTensor out = TestTensor::Zeros(DType::kFloat32, {4});
  const float pi = std::acos(-1.0f);
  ASSERT_OK(Run("aten.angle.default", {a.view()}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(pi, 0, ::testing::IsNan(), 0));
  const TestTensor c = Vector<std::complex<float>>({{0, 2}, {-1, 0}, {1, 1}, {0, 0}});
  ASSERT_OK(Run("aten.angle.default", {c.view()}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(pi / 2, pi, pi / 4, 0));
  const TestTensor b = Vector<float>({-0.0f, 4, 1, -4});
  ASSERT_OK(Run("aten.hypot.default", {b.view(), Vector<float>({3, 3, 0, 3}).view()}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(3, 5, 1, 5));
  ASSERT_OK(Run("aten.copysign.Tensor", {Vector<int8_t>({1, -2, 3, 4}).view(), b.view()}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(-1, 2, 3, -4));

  const TestTensor mask = Vector<bool>({true, false}), value = TestTensor::Of<double>({}, {7});
  TestTensor filled = TestTensor::Zeros(DType::kInt32, {2});
  const TestTensor ints = Vector<int32_t>({1, -3});
  ASSERT_OK(Run("aten.masked_fill.Tensor", {ints.view(), mask.view(), value.view()}, filled));
  EXPECT_THAT(ToVector<int32_t>(filled.view()), ElementsAre(7, -3));
  ASSERT_OK(Run("aten.__lshift__.Scalar", {ints.view(), EValue(int64_t{2})}, filled));
  EXPECT_THAT(ToVector<int32_t>(filled.view()), ElementsAre(4, -12));
  ASSERT_OK(Run("aten.__rshift__.Scalar", {ints.view(), EValue(int64_t{1})}, filled));
  EXPECT_THAT(ToVector<int32_t>(filled.view()), ElementsAre(0, -2));
  ASSERT_OK(Run("aten.ones_like.default",
                {ints.view(), EValue(), EValue(), EValue(), EValue(), EValue()}, filled));
  EXPECT_THAT(ToVector<int32_t>(filled.view()), ElementsAre(1, 1));
  ASSERT_OK(Run("aten.new_full.default",
                {a.view(), EValue(int64_t{2}), EValue(2.9), EValue(DType::kInt32), EValue(),
                 EValue(), EValue()},
                filled));
  EXPECT_THAT(ToVector<int32_t>(filled.view()), ElementsAre(2, 2));
}

// Arguments of any kinds give an error or a result.
TEST_F(PointwiseKernelTest, EveryKernelHandlesArgumentsOfEveryKind) {
  const TestTensor f = Vector<float>({1, 0, -3}), i = Vector<int8_t>({1, 0, -3}),
                   b = Vector<bool>({true, false, true});
  const TestTensor c = Vector<std::complex<float>>({{1, 1}, {0, 0}, {2, -3}});
  const TestTensor matrix = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4}),
                   scalar = TestTensor::Of<double>({}, {2});
  const TestTensor f8 = Vector<Float8<DType::kFloat8E5M2>>({1, 0, -3});
  TestTensor c32 = TestTensor::Zeros(DType::kComplex32, {3});
  std::deque<EValue> elements = {EValue(int64_t{-1}), EValue(), EValue(2.5), EValue(int64_t{3})};
  std::vector<EValue*> ints = {&elements[3]}, mixed = {&elements[0], &elements[1]},
                       negative = {&elements[0]};
  std::vector<EValue*> many(20, &elements[3]);
  const std::vector<EValue> values = {EValue(),
                                      EValue(f.view()),
                                      EValue(i.view()),
                                      EValue(b.view()),
                                      EValue(c.view()),
                                      EValue(matrix.view()),
                                      EValue(scalar.view()),
                                      EValue(f8.view()),
                                      EValue(c32.view()),
                                      EValue(int64_t{0}),
                                      EValue(int64_t{3}),
                                      EValue(std::numeric_limits<int64_t>::min()),
                                      EValue(std::numeric_limits<int64_t>::max()),
                                      EValue(0.5),
                                      EValue(std::nan("")),
                                      EValue(std::numeric_limits<double>::infinity()),
                                      EValue(-1e300),
                                      EValue(true),
                                      EValue(std::complex<double>(1, 2)),
                                      EValue(std::string_view("floor")),
                                      EValue(DType::kFloat32),
                                      EValue(DType::kComplex32),
                                      EValue(MemoryFormat::kPreserve),
                                      EValue(ListView{ints}),
                                      EValue(ListView{mixed}),
                                      EValue(ListView{negative}),
                                      EValue(ListView{many})};
  Random random(TestSeed());
  const auto next = [&](size_t limit) { return random.Below(limit); };
  int results = 0;
  for (const std::string_view op : registry_.Operators()) {
    for (int round = 0; round < 1500; ++round) {
      std::vector<EValue> arguments;
      for (size_t n = round % 8; n > 0; --n) arguments.push_back(values[next(values.size())]);
      const DType dtypes[] = {DType::kFloat32, DType::kBool, DType::kInt8, DType::kInt64,
                              DType::kComplex64};
      const Sizes shapes[] = {{3}, {2, 2}, {}};
      const TestTensor out = TestTensor::Zeros(dtypes[next(5)], shapes[next(3)]);
      EValue slot = next(4) == 0 ? EValue() : EValue(out.view());
      results += Run(op, arguments, next(20) == 0 ? nullptr : &slot).ok() ? 1 : 0;
    }
  }
  EXPECT_GT(results, 100);
}

TEST_F(PointwiseKernelTest, AssertionErrorsHaveTheMessage) {
  EXPECT_OK(
      Run("aten._assert_scalar.default", {EValue(true), EValue(std::string_view("m"))}, nullptr));
  EXPECT_THAT(Run("aten._assert_scalar.default",
                  {EValue(false), EValue(std::string_view("u0 >= 0"))}, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition, "assertion failed: u0 >= 0"));
  EXPECT_THAT(
      Run("aten.sym_constrain_range_for_size.default", {EValue(int64_t{-1}), EValue(), EValue()},
          nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("-1 is not in the range [0, ")));
  const TestTensor a = Vector<float>({1, 2});
  EXPECT_THAT(
      Run("aten._assert_tensor_metadata.default",
          {a.view(), EValue(), EValue(), EValue(DType::kInt8), EValue(), EValue()}, nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("expected dtype int8, got float32")));
}

TEST_F(PointwiseKernelTest, RandomNumbersAreInRangeAndDiffer) {
  TestTensor a = TestTensor::Zeros(DType::kBFloat16, {500}),
             b = TestTensor::Zeros(DType::kBFloat16, {500});
  const std::vector<EValue> arguments = {EValue(int64_t{500}), EValue(DType::kBFloat16), EValue(),
                                         EValue(), EValue()};
  ASSERT_OK(Run("aten.rand.default", arguments, a));
  ASSERT_OK(Run("aten.rand.default", arguments, b));
  for (float x : ToVector<BFloat16>(a.view())) {
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
  }
  EXPECT_NE(ToVector<BFloat16>(a.view()), ToVector<BFloat16>(b.view()));
}

TEST_F(PointwiseKernelTest, ScaledSumIsRoundedOnce) {
  // (1 + 2^-12) * (1 + 2^-13) - 1: the product has bits below float32's last one.
  const float x = 1 + 0x1p-12f;
  const double alpha = 1 + 0x1p-13;
  const TestTensor one = Vector<float>({1.0f}), minus = Vector<float>({-1.0f}),
                   b = Vector<float>({x});
  TestTensor out = TestTensor::Zeros(DType::kFloat32, {1});
  ASSERT_OK(Run("aten.add.Tensor", {minus.view(), b.view(), EValue(alpha)}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(0x1p-12f + 0x1p-13f + 0x1p-25f));
  ASSERT_OK(Run("aten.sub.Tensor", {one.view(), b.view(), EValue(alpha)}, out));
  EXPECT_THAT(ToVector<float>(out.view()), ElementsAre(-(0x1p-12f + 0x1p-13f + 0x1p-25f)));
}

TEST_F(PointwiseKernelTest, RejectsScalarsOutOfRange) {
  const TestTensor x = Vector<float>({-1.0f});
  TestTensor out = TestTensor::Zeros(DType::kFloat32, {1});
  EXPECT_THAT(Run("aten.leaky_relu.default", {EValue(x.view()), EValue(1e300)}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit float32")));
  EXPECT_THAT(Run("aten.logit.default", {EValue(x.view()), EValue(1e300)}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit float32")));
  ASSERT_OK(Run("aten.pow.Tensor_Scalar", {EValue(x.view()), EValue(1e300)}, out));
}

TEST_F(PointwiseKernelTest, RandpermIsAPermutation) {
  TestTensor out = TestTensor::Zeros(DType::kInt16, {300});
  ASSERT_OK(Run("aten.randperm.default",
                {EValue(int64_t{300}), EValue(DType::kInt16), EValue(), EValue(), EValue()}, out));
  std::vector<int16_t> values = ToVector<int16_t>(out.view());
  std::sort(values.begin(), values.end());
  for (int k = 0; k < 300; ++k) EXPECT_EQ(values[k], k);
}

TEST_F(PointwiseKernelTest, ArangeOfExtremeNumbers) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(),
                    kMax = std::numeric_limits<int64_t>::max();
  TestTensor out = TestTensor::Zeros(DType::kInt64, {3});
  const auto arange = [&](EValue start, EValue end, EValue step) {
    return Run("aten.arange.start_step", {start, end, step, EValue(), EValue(), EValue(), EValue()},
               out);
  };
  ASSERT_OK(arange(EValue(kMin), EValue(kMax), EValue(kMax)));
  EXPECT_THAT(ToVector<int64_t>(out.view()), ElementsAre(kMin, -1, kMax - 1));
  EXPECT_THAT(arange(EValue(kMin), EValue(kMax), EValue(int64_t{1})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many elements")));
  EXPECT_THAT(arange(EValue(kMax), EValue(kMin), EValue(int64_t{-1})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many elements")));
}

TEST(ConvertScalarTest, FollowsScalarTo) {
  const auto convert = [](EValue value, DType dtype) -> std::string {
    const absl::StatusOr<EValue> result = ConvertScalar(value, dtype);
    if (!result.ok()) return "error";
    if (const int64_t* i = result->get_if<int64_t>()) return std::to_string(*i);
    if (const bool* b = result->get_if<bool>()) return *b ? "true" : "false";
    if (const double* d = result->get_if<double>()) return absl::StrCat("float ", *d);
    return "complex";
  };
  EXPECT_EQ(convert(EValue(int64_t{-1}), DType::kUint8), "255");
  EXPECT_EQ(convert(EValue(int64_t{256}), DType::kUint8), "error");
  EXPECT_EQ(convert(EValue(int64_t{-300}), DType::kUint8), "error");
  EXPECT_EQ(convert(EValue(127.9), DType::kInt8), "error");  // the range check precedes truncation
  EXPECT_EQ(convert(EValue(-1.5), DType::kInt8), "-1");
  EXPECT_EQ(convert(EValue(9223372036854775808.0), DType::kInt64), "error");
  EXPECT_EQ(convert(EValue(std::nan("")), DType::kInt64), "error");
  EXPECT_EQ(convert(EValue(0.25), DType::kBool), "true");
  EXPECT_EQ(convert(EValue(1e6), DType::kFloat16), "error");
  EXPECT_EQ(convert(EValue(std::numeric_limits<double>::infinity()), DType::kFloat16), "float inf");
  EXPECT_EQ(convert(EValue(1e300), DType::kFloat32), "error");
  EXPECT_EQ(convert(EValue(std::complex<double>(2, 0)), DType::kFloat32), "float 2");
  EXPECT_EQ(convert(EValue(std::complex<double>(2, 1)), DType::kFloat32), "error");
  EXPECT_EQ(convert(EValue(true), DType::kComplex64), "complex");
  EXPECT_EQ(convert(EValue(1.0), DType::kComplex32), "error");
}

}  // namespace
}  // namespace belay
