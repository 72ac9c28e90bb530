#include "exir/symbolic/sym_number.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/python_integers.h"

namespace belay::exir {
namespace {

using Result = std::optional<SymValue>;
using Arguments = absl::Span<const SymValue>;

Result Number(std::optional<SymNumber> n) {
  if (!n.has_value()) return std::nullopt;
  return SymValue::Number(*n);
}
Result Int(std::optional<int64_t> n) {
  if (!n.has_value()) return std::nullopt;
  return SymValue::Number(SymNumber::Int(*n));
}

std::optional<int64_t> CeilDivInts(int64_t a, int64_t b) {
  const std::optional<int64_t> floor = PythonFloorDiv(a, b);
  if (!floor.has_value()) return std::nullopt;
  return a % b == 0 ? *floor : *floor + 1;
}
// Remainder with the sign of a, as in C.
std::optional<int64_t> ModInts(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? 0 : a % b;
}
Result ToInt(double value) { return Int(TruncateToInt64(value)); }

template <std::optional<int64_t> (*kFn)(int64_t, int64_t)>
Result OnInts(Arguments a) {
  if (!a[0].number.is_int() || !a[1].number.is_int()) return std::nullopt;
  return Int(kFn(a[0].number.num, a[1].number.num));
}
Result FloorDivFn(Arguments a) {
  const SymNumber &x = a[0].number, &y = a[1].number;
  if (x.is_int() && y.is_int()) return Int(PythonFloorDiv(x.num, y.num));
  if (y.is_zero()) return std::nullopt;
  return Number(SymNumber::Real(std::floor(x.AsDouble() / y.AsDouble())));
}
Result ModularIndexingFn(Arguments a) {
  if (!a[0].number.is_int() || !a[1].number.is_int() || !a[2].number.is_int()) return std::nullopt;
  const std::optional<int64_t> quotient = PythonFloorDiv(a[0].number.num, a[1].number.num);
  if (!quotient.has_value()) return std::nullopt;
  return Int(PythonMod(*quotient, a[2].number.num));
}
Result TrueDivFn(Arguments a) {
  if (a[1].number.is_zero()) return std::nullopt;
  return Number(SymNumber::Real(a[0].number.AsDouble() / a[1].number.AsDouble()));
}
Result PowFn(Arguments a) {
  if (a[1].number.is_int()) return Number(Power(a[0].number, a[1].number.num));
  return Number(SymNumber::Real(std::pow(a[0].number.AsDouble(), a[1].number.AsDouble())));
}
Result FloatPowFn(Arguments a) {
  return Number(SymNumber::Real(std::pow(a[0].number.AsDouble(), a[1].number.AsDouble())));
}
Result ToFloatFn(Arguments a) { return Number(SymNumber::Real(a[0].number.AsDouble())); }
Result TruncToFloatFn(Arguments a) {
  return Number(SymNumber::Real(std::trunc(a[0].number.AsDouble())));
}

// Exact for fractions; doubles are rounded directly.
Result FloorToIntFn(Arguments a) {
  const SymNumber& x = a[0].number;
  return x.is_float ? ToInt(std::floor(x.real)) : Int(PythonFloorDiv(x.num, x.den));
}
Result CeilToIntFn(Arguments a) {
  const SymNumber& x = a[0].number;
  return x.is_float ? ToInt(std::ceil(x.real)) : Int(CeilDivInts(x.num, x.den));
}
Result TruncToIntFn(Arguments a) {
  const SymNumber& x = a[0].number;
  return x.is_float ? ToInt(std::trunc(x.real)) : Int(x.num / x.den);
}
Result RoundToIntFn(Arguments a) {
  const SymNumber& x = a[0].number;  // half to even, as Python's round
  if (x.is_float) return ToInt(std::nearbyint(x.real));
  const int64_t floor = *PythonFloorDiv(x.num, x.den);  // den > 0
  const int64_t below = *PythonMod(x.num, x.den), above = x.den - below;
  return Int(below < above || (below == above && floor % 2 == 0) ? floor : floor + 1);
}
// Python's round(x, digits).
Result RoundDecimalFn(Arguments a) {
  if (!a[1].number.is_int() || std::abs(a[1].number.AsDouble()) > 300) return std::nullopt;
  const int digits = static_cast<int>(a[1].number.num);
  const double x = a[0].number.AsDouble();
  if (!std::isfinite(x)) return Number(SymNumber::Real(x));
  if (digits >= 0)
    return Number(
        SymNumber::Real(std::strtod(absl::StrFormat("%.*f", digits, x).c_str(), nullptr)));
  const double scale = std::pow(10.0, -digits);
  return Number(SymNumber::Real(std::nearbyint(x / scale) * scale));
}
Result SqrtFn(Arguments a) { return Number(SymNumber::Real(std::sqrt(a[0].number.AsDouble()))); }
Result AbsFn(Arguments a) {
  const SymNumber& x = a[0].number;
  return CompareNumbers(x, SymNumber::Int(0)) < 0 ? Number(Multiply(x, SymNumber::Int(-1)))
                                                  : Number(x);
}
Result RationalFn(Arguments a) {
  if (!a[0].number.is_int() || !a[1].number.is_int()) return std::nullopt;
  return Number(SymNumber::Rational(a[0].number.num, a[1].number.num));
}

Result MaxFn(Arguments a) {
  SymNumber best = a[0].number;
  for (const SymValue& x : a) best = CompareNumbers(best, x.number) < 0 ? x.number : best;
  return Number(best);
}
Result MinFn(Arguments a) {
  SymNumber best = a[0].number;
  for (const SymValue& x : a) best = CompareNumbers(x.number, best) < 0 ? x.number : best;
  return Number(best);
}
Result WhereFn(Arguments a) { return a[0].boolean ? a[1] : a[2]; }
Result AndFn(Arguments a) {
  bool all = true;
  for (const SymValue& x : a) all = all && x.boolean;
  return SymValue::Bool(all);
}
Result OrFn(Arguments a) {
  bool any = false;
  for (const SymValue& x : a) any = any || x.boolean;
  return SymValue::Bool(any);
}
Result NotFn(Arguments a) { return SymValue::Bool(!a[0].boolean); }
Result BitAndFn(Arguments a) {
  if (!a[0].number.is_int() || !a[1].number.is_int()) return std::nullopt;
  return Int(a[0].number.num & a[1].number.num);
}
Result BitOrFn(Arguments a) {
  if (!a[0].number.is_int() || !a[1].number.is_int()) return std::nullopt;
  return Int(a[0].number.num | a[1].number.num);
}

int Order(Arguments a) { return CompareNumbers(a[0].number, a[1].number); }
Result EqFn(Arguments a) { return SymValue::Bool(Order(a) == 0); }
Result NeFn(Arguments a) { return SymValue::Bool(Order(a) != 0); }
Result LtFn(Arguments a) { return SymValue::Bool(Order(a) < 0); }
Result LeFn(Arguments a) { return SymValue::Bool(Order(a) <= 0); }
Result GtFn(Arguments a) { return SymValue::Bool(Order(a) > 0); }
Result GeFn(Arguments a) { return SymValue::Bool(Order(a) >= 0); }

struct FunctionRow {
  std::string_view name;
  size_t min_arguments;
  size_t max_arguments;
  Result (*apply)(Arguments);
};
constexpr size_t kAny = std::numeric_limits<size_t>::max();
constexpr FunctionRow kFunctions[] = {
    {"Abs", 1, 1, &AbsFn},
    {"And", 0, kAny, &AndFn},
    {"BitwiseFn_bitwise_and", 2, 2, &BitAndFn},
    {"BitwiseFn_bitwise_or", 2, 2, &BitOrFn},
    {"CeilDiv", 2, 2, &OnInts<CeilDivInts>},
    {"CeilToInt", 1, 1, &CeilToIntFn},
    {"Eq", 2, 2, &EqFn},
    {"FloatPow", 2, 2, &FloatPowFn},
    {"FloatTrueDiv", 2, 2, &TrueDivFn},
    {"FloorDiv", 2, 2, &FloorDivFn},
    {"FloorToInt", 1, 1, &FloorToIntFn},
    {"Ge", 2, 2, &GeFn},
    {"Gt", 2, 2, &GtFn},
    {"IntTrueDiv", 2, 2, &TrueDivFn},
    {"LShift", 2, 2, &OnInts<PythonShiftLeft>},
    {"Le", 2, 2, &LeFn},
    {"Lt", 2, 2, &LtFn},
    {"Max", 1, kAny, &MaxFn},
    {"Min", 1, kAny, &MinFn},
    {"Mod", 2, 2, &OnInts<ModInts>},
    {"ModularIndexing", 3, 3, &ModularIndexingFn},
    {"Ne", 2, 2, &NeFn},
    {"Not", 1, 1, &NotFn},
    {"OpaqueUnaryFn_sqrt", 1, 1, &SqrtFn},
    {"Or", 0, kAny, &OrFn},
    {"Pow", 2, 2, &PowFn},
    {"PythonMod", 2, 2, &OnInts<PythonMod>},
    {"RShift", 2, 2, &OnInts<PythonShiftRight>},
    {"Rational", 2, 2, &RationalFn},
    {"RoundDecimal", 2, 2, &RoundDecimalFn},
    {"RoundToInt", 1, 1, &RoundToIntFn},
    {"ToFloat", 1, 1, &ToFloatFn},
    {"TruncToFloat", 1, 1, &TruncToFloatFn},
    {"TruncToInt", 1, 1, &TruncToIntFn},
    {"Where", 3, 3, &WhereFn},
};

}  // namespace

std::optional<SymNumber> SymNumber::Rational(int64_t num, int64_t den) {
  if (den == 0) return std::nullopt;
  // Use unsigned magnitudes: that of INT64_MIN does not fit int64.
  const auto magnitude = [](int64_t x) {
    return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  };
  uint64_t n = magnitude(num), d = magnitude(den);
  const uint64_t gcd = std::gcd(n, d);
  n /= gcd;
  d /= gcd;
  const bool negative = (num < 0) != (den < 0) && n != 0;
  constexpr uint64_t kLimit = std::numeric_limits<int64_t>::max();
  if (d > kLimit || n > kLimit + (negative ? 1 : 0)) return std::nullopt;
  return SymNumber{false, static_cast<int64_t>(negative ? uint64_t{0} - n : n),
                   static_cast<int64_t>(d), 0};
}

std::optional<SymNumber> SymNumber::Real(double value) {
  if (std::isnan(value)) return std::nullopt;
  return SymNumber{true, 0, 1,
                   value == 0 ? 0.0 : value};  // normalize -0.0: it is equal but prints differently
}

std::optional<SymNumber> Add(const SymNumber& a, const SymNumber& b) {
  if (a.is_float || b.is_float) return SymNumber::Real(a.AsDouble() + b.AsDouble());
  const std::optional<int64_t> x = CheckedMul(a.num, b.den), y = CheckedMul(b.num, a.den);
  const std::optional<int64_t> den = CheckedMul(a.den, b.den);
  if (!x || !y || !den) return std::nullopt;
  const std::optional<int64_t> num = CheckedAdd(*x, *y);
  if (!num) return std::nullopt;
  return SymNumber::Rational(*num, *den);
}

std::optional<SymNumber> Multiply(const SymNumber& a, const SymNumber& b) {
  if (a.is_float || b.is_float) return SymNumber::Real(a.AsDouble() * b.AsDouble());
  // Cross-reduce first, so that it overflows only if the result does not fit. Denominators are
  // greater than 0, so both quotients are numbers.
  const SymNumber x = *SymNumber::Rational(a.num, b.den), y = *SymNumber::Rational(b.num, a.den);
  const std::optional<int64_t> num = CheckedMul(x.num, y.num), den = CheckedMul(x.den, y.den);
  if (!num || !den) return std::nullopt;
  return SymNumber{false, *num, *den, 0};
}

std::optional<SymNumber> Power(const SymNumber& base, int64_t exponent) {
  if (base.is_float) return SymNumber::Real(std::pow(base.real, static_cast<double>(exponent)));
  if (exponent < 0) {
    if (base.num == 0 || exponent == std::numeric_limits<int64_t>::min()) return std::nullopt;
    const std::optional<SymNumber> inverse = SymNumber::Rational(base.den, base.num);
    return inverse ? Power(*inverse, -exponent) : std::nullopt;
  }
  SymNumber result = SymNumber::Int(1);
  SymNumber square = base;
  for (int64_t e = exponent; e > 0; e >>= 1) {
    if (e & 1) {
      const std::optional<SymNumber> next = Multiply(result, square);
      if (!next) return std::nullopt;
      result = *next;
    }
    if (e > 1) {
      const std::optional<SymNumber> next = Multiply(square, square);
      if (!next) return std::nullopt;
      square = *next;
    }
  }
  return result;
}

int CompareNumbers(const SymNumber& a, const SymNumber& b) {
  if (a.is_float || b.is_float) {
    const long double x = a.is_float ? a.real : static_cast<long double>(a.num) / a.den;
    const long double y = b.is_float ? b.real : static_cast<long double>(b.num) / b.den;
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const __int128 x = static_cast<__int128>(a.num) * b.den, y = static_cast<__int128>(b.num) * a.den;
  return x < y ? -1 : x > y ? 1 : 0;
}

std::optional<SymValue> ApplySymFunction(std::string_view name,
                                         absl::Span<const SymValue> arguments) {
  for (const FunctionRow& row : kFunctions) {
    if (row.name == name) return row.apply(arguments);
  }
  return std::nullopt;
}

std::optional<SymArity> ArityOfSymFunction(std::string_view name) {
  for (const FunctionRow& row : kFunctions) {
    if (row.name == name) return SymArity{row.min_arguments, row.max_arguments};
  }
  return std::nullopt;
}

}  // namespace belay::exir
