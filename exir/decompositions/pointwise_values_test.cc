#include <cmath>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

double Entropy(double x) { return x > 0 ? -x * std::log(x) : x == 0 ? 0 : -kInf; }

struct UnaryRow {
  std::string_view call;
  double (*function)(double);
  bool integers_too = false;  // also accepts integers and returns float32
};

TEST(PointwiseValuesTest, UnaryFunctions) {
  static constexpr UnaryRow kRows[] = {
      {"aten.absolute.default(%a)", [](double x) { return std::abs(x); }},
      {"aten.negative.default(%a)", [](double x) { return -x; }},
      {"aten.square.default(%a)", [](double x) { return x * x; }},
      {"aten.frac.default(%a)", [](double x) { return x - std::trunc(x); }},
      {"aten.fix.default(%a)", [](double x) { return std::trunc(x); }},
      {"aten.sgn.default(%a)", [](double x) { return x > 0   ? 1.0
                                                     : x < 0 ? -1.0
                                                             : 0.0; }},
      {"aten.exp2.default(%a)", [](double x) { return std::exp2(x); }, true},
      {"aten.special_exp2.default(%a)", [](double x) { return std::exp2(x); }, true},
      {"aten.deg2rad.default(%a)", [](double x) { return x * 0.017453292519943295; }, true},
      {"aten.rad2deg.default(%a)", [](double x) { return x * 57.29577951308232; }, true},
      {"aten.sinc.default(%a)",
       [](double x) {
         return x == 0 ? 1 : std::sin(3.14159265358979 * x) / (3.14159265358979 * x);
       },
       true},
      {"aten.special_ndtr.default(%a)",
       [](double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }, true},
      {"aten.special_entr.default(%a)", Entropy, true},
      {"aten.special_expm1.default(%a)", [](double x) { return std::expm1(x); }, true},
      {"aten.special_erf.default(%a)", [](double x) { return std::erf(x); }, true},
      {"aten.arctan.default(%a)", [](double x) { return std::atan(x); }, true},
      {"aten.arcsinh.default(%a)", [](double x) { return std::asinh(x); }, true},
      {"aten.clamp_min.default(%a, 0.5)", [](double x) { return std::fmax(x, 0.5); }, true},
      {"aten.clamp_max.default(%a, 0.5)", [](double x) { return std::fmin(x, 0.5); }, true},
      {"aten.clip.default(%a, -0.5, 0.5)",
       [](double x) { return std::fmin(std::fmax(x, -0.5), 0.5); }, true},
      {"aten.rsub.Scalar(%a, 3)", [](double x) { return 3 - x; }},
      {"aten.rsub.Scalar(%a, 3, 2)", [](double x) { return 3 - 2 * x; }},
      {"aten.floor_divide.Scalar(%a, 0.75)", [](double x) { return std::floor(x / 0.75); }, true},
      {"aten.true_divide.Scalar(%a, 4)", [](double x) { return x / 4; }, true},
      {"aten.multiply.Scalar(%a, 4)", [](double x) { return x * 4; }},
      {"aten.subtract.Scalar(%a, 1, 2)", [](double x) { return x - 2; }},
      {"aten.round.decimals(%a, decimals=1)", [](double x) { return std::nearbyint(x * 10) / 10; }},
      {"aten.round.decimals(%a, decimals=-1)",
       [](double x) { return std::nearbyint(x / 10) * 10; }},
      {"aten.special_round.default(%a)", [](double x) { return std::nearbyint(x); }},
      {"aten.nan_to_num.default(%a)", [](double x) { return x; }},
      {"aten.positive.default(%a)", [](double x) { return x; }},
      {"aten.real.default(%a)", [](double x) { return x; }},
      {"aten.conj.default(%a)", [](double x) { return x; }},
      {"aten.special_xlogy.other_scalar(%a, 3.0)", [](double x) { return x * std::log(3); }, true},
      {"aten.special_xlog1py.other_scalar(%a, 3.0)", [](double x) { return x * std::log(4); },
       true},
      {"aten.remainder.Scalar_Tensor(3, %a)",
       [](double x) { return x == 0 ? kNan : 3 - x * std::floor(3 / x); }},
  };
  for (const UnaryRow& row : kRows) {
    SCOPED_TRACE(row.call);
    const Values x = Random({2, 5}), zero = F({3}, {-1, 0, 1.375});
    ExpectValues(row.call, {x}, {Map(x, row.function)});
    ExpectValues(row.call, {zero}, {Map(zero, row.function)});
    ExpectValues(row.call, {F({0, 3}, {})}, {F({0, 3}, {})});
    if (row.integers_too) {
      ExpectValues(row.call, {I({3}, {-2, 0, 3})}, {Map(F({3}, {-2, 0, 3}), row.function)});
    }
  }
}

struct BinaryRow {
  std::string_view call;
  double (*function)(double, double);
};

TEST(PointwiseValuesTest, BinaryFunctions) {
  static constexpr BinaryRow kRows[] = {
      {"aten.rsub.Tensor(%a, %b)", [](double x, double y) { return y - x; }},
      {"aten.rsub.Tensor(%a, %b, 2)", [](double x, double y) { return y - 2 * x; }},
      {"aten.floor_divide.default(%a, %b)", [](double x, double y) { return std::floor(x / y); }},
      {"aten.divide.Tensor(%a, %b)", [](double x, double y) { return x / y; }},
      {"aten.divide.Tensor_mode(%a, %b, rounding_mode=\"trunc\")",
       [](double x, double y) { return std::trunc(x / y); }},
      {"aten.subtract.Tensor(%a, %b, 2)", [](double x, double y) { return x - 2 * y; }},
      {"aten.multiply.Tensor(%a, %b)", [](double x, double y) { return x * y; }},
      {"aten.clamp_min.Tensor(%a, %b)", [](double x, double y) { return std::fmax(x, y); }},
      {"aten.clamp_max.Tensor(%a, %b)", [](double x, double y) { return std::fmin(x, y); }},
      {"aten.clip.Tensor(%a, none, %b)", [](double x, double y) { return std::fmin(x, y); }},
      {"aten.max.other(%a, %b)", [](double x, double y) { return std::fmax(x, y); }},
      {"aten.min.other(%a, %b)", [](double x, double y) { return std::fmin(x, y); }},
      {"aten.arctan2.default(%a, %b)", [](double x, double y) { return std::atan2(x, y); }},
      {"aten.logaddexp.default(%a, %b)",
       [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); }},
      {"aten.logaddexp2.default(%a, %b)",
       [](double x, double y) { return std::log2(std::exp2(x) + std::exp2(y)); }},
      {"aten.ldexp.Tensor(%a, %b)", [](double x, double y) { return x * std::exp2(y); }},
      {"aten.heaviside.default(%a, %b)",
       [](double x, double y) { return x == 0  ? y
                                       : x > 0 ? 1.0
                                               : 0.0; }},
      {"aten.lerp.Scalar(%a, %b, 0.25)", [](double x, double y) { return x + 0.25 * (y - x); }},
      {"aten.lerp.Scalar(%a, %b, 0.75)", [](double x, double y) { return x + 0.75 * (y - x); }},
      {"aten.xlogy.Tensor(%a, %b)",
       [](double x, double y) { return std::isnan(std::log(y)) && x == 0 ? 0 : x * std::log(y); }},
      {"aten.special_xlog1py.default(%a, %b)",
       [](double x, double y) { return x * std::log1p(y); }},
  };
  for (const BinaryRow& row : kRows) {
    SCOPED_TRACE(row.call);
    const Values x = Random({2, 5}, 1), y = Random({2, 5}, 2);
    ExpectValues(row.call, {x, y}, {Map(x, y, row.function)});
    // Broadcasts a row with a 0-dimensional tensor.
    const Values row_of = F({1, 3}, {-1, 0.5, 2});
    ExpectValues(row.call, {row_of, F({}, {1.5})},
                 {Map(row_of, F({1, 3}, {1.5, 1.5, 1.5}), row.function)});
  }
}

struct Comparison {
  std::string_view op;
  bool (*holds)(double, double);
};

TEST(PointwiseValuesTest, ComparisonSynonyms) {
  static constexpr Comparison kRows[] = {
      {"greater", [](double x, double y) { return x > y; }},
      {"greater_equal", [](double x, double y) { return x >= y; }},
      {"less", [](double x, double y) { return x < y; }},
      {"less_equal", [](double x, double y) { return x <= y; }},
      {"not_equal", [](double x, double y) { return x != y; }},
  };
  for (const Comparison& row : kRows) {
    const Values x = F({3}, {1, 2, 3}), y = F({3}, {2, 2, 2});
    Values want = B({3}, {});
    for (int i = 0; i < 3; ++i) want.elements.push_back(row.holds(x.elements[i], 2));
    ExpectValues("aten." + std::string(row.op) + ".Tensor(%a, %b)", {x, y}, {want});
    ExpectValues("aten." + std::string(row.op) + ".Scalar(%a, 2)", {x}, {want});
  }
}

TEST(PointwiseValuesTest, AddcmulAndAddcdiv) {
  const Values x = F({2}, {1, 2}), y = F({2}, {3, 4}), z = F({2}, {5, 8});
  ExpectValues("aten.addcmul.default(%a, %b, %c)", {x, y, z}, {F({2}, {16, 34})});
  ExpectValues("aten.addcmul.default(%a, %b, %c, value=0.5)", {x, y, z}, {F({2}, {8.5, 18})});
  ExpectValues("aten.addcdiv.default(%a, %b, %c, value=10)", {x, y, z}, {F({2}, {7, 7})});
  ExpectValues("aten.addcmul.default(%a, %b, %c, value=2)",
               {I({2}, {1, 2}), I({2}, {3, 4}), I({2}, {5, 6})}, {I({2}, {31, 50})});
  ExpectValues("aten.addcmul.default(%a, %b, %c)", {H({1}, {1}), H({1}, {3}), H({1}, {5})},
               {H({1}, {16})});
  ExpectValues("aten.lerp.Tensor(%a, %b, %c)", {x, y, F({2}, {0.25, 0.75})}, {F({2}, {1.5, 3.5})});
}

TEST(PointwiseValuesTest, FloatPowerComputesInDouble) {
  ExpectValues("aten.float_power.Tensor_Scalar(%a, 2)", {I({2}, {3, -4})}, {D({2}, {9, 16})});
  ExpectValues("aten.float_power.Scalar(2, %a)", {F({2}, {3, -1})}, {D({2}, {8, 0.5})});
  ExpectValues("aten.float_power.Tensor_Tensor(%a, %b)", {F({2}, {3, 4}), I({2}, {2, -1})},
               {D({2}, {9, 0.25})});
}

TEST(PointwiseValuesTest, IntegerDtypesArePreserved) {
  ExpectValues("aten.floor_divide.default(%a, %b)", {I({3}, {7, -7, 6}), I({3}, {2, 2, 3})},
               {I({3}, {3, -4, 2})});
  ExpectValues("aten.rsub.Scalar(%a, 3)", {I({2}, {1, 5})}, {I({2}, {2, -2})});
  ExpectValues("aten.rsub.Scalar(%a, -2.0)", {U8({2}, {1, 5})}, {F({2}, {-3, -7})});
  ExpectValues("aten.square.default(%a)", {I({2}, {3, -4})}, {I({2}, {9, 16})});
  ExpectValues("aten.nan_to_num.default(%a)", {I({2}, {3, -4})}, {I({2}, {3, -4})});
  ExpectValues("aten.clamp_min.default(%a, 2)", {I({2}, {1, 5})}, {I({2}, {2, 5})});
}

TEST(PointwiseValuesTest, BitsAndShifts) {
  const Values x = I({3}, {1, 2, 3});
  ExpectValues("aten.__and__.Scalar(%a, 2)", {x}, {I({3}, {0, 2, 2})});
  ExpectValues("aten.__or__.Tensor(%a, %b)", {x, I({1}, {4})}, {I({3}, {5, 6, 7})});
  ExpectValues("aten.__xor__.Tensor(%a, %b)", {B({2}, {1, 0}), B({2}, {1, 1})}, {B({2}, {0, 1})});
  ExpectValues("aten.bitwise_and.Scalar_Tensor(2, %a)", {x}, {I({3}, {0, 2, 2})});
  ExpectValues("aten.bitwise_or.Scalar_Tensor(2, %a)", {x}, {I({3}, {3, 2, 3})});
  ExpectValues("aten.bitwise_xor.Scalar_Tensor(2, %a)", {x}, {I({3}, {3, 0, 1})});
  ExpectValues("aten.bitwise_left_shift.Scalar_Tensor(1, %a)", {x}, {I({3}, {2, 4, 8})});
  ExpectValues("aten.bitwise_right_shift.Scalar_Tensor(8, %a)", {x}, {I({3}, {4, 2, 1})});
}

TEST(PointwiseValuesTest, Predicates) {
  const Values x = F({5}, {kNan, kInf, -kInf, -0.0, 2});
  ExpectValues("aten.isfinite.default(%a)", {x}, {B({5}, {0, 0, 0, 1, 1})});
  ExpectValues("aten.isposinf.default(%a)", {x}, {B({5}, {0, 1, 0, 0, 0})});
  ExpectValues("aten.isneginf.default(%a)", {x}, {B({5}, {0, 0, 1, 0, 0})});
  ExpectValues("aten.isreal.default(%a)", {x}, {B({5}, {1, 1, 1, 1, 1})});
  ExpectValues("aten.signbit.default(%a)", {F({4}, {-1, -0.0, 0, -kInf})}, {B({4}, {1, 1, 0, 1})});
  ExpectValues("aten.signbit.default(%a)", {I({2}, {-1, 0})}, {B({2}, {1, 0})});
  ExpectValues("aten.isfinite.default(%a)", {I({1}, {1})}, {B({1}, {1})});
  ExpectValues("aten.isposinf.default(%a)", {I({1}, {1})}, {B({1}, {0})});
  ExpectValues("aten.nan_to_num.default(%a)", {x},
               {F({5}, {0, 3.40282347e38, -3.40282347e38, 0, 2})});
  ExpectValues("aten.nan_to_num.default(%a, 1.0, 2.0, 3.0)", {x}, {F({5}, {1, 2, 3, 0, 2})});
  ExpectValues("aten.isclose.default(%a, %b)",
               {F({5}, {1, 1, kInf, kNan, kInf}), F({5}, {1.000005, 1.1, kInf, kNan, -kInf})},
               {B({5}, {1, 0, 1, 0, 0})});
  ExpectValues("aten.isclose.default(%a, %b, equal_nan=true)", {F({1}, {kNan}), F({1}, {kNan})},
               {B({1}, {1})});
  ExpectValues("aten.isclose.default(%a, %b, 0.5, 0.0)", {I({2}, {3, 4}), I({2}, {2, 2})},
               {B({2}, {1, 0})});
}

TEST(PointwiseValuesTest, XLogYOfZeroIsZero) {
  ExpectValues("aten.xlogy.Tensor(%a, %b)", {F({3}, {0, 0, 1}), F({3}, {0, kNan, 0})},
               {F({3}, {0, kNan, -kInf})});
  ExpectValues("aten.xlogy.Scalar_Self(2, %a)", {I({2}, {1, 0})}, {F({2}, {0, -kInf})});
  ExpectValues("aten.xlogy.Scalar_Other(%a, 0)", {F({2}, {0, 1})}, {F({2}, {0, -kInf})});
  ExpectValues("aten.logaddexp.default(%a, %b)",
               {F({3}, {kInf, -kInf, 1000}), F({3}, {kInf, -kInf, 1000})},
               {F({3}, {kInf, -kInf, 1000.6931472})});
}

TEST(PointwiseValuesTest, WhereWithScalarsUsesScalarPromotion) {
  const Values condition = B({2}, {1, 0});
  ExpectValues("aten.where.Scalar(%a, 1, 2)", {condition}, {I({2}, {1, 2})});
  ExpectValues("aten.where.Scalar(%a, 1, 2.5)", {condition}, {F({2}, {1, 2.5})});
  ExpectValues("aten.where.ScalarOther(%a, %b, 0.1)", {condition, D({2}, {1, 2})},
               {D({2}, {1, 0.1})}, {.rtol = 0, .atol = 0});
  ExpectValues("aten.where.ScalarOther(%a, %b, 0.5)", {condition, I({2}, {1, 2})},
               {F({2}, {1, 0.5})});
  ExpectValues("aten.where.ScalarSelf(%a, 7, %b)", {condition, H({2}, {1, 2})}, {H({2}, {7, 2})});
}

TEST(PointwiseValuesTest, FakeQuantization) {
  const Values x = F({4}, {-10, -0.26, 0.26, 10});
  ExpectValues("aten.fake_quantize_per_tensor_affine.default(%a, 0.5, 1, 0, 7)", {x},
               {F({4}, {-0.5, -0.5, 0.5, 3})});
  ExpectValues("aten.fake_quantize_per_tensor_affine.tensor_qparams(%a, %b, %c, 0, 7)",
               {x, F({1}, {0.5}), {DType::kInt32, {1}, {1}}}, {F({4}, {-0.5, -0.5, 0.5, 3})});
  ExpectValues("aten.fake_quantize_per_channel_affine.default(%a, %b, %c, 0, -8, 7)",
               {F({2, 2}, {1.3, 100, 1.3, -100}), F({2}, {0.5, 1}), {DType::kInt32, {2}, {0, 2}}},
               {F({2, 2}, {1.5, 3.5, 1, -10})});
}

// Per row, per group of a row, other blocks, and non-integer zero points.
TEST(PointwiseValuesTest, BlockwiseDequantization) {
  const Values x = {DType::kInt8, {2, 4}, {-128, 127, 3, 4, 5, 6, 7, 8}};
  ExpectValues("torchao.dequantize_affine.default(%a, [1,4], %b, %c, dtype:i8)",
               {x, F({2, 1}, {0.5, 2}), {DType::kInt8, {2, 1}, {127, -128}}},
               {F({2, 4}, {-127.5, 0, -62, -61.5, 266, 268, 270, 272})}, {.symbolic = false});
  ExpectValues("torchao.dequantize_affine.default(%a, [1,2], %b, %c, dtype:i8, -8, 7)",
               {x, F({2, 2}, {0.5, 2, 1, 3}), {DType::kInt8, {2, 2}, {0, 1, 2, 3}}},
               {F({2, 4}, {-64, 63.5, 4, 6, 3, 4, 12, 15})}, {.symbolic = false});
  ExpectValues("torchao.dequantize_affine.default(%a, [2,2], %b, %c, dtype:i8)",
               {x, F({1, 2}, {0.5, 2}), {DType::kInt32, {1, 2}, {0, 1}}},
               {F({2, 4}, {-64, 63.5, 4, 6, 2.5, 3, 12, 14})}, {.symbolic = false});
  ExpectValues("torchao.dequantize_affine.default(%a, [1,4], %b, %c, dtype:i8)",
               {x, F({2, 1}, {1, 2}), F({2, 1}, {0.5, 0})},
               {F({2, 4}, {-128.5, 126.5, 2.5, 3.5, 10, 12, 14, 16})}, {.symbolic = false});
}

TEST(PointwiseValuesTest, RejectsComplexLerpWeightOfRealTensors) {
  const Values x = F({2}, {1, 2});
  ExpectDecompositionError("aten.lerp.Scalar(%a, %a, (0.5+1j))", {x}, {x},
                           absl::StatusCode::kInvalidArgument, "a complex weight of real numbers");
}

}  // namespace
}  // namespace belay::exir
