// Every row of kernels.inc against the reference kernel.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay {
namespace {

struct Row {
  std::string op;
  std::string_view read;
  double max_ulp;
};

std::vector<Row> Rows() {
  return {
#define BELAY_POINTWISE_KERNEL(op, signature, name, read, max_ulp) {op, #read, max_ulp},
#include "runtime/kernels/pointwise/kernels.inc"
  };
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                             DType::kFloat64, DType::kInt64,   DType::kInt32,
                             DType::kInt8,    DType::kUint8,   DType::kBool};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

DType ResultOf(const Row& row, DType dtype) {
  if (Contains(row.read, "ToBoolRule")) return DType::kBool;
  if (Contains(row.read, "ToFloatRule") && !IsFloatingPoint(dtype)) return DType::kFloat32;
  return dtype;
}

bool IsMaskedFill(const Row& row) { return Contains(row.op, "masked_fill"); }
bool IsWhere(const Row& row) { return Contains(row.op, "where"); }
bool IsClamp(const Row& row) { return row.op == "aten.clamp.Tensor"; }
// Integer divisors must not be 0.
bool IsRemainder(const Row& row) {
  return Contains(row.op, "fmod") || Contains(row.op, "remainder") || row.read == "&DivMode";
}
bool IsBinary(const Row& row) {
  return Contains(row.read, "Plain<2") || Contains(row.read, "Scaled<") || row.read == "&DivMode";
}
bool HasNumber(const Row& row) { return Contains(row.op, ".Scalar"); }

// Arguments that follow the tensors of a call.
std::vector<TestArgument> Parameters(const Row& row) {
  if (Contains(row.read, "Scaled<")) return {EValue(int64_t{2})};
  if (row.op == "aten.clamp.default") return {EValue(int64_t{-1}), EValue(int64_t{3})};
  if (row.op == "aten.hardtanh.default") return {EValue(int64_t{0}), EValue(int64_t{6})};
  if (row.op == "aten.elu.default") return {EValue(1.5), EValue(1.1), EValue(0.9)};
  if (row.op == "aten.leaky_relu.default") return {EValue(0.01)};
  if (row.op == "aten.gelu.default") return {EValue(std::string_view("none"))};
  if (row.op == "aten.glu.default") return {EValue(int64_t{-1})};
  if (row.read == "&DivMode") return {EValue(std::string_view("floor"))};
  if (row.op == "aten.pow.Tensor_Scalar") return {EValue(int64_t{3})};
  return {};
}

// Returns a call of the row with operands of these sizes.
KernelCall CallOf(const Row& row, DType dtype, const Sizes& a, const Sizes& b, Values values,
                  Layout layout_a = Layout::kRowMajor, Layout layout_b = Layout::kRowMajor) {
  KernelCall call;
  call.op = row.op;
  call.outputs = {ResultOf(row, dtype)};
  call.max_ulp = row.max_ulp;
  const TestTensorSpec first = {dtype, a, layout_a, values, 0},
                       second = {dtype, b, layout_b,
                                 IsRemainder(row) ? Values::kPositive : Values::kNormal, 0},
                       mask = {DType::kBool, b, layout_b, Values::kNormal, 0};
  if (IsWhere(row)) {
    call.arguments = {mask, first, second};
  } else if (IsClamp(row)) {
    call.arguments = {first, second, TestTensorSpec{dtype, b, layout_b, Values::kPositive, 0}};
  } else if (IsMaskedFill(row)) {
    call.arguments = {first, mask};
    call.arguments.push_back(HasNumber(row) ? TestArgument(EValue(int64_t{1}))
                                            : TestArgument(TestTensorSpec{dtype, {}}));
  } else if (row.op == "aten.pow.Scalar") {
    call.arguments = {EValue(int64_t{2}), first};
  } else if (IsBinary(row)) {
    call.arguments = {first};
    call.arguments.push_back(HasNumber(row) ? TestArgument(EValue(int64_t{1}))
                                            : TestArgument(second));
  } else {
    call.arguments = {first};
  }
  for (const TestArgument& p : Parameters(row)) call.arguments.push_back(p);
  return call;
}

// glu halves its last dimension. Operators with scalars may reject some dtypes (int8 minus a
// negative bound, bool scaled by 2).
TEST(PointwiseTest, EveryOperatorInEveryDtypeAtEveryLength) {
  KernelComparison comparison;
  for (const Row& row : Rows()) {
    const int64_t factor = row.op == "aten.glu.default" ? 2 : 1;
    int taken = 0;
    for (DType dtype : kDTypes) {
      // The vectors of //conformance:ops check which dtypes a row accepts; this test checks the
      // results of accepted calls.
      const bool real = dtype == DType::kFloat32;
      KernelCall probe = CallOf(row, dtype, {4 * factor}, {4}, Values::kPositive);
      const bool integer_only = Contains(row.read, "kInteger") || Contains(row.read, "BitwiseNot");
      if (integer_only && IsFloatingPoint(dtype)) continue;
      if (dtype == DType::kBool &&
          (Contains(row.read, "NoBool") || Contains(row.read, "Numeric") ||
           Contains(row.read, "kIntegerRule") || Contains(row.read, "Magnitude") ||
           Contains(row.read, "Scaled<") || row.read == "&Clamp" || row.read == "&DivMode" ||
           row.read == "&PowScalar" || row.read == "&Hardtanh" || row.read == "&PowTensorScalar" ||
           (HasNumber(row) && !IsMaskedFill(row)))) {
        continue;
      }
      if (!IsFloatingPoint(dtype) &&
          (Contains(row.read, "FloatWithNumbers") || Contains(row.read, "kFloatOnlyRule") ||
           row.read == "&Gelu" || row.op == "aten.glu.default")) {
        continue;
      }
      if (!comparison.Compare(probe, /*may_refuse=*/!real || integer_only)) continue;
      ++taken;
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        const Values values = Contains(row.op, "log") || Contains(row.op, "sqrt")
                                  ? Values::kPositive
                                  : Values::kNormal;
        ASSERT_TRUE(comparison.Compare(CallOf(row, dtype, {n * factor}, {n}, values)));
      }
      if (IsFloatingPoint(dtype) && factor == 1) {
        ASSERT_TRUE(comparison.Compare(CallOf(row, dtype, {40}, {40}, Values::kSpecial)));
        KernelCall wide = CallOf(row, dtype, {3000}, {3000}, Values::kWide);
        // Both kernels multiply x > -38.6 by a subnormal factor, rounded to half a unit.
        if (row.op == "aten.gelu.default" && dtype == DType::kFloat64) wide.max_ulp = 39;
        ASSERT_TRUE(comparison.Compare(wide));
      }
    }
    EXPECT_GE(taken, row.read == "&DivMode" ? 1 : 3) << row.op;
  }
}

TEST(PointwiseTest, SumsOfComplexNumbers) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
    const TestTensorSpec a = {DType::kComplex64, {3, 7, 11}, layout};
    for (const Sizes& sizes : {Sizes{3, 7, 11}, Sizes{11}, Sizes{7, 1}, Sizes{1}, Sizes{}}) {
      const TestTensorSpec b = {DType::kComplex64, sizes};
      for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor"}) {
        ASSERT_TRUE(comparison.Compare({op, {a, b, EValue(int64_t{1})}, {DType::kComplex64}}));
      }
    }
    ASSERT_TRUE(comparison.Compare({"aten.neg.default", {a}, {DType::kComplex64}}));
  }
}

TEST(PointwiseTest, QuotientsRoundedToIntegers) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (std::string_view mode : {"trunc", "floor"}) {
      for (Values values : {Values::kNormal, Values::kWide, Values::kSpecial}) {
        for (int64_t n : KernelComparison::Lengths(dtype)) {
          const TestTensorSpec a = {dtype, {n}, Layout::kRowMajor, values, 0},
                               b = {dtype, {n}, Layout::kRowMajor, values, 1};
          ASSERT_TRUE(comparison.Compare({"aten.div.Tensor_mode", {a, b, EValue(mode)}, {dtype}}));
          ASSERT_TRUE(comparison.Compare(
              {"aten.div.Scalar_mode", {a, EValue(0.1), EValue(mode)}, {dtype}}));
        }
      }
    }
  }
}

// Quotients of halves near ties, overflows and subnormal numbers; all steps are rounded, except with
// a divisor of one element.
TEST(PointwiseTest, QuotientsOfManyHalves) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (std::string_view mode : {"trunc", "floor"}) {
      for (Values values : {Values::kNormal, Values::kPositive, Values::kWide}) {
        const TestTensorSpec a = {dtype, {20000}, Layout::kRowMajor, values, 0},
                             b = {dtype, {20000}, Layout::kRowMajor, values, 1},
                             one = {dtype, {1}, Layout::kRowMajor, values, 1};
        ASSERT_TRUE(comparison.Compare({"aten.div.Tensor_mode", {a, b, EValue(mode)}, {dtype}}));
        ASSERT_TRUE(comparison.Compare({"aten.div.Tensor_mode", {a, one, EValue(mode)}, {dtype}}));
      }
    }
  }
}

// Layouts, threads and instruction sets change the neighbors of an element.
TEST(PointwiseTest, ResultsDoNotDependOnNeighbors) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  float numbers[64];
  for (int i = 0; i < 64; ++i) numbers[i] = 0.17f * static_cast<float>(i - 20);
  // One special value per vector, among ordinary numbers.
  const float odd[] = {1e6f, -kInf, std::nanf(""), 1e-42f};
  for (int i = 0; i < 4; ++i) numbers[16 * i + 5] = odd[i];
  constexpr PointwiseOp kOps[] = {
#define BELAY_ENUMERATOR(name) PointwiseOp::k##name,
      BELAY_FLOAT_OPS(BELAY_ENUMERATOR) BELAY_TRIGONOMETRIC_OPS(BELAY_ENUMERATOR)
          BELAY_BINARY_FLOAT_OPS(BELAY_ENUMERATOR)
#undef BELAY_ENUMERATOR
  };
  for (PointwiseOp op : kOps) {
    const VectorLoop loop = FindLoop(op, DType::kFloat32);
    ASSERT_NE(loop, nullptr);
    const void* all[] = {numbers, numbers};
    float together[64];
    PointwiseParams params;
    params.Set(0, EValue(2.0));
    loop(all, together, 64, params);
    for (int i = 0; i < 64; ++i) {
      const void* one[] = {&numbers[i], &numbers[i]};
      float alone = 0;
      loop(one, &alone, 1, params);
      EXPECT_EQ(std::bit_cast<uint32_t>(alone), std::bit_cast<uint32_t>(together[i]))
          << static_cast<int>(op) << " of " << numbers[i] << ": " << alone << ", " << together[i];
    }
  }
}

TEST(PointwiseTest, ResultsMayReplaceAnOperand) {
  float numbers[64], other[64];
  for (int i = 0; i < 64; ++i) {
    numbers[i] = 0.37f * static_cast<float>(i - 20);
    other[i] = 1.5f - 0.1f * static_cast<float>(i);
  }
  for (PointwiseOp op : {PointwiseOp::kAdd, PointwiseOp::kDiv, PointwiseOp::kMaximum,
                         PointwiseOp::kClampLow, PointwiseOp::kFmod, PointwiseOp::kPowTensor}) {
    const VectorLoop loop = FindLoop(op, DType::kFloat32);
    for (int replaced = 0; replaced < 2; ++replaced) {
      const void* operands[] = {numbers, other};
      float expected[64], actual[64];
      loop(operands, expected, 64, PointwiseParams());
      std::copy_n(replaced == 0 ? numbers : other, 64, actual);
      operands[replaced] = actual;
      loop(operands, actual, 64, PointwiseParams());
      for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
            << static_cast<int>(op) << " at " << i;
      }
    }
  }
}

TEST(PointwiseTest, EveryLayoutAndBroadcast) {
  KernelComparison comparison;
  constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kReversed, Layout::kGaps,
                                 Layout::kRepeated, Layout::kChannelsLast};
  for (const Row& row : Rows()) {
    if (row.op == "aten.glu.default") continue;
    for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64}) {
      const KernelCall probe = CallOf(row, dtype, {4}, {4}, Values::kPositive);
      if ((Contains(row.read, "kInteger") || Contains(row.read, "BitwiseNot")) ==
          IsFloatingPoint(dtype)) {
        continue;
      }
      if (row.read == "&DivMode" && dtype != DType::kFloat32) continue;
      if (dtype == DType::kInt64 &&
          (Contains(row.read, "Elu") || Contains(row.read, "LeakyRelu") ||
           Contains(row.read, "Gelu") || !comparison.Compare(probe, /*may_refuse=*/true))) {
        continue;
      }
      for (Layout a : kLayouts) {
        for (Layout b : kLayouts) {
          KernelCall call = CallOf(row, dtype, {2, 5, 7, 9}, {2, 5, 7, 9}, Values::kPositive, a, b);
          ASSERT_TRUE(comparison.Compare(call));
          call.output_layout = Layout::kReversed;
          ASSERT_TRUE(comparison.Compare(call));
          if (!IsBinary(row) && !IsWhere(row) && !IsMaskedFill(row) && !IsClamp(row)) break;
        }
      }
      if (!IsBinary(row) && !IsWhere(row) && !IsMaskedFill(row) && !IsClamp(row)) continue;
      for (const auto& [x, y] : std::vector<std::pair<Sizes, Sizes>>{{{3, 5, 70}, {70}},
                                                                     {{3, 5, 70}, {5, 1}},
                                                                     {{3, 1, 7}, {5, 1}},
                                                                     {{4, 9}, {}},
                                                                     {{1}, {1}},
                                                                     {{2, 3, 8, 8}, {3, 1, 1}},
                                                                     {{2, 1500}, {1}}}) {
        ASSERT_TRUE(comparison.Compare(CallOf(row, dtype, x, y, Values::kPositive)));
        if (!IsMaskedFill(row))
          ASSERT_TRUE(comparison.Compare(CallOf(row, dtype, y, x, Values::kPositive)));
      }
    }
  }
}

// Large enough for several threads, and not a multiple of the parts' alignment.
TEST(PointwiseTest, LargeTensorsAreDivided) {
  KernelComparison comparison;
  const TestTensorSpec large = {DType::kFloat32, {3, 30'011}};
  ASSERT_TRUE(comparison.Compare({"aten.mul.Tensor", {large, large}, {DType::kFloat32}}));
  ASSERT_TRUE(comparison.Compare({"aten.relu.default", {large}, {DType::kFloat32}}));
  ASSERT_TRUE(comparison.Compare({"aten.lt.Tensor", {large, large}, {DType::kBool}}));
}

// Blocks of several short rows, and of one: a buffer with a scalar per row must not be taken for
// one with a single scalar.
TEST(PointwiseTest, ScalarsOfShortRowsThatRepeat) {
  KernelComparison comparison;
  for (int64_t rows : {3, 4, 5}) {
    const TestTensorSpec x = {DType::kFloat32, {3, rows, 300}}, y = {DType::kFloat32, {1, rows, 1}};
    ASSERT_TRUE(
        comparison.Compare({"aten.add.Tensor", {x, y, EValue(int64_t{1})}, {DType::kFloat32}}));
    ASSERT_TRUE(comparison.Compare({"aten.mul.Tensor", {y, x}, {DType::kFloat32}}));
  }
}

// Quotients of all magnitudes; whole multiples have zero remainders with the sign of the dividend.
TEST(PointwiseTest, RemaindersAndAnglesOfAllMagnitudes) {
  KernelComparison comparison;
  for (const char* op : {"aten.fmod.Tensor", "aten.remainder.Tensor", "aten.atan2.default"}) {
    const double ulp = op == std::string_view("aten.atan2.default") ? 8 : 0;
    for (Values a : {Values::kNormal, Values::kSpecial, Values::kWide, Values::kFew}) {
      for (Values b : {Values::kNormal, Values::kSpecial, Values::kWide, Values::kFew}) {
        const TestTensorSpec x = {DType::kFloat32, {1500}, Layout::kRowMajor, a, 0},
                             y = {DType::kFloat32, {1500}, Layout::kRowMajor, b, 0};
        ASSERT_TRUE(comparison.Compare({op, {x, y}, {DType::kFloat32}, ulp}));
      }
    }
  }
}

// The loop multiplies by the reciprocal and corrects the quotient; its results are those of a division.
TEST(PointwiseTest, DivisionByScalarIsCorrectlyRounded) {
  const VectorLoop loop = FindLoop(PointwiseOp::kDivBy, DType::kFloat32);
  ASSERT_NE(loop, nullptr);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,   -0.0f,   kInf,  -kInf,   std::nanf(""),
                          1e-45f, -1e-40f, 3e38f, 0x1p-60f};
  uint32_t bits = 20260101;
  for (int i = 0; i < 100'000; ++i) {
    bits = bits * 1664525 + 1013904223;
    x.push_back(std::bit_cast<float>(bits));
    // Between 1 and 2, where most quotients are close to the middle of two floats.
    x.push_back(std::bit_cast<float>((bits >> 9) | 0x3f800000u));
  }
  std::vector<float> quotients(x.size());
  for (float divisor : {6.0f, 3.0f, -7.0f, 1.0f, 0.1f, 5.0f, -20.0f, 11.3137085f, 0.0099999998f,
                        0x1.fffffep0f, 0x1.000002p0f, 255.0f, 1e-12f, 1e30f, 1e-40f, 0.0f, -kInf}) {
    PointwiseParams params;
    params.Set(0, EValue(static_cast<double>(divisor)));
    const void* const operands[] = {x.data()};
    loop(operands, quotients.data(), x.size(), params);
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = x[i] / divisor;
      ASSERT_TRUE(std::isnan(expected)
                      ? std::isnan(quotients[i])
                      : std::bit_cast<uint32_t>(quotients[i]) == std::bit_cast<uint32_t>(expected))
          << x[i] << " / " << divisor << ": " << quotients[i] << ", expected " << expected;
    }
  }
}

TEST(PointwiseTest, OverloadsWithScalarParameters) {
  KernelComparison comparison;
  const auto tensor = [](DType dtype) { return TestTensorSpec{dtype, {131}}; };
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64}) {
    for (const auto& [low, high] :
         std::vector<std::pair<EValue, EValue>>{{EValue(int64_t{-2}), EValue()},
                                                {EValue(), EValue(int64_t{2})},
                                                {EValue(int64_t{3}), EValue(int64_t{-3})}}) {
      ASSERT_TRUE(comparison.Compare({"aten.clamp.default", {tensor(dtype), low, high}, {dtype}}));
    }
    for (Values values : {Values::kFew, Values::kSpecial}) {
      const TestTensorSpec bound = {dtype, {131}, Layout::kRowMajor, values, 0};
      for (const auto& [low, high] : std::vector<std::pair<TestArgument, TestArgument>>{
               {bound, EValue()}, {EValue(), bound}, {bound, tensor(dtype)}}) {
        ASSERT_TRUE(comparison.Compare({"aten.clamp.Tensor", {tensor(dtype), low, high}, {dtype}}));
      }
    }
    for (int64_t e : {1, 2, 3}) {
      ASSERT_TRUE(
          comparison.Compare({"aten.pow.Tensor_Scalar", {tensor(dtype), EValue(e)}, {dtype}}));
    }
    if (!IsFloatingPoint(dtype)) continue;
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (double e : {0.0, 0.75, -1.3, 2.5, 4.0, 5.0, -3.0, 1e-3, 33.3, -77.0, 16777215.0, 1e10,
                     kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
      if (dtype == DType::kFloat64) continue;
      if (dtype != DType::kFloat32 && std::isfinite(e) && std::abs(e) > 1e4) continue;
      for (Values values : {Values::kNormal, Values::kPositive, Values::kSpecial}) {
        TestTensorSpec base = tensor(dtype);
        base.values = values;
        // Both kernels have an error of 1 ULP.
        ASSERT_TRUE(comparison.Compare({"aten.pow.Tensor_Scalar", {base, EValue(e)}, {dtype}, 2}));
      }
    }
    for (double base : {0.0, 0.5, 1.0, 2.0, 10.0, -2.0, kInf}) {
      for (Values values : {Values::kNormal, Values::kSpecial, Values::kWide}) {
        TestTensorSpec exponents = tensor(dtype);
        exponents.values = values;
        ASSERT_TRUE(comparison.Compare({"aten.pow.Scalar", {EValue(base), exponents}, {dtype}, 2}));
      }
    }
    for (double e : {0.5, -0.5, -1.0, -2.0}) {
      TestTensorSpec base = tensor(dtype);
      base.values = Values::kPositive;
      ASSERT_TRUE(comparison.Compare({"aten.pow.Tensor_Scalar", {base, EValue(e)}, {dtype}}));
    }
    ASSERT_TRUE(comparison.Compare({"aten.gelu.default",
                                    {tensor(dtype), EValue(std::string_view("tanh"))},
                                    {dtype},
                                    4,
                                    UlpOf::kLargest}));
    // A full-precision scalar with a half-precision tensor. A tensor of rank 0 is rounded or not,
    // as in PyTorch.
    for (const char* op : {"aten.mul.Tensor", "aten.div.Tensor", "aten.maximum.default"}) {
      ASSERT_TRUE(
          comparison.Compare({op, {tensor(dtype), TestTensorSpec{DType::kFloat32, {}}}, {dtype}}));
      ASSERT_TRUE(comparison.Compare({op, {tensor(dtype), tensor(DType::kInt32)}, {dtype}}));
    }
    ASSERT_TRUE(comparison.Compare(
        {"aten.add.Tensor", {tensor(dtype), tensor(DType::kInt64), EValue(0.25)}, {dtype}}));
  }
}

// Operands with one element per row of the result have loops of their own (FindRowsLoop).
TEST(PointwiseTest, OneElementPerRowOfEveryLength) {
  KernelComparison comparison;
  for (const Row& row : Rows()) {
    if (!IsBinary(row) || HasNumber(row)) continue;
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32}) {
      if (Contains(row.read, "Integer") == IsFloatingPoint(dtype)) continue;
      for (int64_t n : {15, 16, 17, 33, 56, 1025}) {
        const Values values = n % 2 == 0 ? Values::kSpecial : Values::kNormal;
        for (const auto& [a, b] : std::vector<std::pair<Sizes, Sizes>>{{{3, 5, n}, {3, 5, 1}},
                                                                       {{5, 1}, {5, n}},
                                                                       {{3, 5, n}, {1, 5, 1}},
                                                                       {{3, 1, 1}, {3, 5, n}},
                                                                       {{3, 5, n}, {5, 1}}}) {
          comparison.Compare(CallOf(row, dtype, a, b, values), /*may_refuse=*/true);
        }
        comparison.Compare(
            CallOf(row, dtype, {4, n}, {4, 1}, Values::kNormal, Layout::kGaps, Layout::kReversed),
            /*may_refuse=*/true);
      }
    }
  }
}

// Scaling by 4 scales the root by 2: all fractions with two exponents stand for all normal numbers.
TEST(PointwiseTest, SquareRootsOfAllFractionsAreCorrectlyRounded) {
  const VectorLoop loop = FindLoop(PointwiseOp::kSqrt, DType::kFloat32);
  ASSERT_NE(loop, nullptr);
  constexpr uint32_t kBlock = 1 << 12;
  std::vector<float> x(kBlock), roots(kBlock);
  const void* const operands[] = {x.data()};
  const auto compare = [&] {
    loop(operands, roots.data(), x.size(), PointwiseParams());
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = std::sqrt(x[i]);
      if (std::isnan(expected) && std::isnan(roots[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(roots[i]), std::bit_cast<uint32_t>(expected)) << x[i];
    }
  };
  for (uint32_t bits = 0x3f800000; bits < 0x40800000; bits += kBlock) {
    for (uint32_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(bits + i);
    compare();
  }
  uint32_t bits = 20261128;
  for (float& value : x) value = std::bit_cast<float>(bits = bits * 1664525 + 1013904223);
  compare();
}

// The bounds of math-inl.h over all signs, exponents and special values, on every instruction set.
TEST(PointwiseTest, FunctionsAreWithinTheirBoundsOfDouble) {
  struct Function {
    PointwiseOp op;
    double max_ulp;
    double (*exact)(double);
  };
  constexpr Function kFunctions[] = {
      {PointwiseOp::kExp, 2, [](double x) { return std::exp(x); }},
      {PointwiseOp::kTanh, 4, [](double x) { return std::tanh(x); }},
      {PointwiseOp::kSigmoid, 4, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {PointwiseOp::kErfc, 12, [](double x) { return std::erfc(x); }},
      {PointwiseOp::kLgamma, 1, [](double x) { return std::lgamma(x); }},
      {PointwiseOp::kGeluErf, 12,
       [](double x) { return x * 0.5 * std::erfc(x * -0.70710678118654752440); }},
  };
  std::vector<float> x = {0.0f, -0.0f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 9973) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  std::vector<float> results(x.size());
  const void* const operands[] = {x.data()};
  const std::vector<std::string> sets = InstructionSets();
  for (const std::string& set : sets) {
    ASSERT_TRUE(UseInstructionSet(set).ok());
    for (const Function& function : kFunctions) {
      FindLoop(function.op, DType::kFloat32)(operands, results.data(), x.size(), PointwiseParams());
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = function.exact(x[i]);
        const auto nearest = static_cast<float>(exact);
        const float size = std::fabs(nearest);
        ASSERT_EQ(std::isnan(results[i]), std::isnan(exact)) << x[i] << ' ' << set;
        if (std::isnan(exact) || results[i] == nearest) continue;
        const double ulp = static_cast<double>(std::nextafter(size, HUGE_VALF)) - size;
        ASSERT_LE(std::abs(results[i] - exact), function.max_ulp * ulp)
            << static_cast<int>(function.op) << " of " << x[i] << " on " << set;
      }
    }
  }
  ASSERT_TRUE(UseInstructionSet(sets.front()).ok());
}

// Bounds of double_loops.cc over all signs, exponents and special values, on every instruction set.
TEST(PointwiseTest, DoubleFunctionsAreWithinTheirBoundsOfLongDouble) {
  struct Function {
    PointwiseOp op;
    double max_ulp;
    long double (*exact)(long double);
  };
  constexpr Function kFunctions[] = {
      {PointwiseOp::kExp, 2, [](long double x) { return std::exp(x); }},
      {PointwiseOp::kExpm1, 3, [](long double x) { return std::expm1(x); }},
      {PointwiseOp::kTanh, 4, [](long double x) { return std::tanh(x); }},
      {PointwiseOp::kSigmoid, 3, [](long double x) { return 1 / (1 + std::exp(-x)); }},
      {PointwiseOp::kErf, 4, [](long double x) { return std::erf(x); }},
      {PointwiseOp::kErfc, 8, [](long double x) { return std::erfc(x); }},
      {PointwiseOp::kGeluErf, 16,
       [](long double x) {
         return x * 0.5L * std::erfc(x * -0.707106781186547524400844362104849L);
       }},
      {PointwiseOp::kLog, 4, [](long double x) { return std::log(x); }},
      {PointwiseOp::kLog1p, 4, [](long double x) { return std::log1p(x); }},
      {PointwiseOp::kSin, 3, [](long double x) { return std::sin(x); }},
      {PointwiseOp::kAtan, 3, [](long double x) { return std::atan(x); }},
  };
  std::vector<double> x = {0.0, -0.0};
  for (uint64_t i = 0; i < 200'000; ++i) {
    x.push_back(std::bit_cast<double>(i * 92'233'720'368'547 + 12'345));  // all exponents
    x.push_back(
        std::bit_cast<double>((i % 22 + 1013) << 52 | i * 22'517'998'136'857));  // 2^-10 to 2^11
    if (i % 2 == 1) x.back() = -x.back();
  }
  std::vector<double> results(x.size());
  const void* const operands[] = {x.data()};
  const std::vector<std::string> sets = InstructionSets();
  for (const std::string& set : sets) {
    ASSERT_TRUE(UseInstructionSet(set).ok());
    for (const Function& function : kFunctions) {
      FindLoop(function.op, DType::kFloat64)(operands, results.data(), x.size(), PointwiseParams());
      for (size_t i = 0; i < x.size(); ++i) {
        const long double exact = function.exact(x[i]);
        const auto nearest = static_cast<double>(exact);
        ASSERT_EQ(std::isnan(results[i]), std::isnan(exact)) << x[i] << ' ' << set;
        if (std::isnan(exact) || results[i] == nearest) continue;
        const double size = std::fabs(nearest), ulp = std::nextafter(size, HUGE_VAL) - size;
        ASSERT_LE(std::abs(results[i] - exact), function.max_ulp * ulp)
            << static_cast<int>(function.op) << " of " << x[i] << " on " << set;
      }
    }
  }
  ASSERT_TRUE(UseInstructionSet(sets.front()).ok());
}

}  // namespace
}  // namespace belay
