// Private to the implementation of SymExpr: expression nodes.
#ifndef BELAY_EXIR_SYMBOLIC_SYM_NODE_H_
#define BELAY_EXIR_SYMBOLIC_SYM_NODE_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// Bounds recursion to less than 256 KiB of stack, also in unoptimized builds (docs/hardening.md
// §6.8).
inline constexpr int kMaxSymDepth = 100;
inline constexpr size_t kMaxSymNodes = 8192;
inline constexpr size_t kMaxSymText = size_t{64} << 10;  // bytes of parsed and printed strings
inline constexpr size_t kMaxSymNumberText = 24;          // bytes: "-1.7976931348623157e+308"
inline constexpr std::string_view kOpaque = "Opaque";
inline constexpr std::string_view kRational = "Rational";
inline constexpr std::string_view kPow = "Pow";
inline constexpr std::string_view kFloorDiv = "FloorDiv";

// Immutable after construction.
struct SymExpr::Node {
  Kind kind = Kind::kFloat;
  ValueKind value_kind = ValueKind::kInt;
  bool boolean = false;
  int depth = 1;
  size_t nodes = 1;                 // tree size
  size_t text = kMaxSymNumberText;  // upper bound of the bytes of ToString()
  double number = 0;
  std::string name;
  std::vector<SymExpr> arguments;
};

// Creates nodes without normalizing.
struct SymExprAccess {
  using Kind = SymExpr::Kind;
  // Returns an Opaque if the node would exceed the limits.
  static SymExpr Make(Kind kind, std::string_view name, std::vector<SymExpr> arguments);
  static SymExpr MakeOpaque();
  static SymExpr MakeFloat(double value);
  static SymExpr MakeBool(bool value);
  static SymExpr MakeSymbol(std::string_view name);
  // A structural total order; Opaques are ordered by identity, which differs from run to run.
  static int Compare(const SymExpr& a, const SymExpr& b) { return Compare(a, b, true); }
  // Same, except that all Opaques are equal. A stable sort with it prints the same order in every
  // run.
  static int CompareForms(const SymExpr& a, const SymExpr& b) { return Compare(a, b, false); }
  static int Compare(const SymExpr& a, const SymExpr& b, bool by_identity);
};

// Stable sort; `compare` returns less than 0 if its first argument comes first. Same as
// std::stable_sort, which uses a deprecated function of <memory>.
template <class Container, class Compare>
void SortStably(Container& items, const Compare& compare) {
  const auto precedes = [&](const auto& a, const auto& b) { return compare(a, b) < 0; };
  if (std::is_sorted(items.begin(), items.end(), precedes)) return;
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int c = compare(items[a], items[b]);
    return c != 0 ? c < 0 : a < b;
  });
  Container sorted;
  sorted.reserve(items.size());
  for (size_t i : order) sorted.push_back(std::move(items[i]));
  items = std::move(sorted);
}

// Canonical name of a function with synonyms.
std::string_view CanonicalSymName(std::string_view name);

inline bool IsFunction(const SymExpr& e, std::string_view name) {
  return e.kind() == SymExpr::Kind::kFunction && e.name() == name;
}
inline bool IsOpaque(const SymExpr& e) { return IsFunction(e, kOpaque); }

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_NODE_H_
