// Symbolic expressions: sizes, strides and scalars that are known only at run time.
//
// An expression is a value: immutable, cheap to copy, compared by structure. Construction
// normalizes, so that equal polynomials are equal expressions: sums are flat, sorted and collect
// coefficients, products are expanded over sums, and constants fold (also in the functions below
// when all arguments are numbers). Source of the heads and their meaning: docs/pt2-format.md §10
// (sympy's srepr and torch.utils._sympy.functions).
#ifndef BELAY_EXIR_SYMBOLIC_SYM_EXPR_H_
#define BELAY_EXIR_SYMBOLIC_SYM_EXPR_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay::exir {

// Range of a symbol. Both ends inclusive; kUnboundedAbove means no upper bound is known.
struct SymRange {
  static constexpr int64_t kUnboundedAbove = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kUnboundedBelow = std::numeric_limits<int64_t>::min();
  int64_t min = 0;
  int64_t max = kUnboundedAbove;
  bool operator==(const SymRange&) const = default;
};
using SymRanges = absl::btree_map<std::string, SymRange>;

class SymExpr {
 public:
  enum class Kind : uint8_t {
    kInt,       // an integer
    kFloat,     // a finite or infinite double
    kBool,      // true, false
    kSymbol,    // s77, u0, zuf3
    kAdd,       // arguments summed
    kMul,       // arguments multiplied
    kFunction,  // name(arguments…): FloorDiv, Mod, PythonMod, Max, Min, Pow, Eq, Ne, Lt, Le, Gt,
                // Ge, And, Or, Not, Where, CeilDiv, IntTrueDiv, ToFloat, TruncToInt, …;
                // unknown names are kept and evaluate to nothing
  };

  SymExpr() : SymExpr(int64_t{0}) {}
  SymExpr(int64_t value) : int_(value) {}  // NOLINT: a number is an expression
  SymExpr(int value) : int_(value) {}      // NOLINT
  static SymExpr Float(double value);
  static SymExpr Bool(bool value);
  static SymExpr Symbol(std::string_view name);
  // Normalizes and folds. A known function with a wrong number of arguments becomes an Opaque,
  // which has no value, and so does a Rational that is not a number. Common synonyms map to one
  // name: "Equality" → "Eq", "StrictLessThan" → "Lt". "PythonMod" and "Mod" are both Python's
  // modulo on ints of equal sign, and otherwise stay distinct.
  static SymExpr Function(std::string_view name, std::vector<SymExpr> arguments);

  Kind kind() const;
  // Type of its value as far as the heads determine it. Relations are bools; ToFloat and similar
  // functions are floats, and so are symbols named zf… and zuf…; all others are ints.
  enum class ValueKind : uint8_t { kInt, kFloat, kBool };
  ValueKind value_kind() const;
  std::optional<int64_t> AsInt() const;   // the value, if it is a constant
  std::optional<double> AsFloat() const;  // for kInt and kFloat
  std::optional<bool> AsBool() const;
  std::string_view name() const;                // of kSymbol and kFunction, "" otherwise
  absl::Span<const SymExpr> arguments() const;  // of kAdd, kMul, kFunction

  friend SymExpr operator+(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator-(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator*(const SymExpr& a, const SymExpr& b);
  friend bool operator==(const SymExpr& a, const SymExpr& b);
  // A structural total order, for sorting.
  friend bool operator<(const SymExpr& a, const SymExpr& b);

  // nullopt for unbound symbols, unknown functions, division by zero and overflow.
  std::optional<int64_t> EvaluateInt(
      const std::function<std::optional<int64_t>(std::string_view)>& symbol) const;
  std::optional<double> EvaluateFloat(
      const std::function<std::optional<int64_t>(std::string_view)>& symbol) const;
  std::optional<bool> EvaluateBool(
      const std::function<std::optional<int64_t>(std::string_view)>& symbol) const;
  // Bounds by interval arithmetic, saturating at the SymRange limits. Symbols without an entry have
  // the range [0, unbounded).
  SymRange Range(const SymRanges& ranges) const;
  // Replaces symbols, except those for which `replacement` returns nullopt.
  SymExpr Substitute(
      const std::function<std::optional<SymExpr>(std::string_view)>& replacement) const;
  // Adds the names of its symbols. If `out` is sorted without duplicates, it stays so.
  void CollectSymbols(std::vector<std::string>& out) const;

  // Infix string: "2*s0 + 1", "FloorDiv(s0, 2)", "Eq(s0, 4)", "0.5", "true". ParseSymExpr parses it
  // to an equal expression.
  std::string ToString() const;

 private:
  friend struct SymExprAccess;  // sym_node.h: the files that normalize
  struct Node;
  explicit SymExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  int64_t int_ = 0;  // when node_ is null
  std::shared_ptr<const Node> node_;
};

// Interface of shape formulas to a dimension (runtime/kernel_interface/shape_rules/dims.h).
using SymInt = SymExpr;
inline std::optional<int64_t> KnownInt(const SymExpr& e) { return e.AsInt(); }
SymExpr FloorDiv(const SymExpr& a, const SymExpr& b);
SymExpr SymMax(const SymExpr& a, const SymExpr& b);
SymExpr SymMin(const SymExpr& a, const SymExpr& b);
inline std::string DimToString(const SymExpr& e) { return e.ToString(); }

// Parses both notations: sympy srepr ("Add(Symbol('s0', integer=True), Integer(1))") and infix ("s0
// + 1", "2*s0", "s0//2", "s0**2", comparisons, parentheses, function calls). Accepts untrusted
// input. kInvalidArgument with the position on errors, above a nesting of 200 or a length of 64
// KiB.
absl::StatusOr<SymExpr> ParseSymExpr(std::string_view text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_EXPR_H_
