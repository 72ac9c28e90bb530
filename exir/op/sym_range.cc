// SymExpr::Range: interval arithmetic on integers. The interval of a float is the least one of
// integers around it.
#include <algorithm>
#include <cmath>

#include "exir/op/sym_expr.h"
#include "exir/op/sym_node.h"
#include "exir/op/sym_number.h"
#include "exir/op/sym_polynomial.h"

namespace belay::exir {
namespace {

using Kind = SymExpr::Kind;

constexpr int64_t kAbove = SymRange::kUnboundedAbove;
constexpr int64_t kBelow = SymRange::kUnboundedBelow;
constexpr SymRange kEverything = {kBelow, kAbove};
constexpr SymRange kTruthValues = {0, 1};

// Both ends of int64 stand for infinities, and what does not fit becomes one. But no value is at
// least infinite, and none is at most minus that: such ends are numbers that did not fit, or the
// last int64 itself, of which further sums know only that they are as large as the one before it.
SymRange WithFiniteInnerEnds(SymRange r) {
  return {std::min(r.min, kAbove - 1), std::max(r.max, kBelow + 1)};
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
// Rounded down. Precondition: b > 0.
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

// A divisor is not 0, so that [0, …] is [1, …]. False when its sign is open.
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

SymRange PowRange(SymRange base, int64_t exponent) {
  if (exponent < 0) return base.min >= 1 ? SymRange{0, 1} : kEverything;
  const auto power = [exponent](int64_t x) {
    int64_t result = 1;
    // 64 doublings leave int64; 0, 1 and -1 stay where they are, by parity.
    const int64_t steps = exponent <= 64 ? exponent : 64 + (exponent & 1);
    for (int64_t i = 0; i < steps; ++i) result = MultiplyEnds(result, x);
    return result;
  };
  const SymRange ends = {std::min(power(base.min), power(base.max)),
                         std::max(power(base.min), power(base.max))};
  return exponent % 2 == 0 && base.min < 0 && base.max > 0 ? SymRange{0, ends.max} : ends;
}

SymRange NumberRange(const SymNumber& n) {
  if (n.is_int()) return {n.num, n.num};
  const double value = n.AsDouble();
  constexpr double kTop = 9223372036854775808.0;
  const auto to_end = [](double x) {
    return x >= kTop ? kAbove : x <= -kTop ? kBelow : static_cast<int64_t>(x);
  };
  return {to_end(std::floor(value)), to_end(std::ceil(value))};
}

SymRange RelationRange(std::string_view name, SymRange a, SymRange b) {
  const SymRange yes = {1, 1}, no = {0, 0};
  if (name == "Gt" || name == "Ge") {
    std::swap(a, b);
    name = name == "Gt" ? "Lt" : "Le";
  }
  const bool below = a.max < b.min, above = b.max < a.min;
  if (name == "Eq") {
    const bool same =
        a.min == a.max && b.min == b.max && a.min == b.min && a.min != kAbove && a.min != kBelow;
    return below || above ? no : same ? yes : kTruthValues;
  }
  if (name == "Ne") {
    const SymRange eq = RelationRange("Eq", a, b);
    return {1 - eq.max, 1 - eq.min};
  }
  // An infinite end says nothing about what stands there, so only finite ones decide "at most".
  const bool at_most = a.max <= b.min && a.max != kAbove && b.min != kBelow;
  const bool at_least = b.max <= a.min && b.max != kAbove && a.min != kBelow;
  if (name == "Lt") return below ? yes : at_least ? no : kTruthValues;
  return at_most ? yes : above ? no : kTruthValues;
}

bool IsRelation(std::string_view name) {
  for (std::string_view n : {"Eq", "Ne", "Lt", "Le", "Gt", "Ge"}) {
    if (n == name) return true;
  }
  return false;
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
    for (SymRange x : r) {
      x = {x.min > 0 || x.max < 0 ? 1 : 0, x.min == 0 && x.max == 0 ? 0 : 1};
      result = name == "And" ? SymRange{std::min(result.min, x.min), std::min(result.max, x.max)}
                             : SymRange{std::max(result.min, x.min), std::max(result.max, x.max)};
    }
    return result;
  }
  if (r.size() == 1) {
    if (name == "Not")
      return {r[0].min == 0 && r[0].max == 0 ? 1 : 0, r[0].min > 0 || r[0].max < 0 ? 0 : 1};
    if (name == "Abs") {
      const SymRange n = Negate(r[0]);
      return {std::max<int64_t>({r[0].min, n.min, 0}), std::max(r[0].max, n.max)};
    }
    if (name == "OpaqueUnaryFn_sqrt") return {0, std::max<int64_t>(r[0].max, 1)};
    for (std::string_view n :
         {"CeilToInt", "FloorToInt", "RoundToInt", "ToFloat", "TruncToFloat", "TruncToInt"}) {
      if (name == n) return r[0];
    }
  }
  if (r.size() == 2) {
    if (name == kRational) return NumberRange(*NumberOf(e));
    if (name == kPow) {
      const std::optional<int64_t> exponent = e.arguments()[1].AsInt();
      if (exponent.has_value()) return PowRange(r[0], *exponent);
      return r[0].min >= 1 && r[1].min >= 0 ? SymRange{1, kAbove} : kEverything;
    }
    if (name == "FloorDiv") return FloorDivRange(r[0], r[1]);
    if (name == "CeilDiv") return CeilDivRange(r[0], r[1]);
    if (name == "IntTrueDiv" || name == "FloatTrueDiv") {
      return name == "IntTrueDiv" || r[1].min >= 1
                 ? SymRange{FloorDivRange(r[0], r[1]).min, CeilDivRange(r[0], r[1]).max}
                 : kEverything;
    }
    if (name == "PythonMod" || name == "Mod") return ModRange(r[0], r[1], name == "PythonMod");
    if (IsRelation(name)) return RelationRange(name, r[0], r[1]);
    if (name == "LShift" || name == "RShift") {
      if (r[1].min < 0) return kEverything;
      const auto factor = [](int64_t shift) { return shift > 62 ? kAbove : int64_t{1} << shift; };
      const SymRange factors = {factor(r[1].min), factor(r[1].max)};
      return name == "LShift" ? MultiplyRanges(r[0], factors) : FloorDivRange(r[0], factors);
    }
  }
  if (r.size() == 3) {
    if (name == "ModularIndexing") return ModRange(FloorDivRange(r[0], r[1]), r[2], true);
    if (name == "Where") {
      if (r[0].min > 0 || r[0].max < 0) return r[1];
      return r[0].min == 0 && r[0].max == 0 ? r[2] : Hull(r[1], r[2]);
    }
  }
  return kEverything;
}

}  // namespace

SymRange SymExpr::Range(const SymRanges& ranges) const {
  switch (kind()) {
    case Kind::kInt:
      return {int_, int_};
    case Kind::kFloat:
      return NumberRange(*NumberOf(*this));
    case Kind::kBool:
      return *AsBool() ? SymRange{1, 1} : SymRange{0, 0};
    case Kind::kSymbol: {
      const auto it = ranges.find(std::string(name()));
      if (it != ranges.end()) return it->second;
      return value_kind() == ValueKind::kFloat ? kEverything : SymRange{};
    }
    default:
      break;
  }
  std::vector<SymRange> r;
  for (const SymExpr& argument : arguments()) {
    r.push_back(WithFiniteInnerEnds(argument.Range(ranges)));
  }
  if (kind() == Kind::kFunction) return FunctionRange(*this, r);
  SymRange result = kind() == Kind::kAdd ? SymRange{0, 0} : SymRange{1, 1};
  for (const SymRange& x : r) {
    result = WithFiniteInnerEnds(result);
    result = kind() == Kind::kAdd ? AddRanges(result, x) : MultiplyRanges(result, x);
  }
  return result;
}

}  // namespace belay::exir
