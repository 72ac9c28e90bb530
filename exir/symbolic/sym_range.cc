// SymExpr::Range: interval arithmetic, on integers if all numbers are integers, otherwise on
// doubles with outward rounding. The range of a float is the smallest enclosing interval of
// integers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_node.h"
#include "exir/symbolic/sym_number.h"
#include "exir/symbolic/sym_polynomial.h"

namespace belay::exir {
namespace {

using Kind = SymExpr::Kind;
using ValueKind = SymExpr::ValueKind;

constexpr int64_t kAbove = SymRange::kUnboundedAbove;
constexpr int64_t kBelow = SymRange::kUnboundedBelow;
constexpr SymRange kEverything = {kBelow, kAbove};
constexpr SymRange kTruthValues = {0, 1};

// INT64_MIN and INT64_MAX stand for infinities; results that do not fit become one. But no value is
// at least +infinity or at most -infinity. Such inner ends are numbers that did not fit, or
// INT64_MAX itself; further sums only know that they are as large as the next smaller number.
// Negating a finite end gives a finite end.
SymRange WithFiniteInnerEnds(SymRange r) {
  return {std::min(r.min, kAbove - 1), std::max(r.max, -(kAbove - 1))};
}
int64_t Saturate(__int128 value) {
  return value >= kAbove ? kAbove : value <= kBelow ? kBelow : static_cast<int64_t>(value);
}
int64_t AddEnds(int64_t a, int64_t b) {
  if (a == kAbove || a == kBelow) return a;
  if (b == kAbove || b == kBelow) return b;
  return Saturate(static_cast<__int128>(a) + b);
}
int64_t MultiplyEnds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kAbove || a == kBelow || b == kAbove || b == kBelow)
    return (a < 0) == (b < 0) ? kAbove : kBelow;
  return Saturate(static_cast<__int128>(a) * b);
}
// Floor division. Precondition: b > 0.
int64_t DivideEnds(int64_t a, int64_t b) {
  if (a == kAbove || a == kBelow) return a;
  if (b == kAbove) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}
int64_t NegateEnd(int64_t a) { return a == kAbove ? kBelow : a == kBelow ? kAbove : -a; }

SymRange Negate(SymRange r) { return {NegateEnd(r.max), NegateEnd(r.min)}; }
SymRange AddRanges(SymRange a, SymRange b) {
  return {AddEnds(a.min, b.min), AddEnds(a.max, b.max)};
}
SymRange MultiplyRanges(SymRange a, SymRange b) {
  const int64_t ends[] = {MultiplyEnds(a.min, b.min), MultiplyEnds(a.min, b.max),
                          MultiplyEnds(a.max, b.min), MultiplyEnds(a.max, b.max)};
  return {*std::min_element(std::begin(ends), std::end(ends)),
          *std::max_element(std::begin(ends), std::end(ends))};
}
SymRange Hull(SymRange a, SymRange b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

// A divisor is not 0, so [0, …] becomes [1, …]. Returns false if its sign is unknown.
bool DivisorIsPositive(SymRange& d, bool& negative) {
  if (d.min == 0) d.min = 1;
  if (d.max == 0) d.max = -1;
  negative = d.max < 0;
  return d.min > 0 && d.max >= d.min;
}

SymRange FloorDivRange(SymRange a, SymRange d) {
  bool negative = false;
  if (!DivisorIsPositive(d, negative)) {
    if (!negative || d.min > d.max) return kEverything;
    return FloorDivRange(Negate(a), Negate(d));
  }
  return {DivideEnds(a.min, a.min >= 0 ? d.max : d.min),
          DivideEnds(a.max, a.max >= 0 ? d.min : d.max)};
}
SymRange CeilDivRange(SymRange a, SymRange d) { return Negate(FloorDivRange(Negate(a), d)); }

SymRange ModRange(SymRange a, SymRange d, bool python) {
  bool negative = false;
  if (!DivisorIsPositive(d, negative)) return kEverything;
  if (a.min >= 0 && a.max < d.min) return a;
  const int64_t largest = AddEnds(d.max, -1);
  if (a.min >= 0) return {0, std::min(a.max, largest)};
  return {python ? 0 : NegateEnd(largest), largest};
}

// Precondition: exponent > 0.
SymRange PowRange(SymRange base, int64_t exponent) {
  const auto power = [exponent](int64_t x) {
    int64_t result = 1;
    // 64 doublings exceed int64; 0, 1 and -1 are periodic with the parity.
    const int64_t steps = exponent <= 64 ? exponent : 64 + (exponent & 1);
    for (int64_t i = 0; i < steps; ++i) result = MultiplyEnds(result, x);
    return result;
  };
  const SymRange ends = {std::min(power(base.min), power(base.max)),
                         std::max(power(base.min), power(base.max))};
  return exponent % 2 == 0 && base.min < 0 && base.max > 0 ? SymRange{0, ends.max} : ends;
}

// x & y and x | y.
SymRange BitwiseRange(bool is_and, SymRange a, SymRange b) {
  SymRange result = kEverything;
  const auto is_finite = [](SymRange r) { return r.min != kBelow && r.max != kAbove; };
  if (is_finite(a) && is_finite(b)) {
    // All numbers with this many bits, in two's complement.
    uint64_t bits = 0;
    for (const int64_t end : {a.min, a.max, b.min, b.max})
      bits |= static_cast<uint64_t>(end < 0 ? ~end : end);
    const int64_t most = static_cast<int64_t>(~uint64_t{0} >> 1 >> (std::countl_zero(bits) - 1));
    result = {-most - 1, most};
  }
  if (is_and) {
    for (const SymRange& r : {a, b}) {
      if (r.min >= 0) result = {0, std::min(result.max, r.max)};
    }
  } else if (a.min >= 0 && b.min >= 0) {
    result.min = std::max(a.min, b.min);
  }
  return result;
}

// Outer infinite ends are unknown and decide nothing. Inner ends are finite (WithFiniteInnerEnds),
// so that two compared ends are never both infinite.
SymRange RelationRange(std::string_view name, SymRange a, SymRange b) {
  const SymRange yes = {1, 1}, no = {0, 0};
  if (name == "Gt" || name == "Ge") {
    std::swap(a, b);
    name = name == "Gt" ? "Lt" : "Le";
  }
  const bool below = a.max < b.min, above = b.max < a.min;
  if (name == "Eq") {
    const bool same = a.min == a.max && b.min == b.max && a.min == b.min;
    return below || above ? no : same ? yes : kTruthValues;
  }
  if (name == "Ne") {
    const SymRange eq = RelationRange("Eq", a, b);
    return {1 - eq.max, 1 - eq.min};
  }
  const bool at_most = a.max <= b.min, at_least = b.max <= a.min;
  if (name == "Lt") return below ? yes : at_least ? no : kTruthValues;
  return at_most ? yes : above ? no : kTruthValues;
}

bool IsRelation(std::string_view name) {
  for (std::string_view n : {"Eq", "Ne", "Lt", "Le", "Gt", "Ge"}) {
    if (n == name) return true;
  }
  return false;
}

// Range of `x != 0`.
SymRange TruthRange(SymRange r) {
  if (r.min > 0 || r.max < 0) return {1, 1};
  return r.min == 0 && r.max == 0 ? SymRange{0, 0} : kTruthValues;
}

SymRange FunctionRange(const SymExpr& e, const std::vector<SymRange>& r) {
  const std::string_view name = e.name();
  if (name == "Max" || name == "Min") {
    SymRange result = r[0];
    for (const SymRange& x : r) {
      result = name == "Max" ? SymRange{std::max(result.min, x.min), std::max(result.max, x.max)}
                             : SymRange{std::min(result.min, x.min), std::min(result.max, x.max)};
    }
    return result;
  }
  if (name == "And" || name == "Or") {
    SymRange result = name == "And" ? SymRange{1, 1} : SymRange{0, 0};
    for (const SymRange& number : r) {
      const SymRange x = TruthRange(number);
      result = name == "And" ? SymRange{std::min(result.min, x.min), std::min(result.max, x.max)}
                             : SymRange{std::max(result.min, x.min), std::max(result.max, x.max)};
    }
    return result;
  }
  if (name == "Not") {
    const SymRange truth = TruthRange(r[0]);
    return {1 - truth.max, 1 - truth.min};
  }
  if (name == "Abs") {
    const SymRange n = Negate(r[0]);
    return {std::max<int64_t>({r[0].min, n.min, 0}), std::max(r[0].max, n.max)};
  }
  for (std::string_view n : {"CeilToInt", "FloorToInt", "RoundToInt", "TruncToInt"}) {
    if (name == n) return r[0];
  }
  if (name == kPow) {
    // With a negative exponent the power is a fraction (RealFunction).
    const std::optional<int64_t> exponent = e.arguments()[1].AsInt();
    if (exponent.has_value()) return PowRange(r[0], *exponent);
    return r[0].min >= 1 ? SymRange{1, kAbove} : kEverything;
  }
  if (name == kFloorDiv) return FloorDivRange(r[0], r[1]);
  if (name == "CeilDiv") return CeilDivRange(r[0], r[1]);
  if (name == "PythonMod" || name == "Mod") return ModRange(r[0], r[1], name == "PythonMod");
  if (name == "BitwiseFn_bitwise_and" || name == "BitwiseFn_bitwise_or")
    return BitwiseRange(name == "BitwiseFn_bitwise_and", r[0], r[1]);
  if (IsRelation(name)) return RelationRange(name, r[0], r[1]);
  if (name == "LShift" || name == "RShift") {
    if (r[1].min < 0) return kEverything;
    const auto factor = [](int64_t shift) { return shift > 62 ? kAbove : int64_t{1} << shift; };
    const SymRange factors = {factor(r[1].min), factor(r[1].max)};
    return name == "LShift" ? MultiplyRanges(r[0], factors) : FloorDivRange(r[0], factors);
  }
  if (name == "ModularIndexing") return ModRange(FloorDivRange(r[0], r[1]), r[2], true);
  if (name == "Where") {
    const SymRange truth = TruthRange(r[0]);
    return truth.min == 1 ? r[1] : truth.max == 0 ? r[2] : Hull(r[1], r[2]);
  }
  return kEverything;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An interval of doubles.
struct Reals {
  double min = -kInfinity;
  double max = kInfinity;
};
constexpr Reals kAllReals = {};

double Below(double x, bool exact) { return exact ? x : std::nextafter(x, -kInfinity); }
double Above(double x, bool exact) { return exact ? x : std::nextafter(x, kInfinity); }
Reals HullOf(std::initializer_list<Reals> intervals) {
  Reals hull = {kInfinity, -kInfinity};
  for (const Reals& r : intervals) {
    if (std::isnan(r.min)) return kAllReals;  // then the other end is NaN, too
    hull = {std::min(hull.min, r.min), std::max(hull.max, r.max)};
  }
  return hull;
}
Reals Around(double x, bool exact) { return {Below(x, exact), Above(x, exact)}; }

Reals AddReals(Reals a, Reals b) {
  // The sum is exact if subtracting either operand gives the other one.
  const auto end = [](double x, double y) {
    const double sum = x + y;
    return Around(sum, std::isinf(x) || std::isinf(y) || (sum - x == y && sum - y == x));
  };
  return {HullOf({end(a.min, b.min)}).min, HullOf({end(a.max, b.max)}).max};
}
Reals MultiplyReals(Reals a, Reals b) {
  const auto end = [](double x, double y) {
    if (x == 0 || y == 0) return Reals{0, 0};  // also 0 times infinity
    const double product = x * y;
    if (std::isinf(product))
      return std::isinf(x) || std::isinf(y) ? Reals{product, product} : Around(product, false);
    return Around(product, std::abs(product) > 0x1p-900 && std::fma(x, y, -product) == 0);
  };
  return HullOf({end(a.min, b.min), end(a.min, b.max), end(a.max, b.min), end(a.max, b.max)});
}
// Returns everything if the divisor may be 0.
Reals DivideReals(Reals a, Reals b) {
  if (b.min <= 0 && b.max >= 0) return kAllReals;
  const auto end = [](double x, double y) {
    if (x == 0 || std::isinf(y)) return Reals{0, 0};
    const double quotient = x / y;
    if (std::isinf(quotient))
      return std::isinf(x) ? Reals{quotient, quotient} : Around(quotient, false);
    return Around(quotient, std::abs(quotient) > 0x1p-900 && std::abs(x) > 0x1p-900 &&
                                std::fma(quotient, y, -x) == 0);
  };
  return HullOf({end(a.min, b.min), end(a.min, b.max), end(a.max, b.min), end(a.max, b.max)});
}
// The error of std::pow is less than one ulp; sufficiently small integer results are exact.
Reals PowReals(Reals base, Reals exponent) {
  const auto end = [](double x, double y) {
    const double power = std::pow(x, y);
    const bool exact =
        x == 0 || x == 1 || y == 0 || std::isinf(x) || std::isinf(y) ||
        (x == std::trunc(x) && y == std::trunc(y) && y > 0 && std::abs(power) < 0x1p53);
    return Around(power, exact);
  };
  if (base.min >= 0 && (base.min > 0 || exponent.min >= 0)) {  // monotonic in each
    return HullOf({end(base.min, exponent.min), end(base.min, exponent.max),
                   end(base.max, exponent.min), end(base.max, exponent.max)});
  }
  if (base.min >= 0) return {0, kInfinity};
  // Negative bases have only integer powers.
  const double y = exponent.min;
  if (y != exponent.max || y < 0 || y != std::trunc(y) || std::isinf(y)) return kAllReals;
  const Reals ends = HullOf({end(base.min, y), end(base.max, y)});
  return std::fmod(y, 2) == 0 && base.max > 0 ? Reals{0, ends.max} : ends;
}
Reals ModReals(Reals a, Reals d, bool python) {
  if (d.max < 0 && python) {
    const Reals r = ModReals({-a.max, -a.min}, {-d.max, -d.min}, true);
    return {-r.max, -r.min};
  }
  if (d.min <= 0) return kAllReals;
  if (a.min >= 0) return {0, std::min(a.max, d.max)};
  return {python ? 0 : -d.max, d.max};
}

SymRange IntegersAround(Reals r) {
  constexpr double kTop = 9223372036854775808.0;
  const auto to_end = [](double x) {
    return x >= kTop ? kAbove : x <= -kTop ? kBelow : static_cast<int64_t>(x);
  };
  return {to_end(std::floor(r.min)), to_end(std::ceil(r.max))};
}
Reals RealsOf(SymRange r) {
  constexpr int64_t kExact = int64_t{1} << 53;
  const auto end = [](int64_t x) {
    return Around(static_cast<double>(x), x >= -kExact && x <= kExact);
  };
  return {r.min == kBelow ? -kInfinity : end(r.min).min,
          r.max == kAbove ? kInfinity : end(r.max).max};
}

// Known bounds of an expression's value; each interval follows from the other.
struct Bounds {
  explicit Bounds(SymRange r) : integers(r), reals(RealsOf(WithFiniteInnerEnds(r))) {}
  explicit Bounds(Reals r) : integers(IntegersAround(r)), reals(r), integral(false) {}
  SymRange integers;
  Reals reals;
  bool integral = true;   // neither float nor fraction
  bool whole = integral;  // without a fractional part, also as a float
};

// Bounds of functions that return floats, and of others on floats. nullopt: an integer function, or
// no better bound than from the integers around its arguments.
std::optional<Reals> RealFunction(std::string_view name, const std::vector<Bounds>& x) {
  if (name == "IntTrueDiv" || name == "FloatTrueDiv") {
    Reals divisor = x[1].reals;
    if (x[1].whole) {  // nonzero
      if (divisor.min == 0) divisor.min = 1;
      if (divisor.max == 0) divisor.max = -1;
    }
    return divisor.min > divisor.max ? kAllReals : DivideReals(x[0].reals, divisor);
  }
  if (name == "FloatPow") return PowReals(x[0].reals, x[1].reals);
  if (name == "ToFloat") return x[0].reals;
  if (name == "TruncToFloat") return Reals{std::trunc(x[0].reals.min), std::trunc(x[0].reals.max)};
  if (name == "OpaqueUnaryFn_sqrt")
    return PowReals({std::max(x[0].reals.min, 0.0), std::max(x[0].reals.max, 0.0)}, {0.5, 0.5});
  if (name == "RoundDecimal" && x[1].reals.min >= 0) return AddReals(x[0].reals, {-0.5, 0.5});
  // Also a negative power of an integer.
  if (name == kPow && x[1].reals.min < 0) return PowReals(x[0].reals, x[1].reals);
  if (std::all_of(x.begin(), x.end(), [](const Bounds& b) { return b.integral; })) {
    return std::nullopt;
  }
  if (name == "Max" || name == "Min") {
    Reals result = x[0].reals;
    for (const Bounds& b : x) {
      const Reals& r = b.reals;
      result = name == "Max" ? Reals{std::max(result.min, r.min), std::max(result.max, r.max)}
                             : Reals{std::min(result.min, r.min), std::min(result.max, r.max)};
    }
    return result;
  }
  if (name == "Abs") {
    const Reals& r = x[0].reals;
    return Reals{std::max({r.min, -r.max, 0.0}), std::max(r.max, -r.min)};
  }
  if (name == kFloorDiv) {
    const Reals quotient = DivideReals(x[0].reals, x[1].reals);
    return Reals{std::floor(quotient.min), std::floor(quotient.max)};
  }
  if (name == "PythonMod" || name == "Mod")
    return ModReals(x[0].reals, x[1].reals, name == "PythonMod");
  if (name == kPow) return PowReals(x[0].reals, x[1].reals);
  if (name == "Where") {
    const SymRange truth = TruthRange(x[0].integers);
    if (truth.min == 1) return x[1].reals;
    if (truth.max == 0) return x[2].reals;
    return HullOf({x[1].reals, x[2].reals});
  }
  return std::nullopt;
}

// Bounds of rounding a float to an integer. nullopt for other functions.
std::optional<SymRange> RoundingRange(std::string_view name, const std::vector<Bounds>& x) {
  if (x.size() != 1 || x[0].integral) return std::nullopt;
  double (*round)(double) = nullptr;
  if (name == "CeilToInt") round = [](double v) { return std::ceil(v); };
  if (name == "FloorToInt") round = [](double v) { return std::floor(v); };
  if (name == "RoundToInt") round = [](double v) { return std::nearbyint(v); };
  if (name == "TruncToInt") round = [](double v) { return std::trunc(v); };
  if (round == nullptr) return std::nullopt;
  return IntegersAround({round(x[0].reals.min), round(x[0].reals.max)});
}

Bounds BoundsOf(const SymExpr& e, const SymRanges& ranges) {
  switch (e.kind()) {
    case Kind::kInt:
      return Bounds(SymRange{*e.AsInt(), *e.AsInt()});
    case Kind::kFloat:
      return Bounds(Reals{*e.AsFloat(), *e.AsFloat()});
    case Kind::kBool:
      return Bounds(*e.AsBool() ? SymRange{1, 1} : SymRange{0, 0});
    case Kind::kSymbol: {
      const auto it = ranges.find(std::string(e.name()));
      const bool is_float = e.value_kind() == ValueKind::kFloat;
      const SymRange range = it != ranges.end() ? it->second : is_float ? kEverything : SymRange{};
      return is_float ? Bounds(RealsOf(range)) : Bounds(range);
    }
    default:
      break;
  }
  if (IsFunction(e, kRational)) {
    const SymNumber n = *NumberOf(e);
    return Bounds(DivideReals(RealsOf({n.num, n.num}), RealsOf({n.den, n.den})));
  }
  std::vector<Bounds> x;
  std::vector<SymRange> r;
  bool integral = true;
  for (const SymExpr& argument : e.arguments()) {
    x.push_back(BoundsOf(argument, ranges));
    r.push_back(WithFiniteInnerEnds(x.back().integers));
    integral = integral && x.back().integral;
  }
  if (e.kind() == Kind::kFunction) {
    if (const std::optional<Reals> reals = RealFunction(e.name(), x)) {
      Bounds bounds(*reals);
      bounds.whole = e.name() == "ToFloat" && x[0].whole;
      return bounds;
    }
    if (const std::optional<SymRange> rounded = RoundingRange(e.name(), x)) return Bounds(*rounded);
    const SymRange range = FunctionRange(e, r);
    return e.value_kind() == ValueKind::kFloat ? Bounds(RealsOf(range)) : Bounds(range);
  }
  const bool sum = e.kind() == Kind::kAdd;
  if (!integral) {
    Reals result = sum ? Reals{0, 0} : Reals{1, 1};
    for (const Bounds& b : x)
      result = sum ? AddReals(result, b.reals) : MultiplyReals(result, b.reals);
    return Bounds(result);
  }
  SymRange result = sum ? SymRange{0, 0} : SymRange{1, 1};
  for (const SymRange& range : r) {
    result = WithFiniteInnerEnds(result);
    result = sum ? AddRanges(result, range) : MultiplyRanges(result, range);
  }
  return Bounds(result);
}

}  // namespace

SymRange SymExpr::Range(const SymRanges& ranges) const { return BoundsOf(*this, ranges).integers; }

}  // namespace belay::exir
