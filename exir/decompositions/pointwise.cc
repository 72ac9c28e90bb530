// Elementwise operators that are synonyms or short combinations of others.

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// x op y, either may be a scalar.
Argument AnyBinary(OpBuilder& b, std::string_view name, const Argument& x, const Argument& y) {
  if (b.IsTensor(x)) return Binary(b, name, x, y);
  const Argument number = PromotedNumber(b, x, y);
  return Binary(b, name, number, Cast(b, y, b.dtype(number)));
}
Argument Maximum(OpBuilder& b, const Argument& x, const Argument& y) {
  return b.Call("aten.maximum.default", {x, y});
}
bool IsIntegralTensor(OpBuilder& b, const Argument& x) { return IsIntegral(b.dtype(x), true); }

// --- Arithmetic ---

std::vector<Argument> Square(OpBuilder& b, const OpCall& c) { return {Pow(b, c["self"], 2)}; }

// other - alpha * self
std::vector<Argument> ReverseSub(OpBuilder& b, const OpCall& c) {
  Argument self = c["self"], other = c["other"];
  if (b.IsTensor(other)) return {b.Call("aten.sub.Tensor", {other, self}, {{"alpha", c["alpha"]}})};
  const DType own = b.dtype(self);
  if (own == DType::kFloat16 || own == DType::kBFloat16) {
    // The scalar is rounded to the tensor's dtype.
    return {
        b.Call("aten.sub.Tensor", {ScalarTensor(b, other, own), self}, {{"alpha", c["alpha"]}})};
  }
  // Promote before negating: unsigned integers have no negative values.
  const DType dtype = Promote(b, {&self, &other});
  const Argument scaled = c["alpha"] == Argument(1) ? self : Mul(b, self, c["alpha"]);
  return {Cast(b, NumberMinus(b, other, scaled), dtype)};
}

// self + value * (x * y), or x / y.
template <bool kDivide>
std::vector<Argument> AddCombined(OpBuilder& b, const OpCall& c) {
  Argument self = c["self"], x = c["tensor1"], y = c["tensor2"];
  const DType dtype = Promote(b, {&self, &x, &y}, kDivide);
  Argument term = kDivide ? Div(b, x, y) : Mul(b, x, y);
  const Argument value = NumberIn(b, c["value"], dtype);
  if (!(value == Argument(1))) term = Mul(b, term, value);
  return {Cast(b, Add(b, self, term), dtype)};
}

// start + weight * (end - start), computed from the nearer end.
std::vector<Argument> Lerp(OpBuilder& b, const OpCall& c) {
  Argument start = c["self"], end = c["end"], weight = c["weight"];
  const bool tensor = b.IsTensor(weight);
  const DType dtype = tensor ? Promote(b, {&start, &end, &weight}) : Promote(b, {&start, &end});
  const Argument difference = Sub(b, end, start);
  if (const auto* w = weight.get_if<std::complex<double>>()) {
    if (!IsComplex(dtype)) b.Invalid("lerp: a complex weight of real numbers");
    const Argument result = std::abs(*w) < 0.5
                                ? Add(b, start, Mul(b, difference, weight))
                                : Sub(b, end, Mul(b, difference, Argument(1.0 - *w)));
    return {Cast(b, result, dtype)};
  }
  if (!tensor) {
    const double w = c.Double("weight");
    const Argument result = std::abs(w) < 0.5 ? Add(b, start, Mul(b, difference, w))
                                              : Sub(b, end, Mul(b, difference, 1 - w));
    return {Cast(b, result, dtype)};
  }
  const Argument near_start = Add(b, start, Mul(b, weight, difference));
  const Argument near_end = Sub(b, end, Mul(b, NumberMinus(b, 1, weight), difference));
  const Argument small = Binary(b, "lt", Unary(b, "abs", weight), 0.5);
  return {Cast(b, Where(b, small, near_start, near_end), dtype)};
}

std::vector<Argument> FloorDivide(OpBuilder& b, const OpCall& c) {
  const bool tensor = b.IsTensor(c["other"]);
  return {b.Call(tensor ? "aten.div.Tensor_mode" : "aten.div.Scalar_mode", {c["self"], c["other"]},
                 {{"rounding_mode", Argument("floor")}})};
}
std::vector<Argument> RemainderOfNumber(OpBuilder& b, const OpCall& c) {
  return {AnyBinary(b, "remainder", c["self"], c["other"])};
}

// Computed in float64.
std::vector<Argument> FloatPower(OpBuilder& b, const OpCall& c) {
  const Argument &base = c["self"], &exponent = c["exponent"];
  const auto wide = [&](const Argument& x) {
    if (IsComplex(b.dtype(x))) b.Unsupported("float_power of complex numbers");
    return Cast(b, x, DType::kFloat64);
  };
  if (!b.IsTensor(base)) return {b.Call("aten.pow.Scalar", {base, wide(exponent)})};
  if (!b.IsTensor(exponent)) return {Pow(b, wide(base), exponent)};
  return {b.Call("aten.pow.Tensor_Tensor", {wide(base), wide(exponent)})};
}
std::vector<Argument> Exp2(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"],
                       [&](const Argument& x) { return b.Call("aten.pow.Scalar", {2.0, x}); });
}
// self * 2^other
std::vector<Argument> Ldexp(OpBuilder& b, const OpCall& c) {
  return {Mul(b, c["self"], b.Call("aten.pow.Scalar", {2.0, c["other"]}))};
}

template <bool kToRadians>
std::vector<Argument> Degrees(OpBuilder& b, const OpCall& c) {
  constexpr double kDegree = std::numbers::pi / 180;
  return {Mul(b, c["self"], kToRadians ? kDegree : 1 / kDegree)};
}

std::vector<Argument> ClampLow(OpBuilder& b, const OpCall& c) {
  if (b.IsTensor(c["min"])) return {Maximum(b, c["self"], c["min"])};
  return {Clamp(b, c["self"], c["min"], Argument())};
}
std::vector<Argument> ClampHigh(OpBuilder& b, const OpCall& c) {
  if (b.IsTensor(c["max"])) return {b.Call("aten.minimum.default", {c["self"], c["max"]})};
  return {Clamp(b, c["self"], Argument(), c["max"])};
}

// --- Parts of numbers ---

std::vector<Argument> Frac(OpBuilder& b, const OpCall& c) {
  return {Sub(b, c["self"], Unary(b, "trunc", c["self"]))};
}
std::vector<Argument> Sgn(OpBuilder& b, const OpCall& c) {
  const Argument& z = c["self"];
  if (IsComplex(b.dtype(z))) {
    // z / |z|, and 0 for z = 0.
    const Argument size = Unary(b, "abs", z);
    return {Div(b, z, Where(b, Binary(b, "eq", size, 0), 1.0, size))};
  }
  return {Unary(b, "sign", c["self"])};
}
std::vector<Argument> RoundDecimals(OpBuilder& b, const OpCall& c) {
  const int64_t decimals = c.Int("decimals");
  if (decimals == 0) return {Unary(b, "round", c["self"])};
  if (IsIntegralTensor(b, c["self"])) b.Invalid("round: decimals are for floating point numbers");
  return Computed(b, c["self"], [&](const Argument& x) {
    const double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
    return decimals > 0 ? Div(b, Unary(b, "round", Mul(b, x, scale)), scale)
                        : Mul(b, Unary(b, "round", Div(b, x, scale)), scale);
  });
}
// The sign bit, also of -0 and NaN.
std::vector<Argument> SignBit(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (b.dtype(x) == DType::kBool) return {b.Call("aten.full_like.default", {x, false})};
  if (IsIntegralTensor(b, x)) return {Binary(b, "lt", x, 0)};
  const Argument one = ScalarTensor(b, 1.0, b.dtype(x));
  return {Binary(b, "lt", b.Call("aten.copysign.Tensor", {one, x}), 0)};
}
// 0 for negative numbers, 1 for positive ones, `values` for 0.
std::vector<Argument> Heaviside(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const Argument step = Where(b, Binary(b, "lt", x, 0), 0, Full(b, {}, 1, b.dtype(x)));
  const Argument nan = Where(b, Unary(b, "isnan", x), 0, step);
  return {Where(b, Binary(b, "eq", x, 0), c["values"], nan)};
}

// --- Special functions ---

// x * log(y); 0 where x is 0, NaN where y is NaN.
template <bool kPlusOne>
std::vector<Argument> XLogY(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], y = c["other"];
  const DType dtype = Promote(b, {&x, &y}, true);
  const DType compute = b.dtype(b.IsTensor(x) ? x : y);
  if (!b.IsTensor(x)) x = ScalarTensor(b, x, compute);
  if (!b.IsTensor(y)) y = ScalarTensor(b, y, compute);
  const Argument log = Unary(b, kPlusOne ? "log1p" : "log", y);
  const Argument product = Where(b, Binary(b, "eq", x, 0), 0, Mul(b, x, log));
  return {Cast(b, Where(b, Unary(b, "isnan", y), kNotANumber, product), dtype)};
}

std::vector<Argument> Entropy(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    const Argument entropy = Mul(b, Unary(b, "neg", x), Unary(b, "log", x));
    const Argument low = Where(b, Binary(b, "eq", x, 0), Full(b, {}, 0, b.dtype(x)), -kInfinity);
    return Where(b, Unary(b, "isnan", x), x, Where(b, Binary(b, "gt", x, 0), entropy, low));
  });
}

std::vector<Argument> Sinc(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    const Argument angle = Mul(b, x, std::numbers::pi);
    return Where(b, Binary(b, "eq", angle, 0), 1, Div(b, Unary(b, "sin", angle), angle));
  });
}

// Cumulative distribution function of the normal distribution.
std::vector<Argument> NormalIntegral(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    return Mul(b, Add(b, Unary(b, "erf", Mul(b, x, std::numbers::sqrt2 / 2)), 1), 0.5);
  });
}

// log(e^x + e^y), or log2(2^x + 2^y).
template <bool kTwo>
std::vector<Argument> LogAddExp(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], y = c["other"];
  const DType dtype = Promote(b, {&x, &y}, true);
  const Argument larger = Maximum(b, x, y);
  const Argument distance = Unary(b, "neg", Unary(b, "abs", Sub(b, x, y)));
  const Argument rest = kTwo ? Mul(b, Unary(b, "log1p", b.Call("aten.pow.Scalar", {2.0, distance})),
                                   std::numbers::log2e)
                             : Unary(b, "log1p", Unary(b, "exp", distance));
  // inf - inf
  const Argument same =
      b.Call("aten.logical_and.default", {Unary(b, "isinf", x), b.Call("aten.eq.Tensor", {x, y})});
  return {Cast(b, Where(b, same, x, Add(b, larger, rest)), dtype)};
}

// --- Predicates ---

// Largest finite number of the dtype.
double Largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 3.3895313892515355e38;
    default:
      return std::numeric_limits<float>::max();
  }
}
std::vector<Argument> NanToNum(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const DType dtype = b.dtype(x);
  if (IsIntegralTensor(b, x)) return {Clone(b, x)};
  if (IsComplex(dtype)) b.Unsupported("nan_to_num of complex numbers");
  // Scalars above the largest finite number become infinite.
  const auto number = [&](std::string_view name, double otherwise) {
    const double value = c.IsNone(name) ? otherwise : c.Double(name);
    if (!(std::abs(value) > Largest(dtype))) return ScalarTensor(b, value, dtype);
    return Cast(b, ScalarTensor(b, value, DType::kFloat64), dtype);
  };
  const Argument finite = Where(b, Unary(b, "isnan", x), number("nan", 0.0), x);
  const Argument below =
      Where(b, Binary(b, "eq", x, -kInfinity), number("neginf", -Largest(dtype)), finite);
  return {Where(b, Binary(b, "eq", x, kInfinity), number("posinf", Largest(dtype)), below)};
}

Argument Always(OpBuilder& b, const Argument& x, bool value) {
  return b.Call("aten.full_like.default", {x, value}, {{"dtype", DType::kBool}});
}
std::vector<Argument> IsFinite(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (IsIntegralTensor(b, x)) return {Always(b, x, true)};
  const Argument bad =
      b.Call("aten.logical_or.default", {Unary(b, "isnan", x), Unary(b, "isinf", x)});
  return {Unary(b, "logical_not", bad)};
}
template <int kSign>
std::vector<Argument> IsInfinity(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (IsIntegralTensor(b, x)) return {Always(b, x, false)};
  return {Binary(b, "eq", x, kSign * kInfinity)};
}
std::vector<Argument> IsReal(OpBuilder& b, const OpCall& c) {
  if (IsComplex(b.dtype(c["self"]))) return {Binary(b, "eq", Unary(b, "imag", c["self"]), 0)};
  return {Always(b, c["self"], true)};
}

// |x - y| <= atol + rtol |y|, or equal.
std::vector<Argument> IsClose(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &y = c["other"];
  const double rtol = c.Double("rtol"), atol = c.Double("atol");
  Argument close = b.Call("aten.eq.Tensor", {x, y});
  const auto either = [&](const Argument& condition) {
    close = b.Call("aten.logical_or.default", {close, condition});
  };
  const bool floats = !IsIntegralTensor(b, x);
  if (c.Bool("equal_nan") && floats) {
    either(b.Call("aten.logical_and.default", {Unary(b, "isnan", x), Unary(b, "isnan", y)}));
  }
  if (rtol == 0 && atol == 0) return {close};
  // In half precision, each step rounds.
  const DType dtype = ResultFloat(PromotedDtype(b, x, y));
  const Argument p = Cast(b, x, dtype), q = Cast(b, y, dtype);
  const Argument allowed = Add(b, Unary(b, "abs", Mul(b, q, rtol)), atol);
  const Argument distance = Unary(b, "abs", Sub(b, p, q));
  const Argument finite = b.Call("aten.isfinite.default", {distance});
  either(
      b.Call("aten.logical_and.default", {finite, b.Call("aten.le.Tensor", {distance, allowed})}));
  return {close};
}

// --- Selection ---

// where with scalars, which promote as scalars do.
std::vector<Argument> WhereNumbers(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], y = c["other"];
  const bool x_tensor = b.IsTensor(x), y_tensor = b.IsTensor(y);
  const DType dtype = Promote(b, {&x, &y});
  if (!x_tensor && !y_tensor) {
    x = ScalarTensor(b, x, dtype);
    y = ScalarTensor(b, y, dtype);
    return {b.Call("aten.where.self", {c["condition"], x, y})};
  }
  // Half precision stays: nothing is computed.
  x = x_tensor ? Cast(b, c["self"], dtype) : ScalarTensor(b, x, dtype);
  y = y_tensor ? Cast(b, c["other"], dtype) : ScalarTensor(b, y, dtype);
  return {b.Call("aten.where.self", {c["condition"], x, y})};
}

// --- Complex numbers ---

std::vector<Argument> Real(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (!IsComplex(b.dtype(x))) return {x};
  return {Select(b, b.Call("aten.view_as_real.default", {x}), -1, 0)};
}
std::vector<Argument> Imag(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (!IsComplex(b.dtype(x))) b.Invalid("imag: the numbers are real");
  return {Select(b, b.Call("aten.view_as_real.default", {x}), -1, 1)};
}
std::vector<Argument> Conj(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (!IsComplex(b.dtype(x))) return {x};
  return {b.Call("aten._conj_physical.default", {x})};
}

// --- Scalar left operands ---

std::vector<Argument> BitwiseOfNumber(OpBuilder& b, const OpCall& c, std::string_view name) {
  return {AnyBinary(b, name, c["self"], c["other"])};
}
std::vector<Argument> BitwiseAnd(OpBuilder& b, const OpCall& c) {
  return BitwiseOfNumber(b, c, "bitwise_and");
}
std::vector<Argument> BitwiseOr(OpBuilder& b, const OpCall& c) {
  return BitwiseOfNumber(b, c, "bitwise_or");
}
std::vector<Argument> BitwiseXor(OpBuilder& b, const OpCall& c) {
  return BitwiseOfNumber(b, c, "bitwise_xor");
}
std::vector<Argument> LeftShift(OpBuilder& b, const OpCall& c) {
  return BitwiseOfNumber(b, c, "bitwise_left_shift");
}
std::vector<Argument> RightShift(OpBuilder& b, const OpCall& c) {
  return BitwiseOfNumber(b, c, "bitwise_right_shift");
}

// --- Fake quantization ---

// round(x / scale) + zero_point, in float32 or float64: 0-dimensional scales do not promote half.
Argument Steps(OpBuilder& b, const Argument& x, const Argument& inverse,
               const OpArgument& zero_point) {
  const Argument wide = Cast(b, x, ComputeDtype(b.dtype(x)));
  return Add(b, Unary(b, "round", Mul(b, wide, inverse)), zero_point);
}
// (clamp(steps) - zero_point) * scale
Argument FakeQuantized(OpBuilder& b, const OpCall& c, const Argument& x, const Argument& inverse,
                       const OpArgument& scale, const OpArgument& zero_point) {
  // The steps fit into float32, PyTorch's compute dtype from here on.
  const Argument steps = Cast(b, Steps(b, x, inverse, zero_point), DType::kFloat32);
  return Mul(b, Sub(b, Clamp(b, steps, c["quant_min"], c["quant_max"]), zero_point), scale);
}
std::vector<Argument> FakeQuantizePerTensor(OpBuilder& b, const OpCall& c) {
  Argument scale = c["scale"], zero_point = c["zero_point"];
  if (!b.IsTensor(scale)) scale = ScalarTensor(b, scale, DType::kFloat32);
  if (b.IsTensor(zero_point)) zero_point = Cast(b, zero_point, DType::kFloat32);
  const Argument inverse = Unary(b, "reciprocal", scale);
  const Argument result = FakeQuantized(b, c, c["self"], inverse, scale, zero_point);
  return {Cast(b, result, b.dtype(c["self"]))};
}
std::vector<Argument> FakeQuantizePerChannel(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  std::vector<SymInt> sizes(b.rank(x), SymInt(1));
  const int64_t axis = b.WrapDim(c.Int("axis"), b.rank(x));
  if (!b.ok() || sizes.empty()) return {x};
  sizes[axis] = b.size(x, axis);
  const Argument scale = Reshape(b, c["scale"], sizes);
  const Argument zero_point = Cast(b, Reshape(b, c["zero_point"], sizes), DType::kFloat32);
  const Argument inverse = Unary(b, "reciprocal", scale);
  return {Cast(b, FakeQuantized(b, c, x, inverse, scale, zero_point), b.dtype(x))};
}

// Also returns a mask of the elements in range.
template <bool kPerChannel>
std::vector<Argument> FakeQuantizeWithMask(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> results =
      kPerChannel ? FakeQuantizePerChannel(b, c) : FakeQuantizePerTensor(b, c);
  const Argument& x = c["self"];
  Argument scale = c["scale"], zero_point = c["zero_point"];
  if (kPerChannel) {
    std::vector<SymInt> sizes(b.rank(x), SymInt(1));
    const int64_t axis = b.WrapDim(c.Int("axis"), b.rank(x));
    if (!b.ok() || sizes.empty()) return {};
    sizes[axis] = b.size(x, axis);
    scale = Reshape(b, scale, sizes);
    zero_point = Cast(b, Reshape(b, zero_point, sizes), DType::kFloat32);
  } else {
    scale = ScalarTensor(b, scale, DType::kFloat32);
  }
  const Argument steps = Steps(b, x, Unary(b, "reciprocal", scale), zero_point);
  results.push_back(b.Call("aten.logical_and.default", {Binary(b, "ge", steps, c["quant_min"]),
                                                        Binary(b, "le", steps, c["quant_max"])}));
  return results;
}

// --- More special functions ---

// log((1 + erf(x / √2)) / 2)
std::vector<Argument> LogNormalCdf(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    const Argument t = Mul(b, x, 1 / std::numbers::sqrt2);
    const Argument far =
        Sub(b, Unary(b, "log", Mul(b, Unary(b, "special_erfcx", Unary(b, "neg", t)), 0.5)),
            Mul(b, t, t));
    const Argument near = Unary(b, "log1p", Mul(b, Unary(b, "erfc", t), -0.5));
    return Where(b, Binary(b, "lt", x, -1.0), far, near);
  });
}
// Sum of lgamma(x - i / 2), plus a constant.
std::vector<Argument> MultivariateLogGamma(OpBuilder& b, const OpCall& c) {
  const int64_t p = c.Int("p");
  if (p < 1 || p > 1024) b.Invalid("mvlgamma: expected 1 <= p <= 1024");
  if (!b.ok()) return {};
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    Argument sum;
    for (int64_t i = 0; i < p && b.ok(); ++i) {
      const Argument term = Unary(b, "lgamma", i == 0 ? x : Sub(b, x, static_cast<double>(i) / 2));
      sum = i == 0 ? term : Add(b, sum, term);
    }
    return Add(b, sum, static_cast<double>(p * (p - 1)) * std::log(std::numbers::pi) / 4);
  });
}

constexpr Decomposition kDecompositions[] = {
    {"aten.__and__.Scalar", Same<"aten.bitwise_and.Scalar">},
    {"aten.__and__.Tensor", Same<"aten.bitwise_and.Tensor">},
    {"aten.__or__.Scalar", Same<"aten.bitwise_or.Scalar">},
    {"aten.__or__.Tensor", Same<"aten.bitwise_or.Tensor">},
    {"aten.__xor__.Scalar", Same<"aten.bitwise_xor.Scalar">},
    {"aten.__xor__.Tensor", Same<"aten.bitwise_xor.Tensor">},
    {"aten._conj.default", Conj},
    {"aten.absolute.default", Same<"aten.abs.default">},
    {"aten.addcdiv.default", AddCombined<true>},
    {"aten.addcmul.default", AddCombined<false>},
    {"aten.arccos.default", Same<"aten.acos.default">},
    {"aten.arccosh.default", Same<"aten.acosh.default">},
    {"aten.arcsin.default", Same<"aten.asin.default">},
    {"aten.arcsinh.default", Same<"aten.asinh.default">},
    {"aten.arctan.default", Same<"aten.atan.default">},
    {"aten.arctan2.default", Same<"aten.atan2.default">},
    {"aten.arctanh.default", Same<"aten.atanh.default">},
    {"aten.bitwise_and.Scalar_Tensor", BitwiseAnd},
    {"aten.bitwise_left_shift.Scalar_Tensor", LeftShift},
    {"aten.bitwise_or.Scalar_Tensor", BitwiseOr},
    {"aten.bitwise_right_shift.Scalar_Tensor", RightShift},
    {"aten.bitwise_xor.Scalar_Tensor", BitwiseXor},
    {"aten.clamp_max.Tensor", ClampHigh},
    {"aten.clamp_max.default", ClampHigh},
    {"aten.clamp_min.Tensor", ClampLow},
    {"aten.clamp_min.default", ClampLow},
    {"aten.clip.Tensor", Same<"aten.clamp.Tensor">},
    {"aten.clip.default", Same<"aten.clamp.default">},
    {"aten.conj.default", Conj},
    {"aten.conj_physical.default", Conj},
    {"aten.deg2rad.default", Degrees<true>},
    {"aten.divide.Scalar", Same<"aten.div.Scalar">},
    {"aten.divide.Scalar_mode", Same<"aten.div.Scalar_mode">},
    {"aten.divide.Tensor", Same<"aten.div.Tensor">},
    {"aten.divide.Tensor_mode", Same<"aten.div.Tensor_mode">},
    {"aten.exp2.default", Exp2},
    {"aten.fake_quantize_per_channel_affine.default", FakeQuantizePerChannel},
    {"aten.fake_quantize_per_channel_affine_cachemask.default", FakeQuantizeWithMask<true>},
    {"aten.fake_quantize_per_tensor_affine.default", FakeQuantizePerTensor},
    {"aten.fake_quantize_per_tensor_affine_cachemask.default", FakeQuantizeWithMask<false>},
    {"aten.fake_quantize_per_tensor_affine.tensor_qparams", FakeQuantizePerTensor},
    {"aten.fix.default", Same<"aten.trunc.default">},
    {"aten.float_power.Scalar", FloatPower},
    {"aten.float_power.Tensor_Scalar", FloatPower},
    {"aten.float_power.Tensor_Tensor", FloatPower},
    {"aten.floor_divide.Scalar", FloorDivide},
    {"aten.floor_divide.default", FloorDivide},
    {"aten.frac.default", Frac},
    {"aten.greater.Scalar", Same<"aten.gt.Scalar">},
    {"aten.greater.Tensor", Same<"aten.gt.Tensor">},
    {"aten.greater_equal.Scalar", Same<"aten.ge.Scalar">},
    {"aten.greater_equal.Tensor", Same<"aten.ge.Tensor">},
    {"aten.heaviside.default", Heaviside},
    {"aten.imag.default", Imag},
    {"aten.isclose.default", IsClose},
    {"aten.isfinite.default", IsFinite},
    {"aten.isneginf.default", IsInfinity<-1>},
    {"aten.isposinf.default", IsInfinity<1>},
    {"aten.isreal.default", IsReal},
    {"aten.ldexp.Tensor", Ldexp},
    {"aten.lerp.Scalar", Lerp},
    {"aten.lerp.Tensor", Lerp},
    {"aten.less.Scalar", Same<"aten.lt.Scalar">},
    {"aten.less.Tensor", Same<"aten.lt.Tensor">},
    {"aten.less_equal.Scalar", Same<"aten.le.Scalar">},
    {"aten.less_equal.Tensor", Same<"aten.le.Tensor">},
    {"aten.logaddexp.default", LogAddExp<false>},
    {"aten.logaddexp2.default", LogAddExp<true>},
    {"aten.max.other", Same<"aten.maximum.default">},
    {"aten.min.other", Same<"aten.minimum.default">},
    {"aten.multiply.Scalar", Same<"aten.mul.Scalar">},
    {"aten.multiply.Tensor", Same<"aten.mul.Tensor">},
    {"aten.nan_to_num.default", NanToNum},
    {"aten.negative.default", Same<"aten.neg.default">},
    {"aten.not_equal.Scalar", Same<"aten.ne.Scalar">},
    {"aten.not_equal.Tensor", Same<"aten.ne.Tensor">},
    {"aten.positive.default", Identity},
    {"aten.rad2deg.default", Degrees<false>},
    {"aten.real.default", Real},
    {"aten.remainder.Scalar_Tensor", RemainderOfNumber},
    {"aten.resolve_conj.default", Identity},
    {"aten.resolve_neg.default", Identity},
    {"aten.round.decimals", RoundDecimals},
    {"aten.rsub.Scalar", ReverseSub},
    {"aten.rsub.Tensor", ReverseSub},
    {"aten.sgn.default", Sgn},
    {"aten.signbit.default", SignBit},
    {"aten.sinc.default", Sinc},
    {"aten.special_entr.default", Entropy},
    {"aten.special_erf.default", Same<"aten.erf.default">},
    {"aten.special_exp2.default", Exp2},
    {"aten.special_expm1.default", Same<"aten.expm1.default">},
    {"aten.special_log1p.default", Same<"aten.log1p.default">},
    {"aten.special_ndtr.default", NormalIntegral},
    {"aten.special_round.default", RoundDecimals},
    {"aten.special_sinc.default", Sinc},
    {"aten.special_xlog1py.default", XLogY<true>},
    {"aten.special_xlog1py.other_scalar", XLogY<true>},
    {"aten.special_xlog1py.self_scalar", XLogY<true>},
    {"aten.special_xlogy.default", XLogY<false>},
    {"aten.special_xlogy.other_scalar", XLogY<false>},
    {"aten.special_xlogy.self_scalar", XLogY<false>},
    {"aten.square.default", Square},
    {"aten.subtract.Scalar", Same<"aten.sub.Scalar">},
    {"aten.subtract.Tensor", Same<"aten.sub.Tensor">},
    {"aten.true_divide.Scalar", Same<"aten.div.Scalar">},
    {"aten.true_divide.Tensor", Same<"aten.div.Tensor">},
    {"aten.where.Scalar", WhereNumbers},
    {"aten.where.ScalarOther", WhereNumbers},
    {"aten.where.ScalarSelf", WhereNumbers},
    {"aten.xlogy.Scalar_Other", XLogY<false>},
    {"aten.xlogy.Scalar_Self", XLogY<false>},
    {"aten.xlogy.Tensor", XLogY<false>},
    {"aten.mvlgamma.default", MultivariateLogGamma},
    {"aten.special_digamma.default", Same<"aten.digamma.default">},
    {"aten.special_erfc.default", Same<"aten.erfc.default">},
    {"aten.special_erfinv.default", Same<"aten.erfinv.default">},
    {"aten.special_gammainc.default", Same<"aten.igamma.default">},
    {"aten.special_gammaincc.default", Same<"aten.igammac.default">},
    {"aten.special_gammaln.default", Same<"aten.lgamma.default">},
    {"aten.special_i0.default", Same<"aten.i0.default">},
    {"aten.special_log_ndtr.default", LogNormalCdf},
    {"aten.special_multigammaln.default", MultivariateLogGamma},
    {"aten.special_psi.default", Same<"aten.digamma.default">},
};

}  // namespace

absl::Span<const Decomposition> PointwiseDecompositions() { return kDecompositions; }

}  // namespace belay::exir
