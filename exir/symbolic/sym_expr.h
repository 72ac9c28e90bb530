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

// What a symbol may be. Both ends inclusive; kUnboundedAbove means no upper bound is known.
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
  // Normalizes and folds. A known function of more or fewer arguments than it takes is an Opaque,
  // which evaluates to nothing, and so is a Rational that is no number. The usual synonyms map to one
  // name: "Equality" → "Eq", "StrictLessThan" → "Lt"; "PythonMod" and "Mod" are both Python's modulo
  // on ints of equal sign and stay distinct otherwise.
  static SymExpr Function(std::string_view name, std::vector<SymExpr> arguments);

  Kind kind() const;
  // What it evaluates to, as far as its heads tell: relations are bools, ToFloat and the like
  // floats, symbols named zf… and zuf… too, the rest ints.
  enum class ValueKind : uint8_t { kInt, kFloat, kBool };
  ValueKind value_kind() const;
  std::optional<int64_t> AsInt() const;   // the number, if it is one
  std::optional<double> AsFloat() const;  // of kInt and kFloat
  std::optional<bool> AsBool() const;
  std::string_view name() const;                // of kSymbol and kFunction, "" otherwise
  absl::Span<const SymExpr> arguments() const;  // of kAdd, kMul, kFunction

  friend SymExpr operator+(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator-(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator*(const SymExpr& a, const SymExpr& b);
  friend bool operator==(const SymExpr& a, const SymExpr& b);
  // A total order by structure, for sorting.
  friend bool operator<(const SymExpr& a, const SymExpr& b);

  // nullopt when a symbol is unbound, a function unknown, a division by zero or an overflow occurs.
  std::optional<int64_t> EvaluateInt(
      const std::function<std::optional<int64_t>(std::string_view)>& symbol) const;
  std::optional<double> EvaluateFloat(
      const std::function<std::optional<int64_t>(std::string_view)>& symbol) const;
  std::optional<bool> EvaluateBool(
      const std::function<std::optional<int64_t>(std::string_view)>& symbol) const;
  // Bounds by interval arithmetic, saturating at the SymRange limits. A symbol without an entry is
  // [0, unbounded).
  SymRange Range(const SymRanges& ranges) const;
  // Replaces symbols; those for which `replacement` returns nullopt stay.
  SymExpr Substitute(
      const std::function<std::optional<SymExpr>(std::string_view)>& replacement) const;
  // Adds the names of the symbols in it, sorted and without repetition when the result is.
  void CollectSymbols(std::vector<std::string>& out) const;

  // Infix text: "2*s0 + 1", "FloorDiv(s0, 2)", "Eq(s0, 4)", "0.5", "true". ParseSymExpr reads it
  // back to an equal expression.
  std::string ToString() const;

 private:
  friend struct SymExprAccess;  // sym_node.h: the files that normalize
  struct Node;
  explicit SymExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  int64_t int_ = 0;  // when node_ is null
  std::shared_ptr<const Node> node_;
};

// What shape formulas ask of a dimension (runtime/kernel/shape_rules/dims.h).
using SymInt = SymExpr;
inline std::optional<int64_t> KnownInt(const SymExpr& e) { return e.AsInt(); }
SymExpr FloorDiv(const SymExpr& a, const SymExpr& b);
SymExpr SymMax(const SymExpr& a, const SymExpr& b);
SymExpr SymMin(const SymExpr& a, const SymExpr& b);
inline std::string DimToString(const SymExpr& e) { return e.ToString(); }

// One tolerant parser for both spellings: sympy srepr ("Add(Symbol('s0', integer=True),
// Integer(1))") and infix ("s0 + 1", "2*s0", "s0//2", "s0**2", comparisons, parentheses, function
// calls). Untrusted input: nesting at most 200, length at most 64 KiB, kInvalidArgument with the
// position otherwise.
absl::StatusOr<SymExpr> ParseSymExpr(std::string_view text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_EXPR_H_
