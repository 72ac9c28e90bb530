// Private to the implementation of SymExpr: what an expression is made of.
#ifndef BELAY_EXIR_OP_SYM_NODE_H_
#define BELAY_EXIR_OP_SYM_NODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "exir/op/sym_expr.h"

namespace belay::exir {

inline constexpr int kMaxSymDepth = 200;
inline constexpr size_t kMaxSymNodes = 8192;
inline constexpr std::string_view kOpaque = "Opaque";
inline constexpr std::string_view kRational = "Rational";
inline constexpr std::string_view kPow = "Pow";

// Immutable once made.
struct SymExpr::Node {
  Kind kind = Kind::kFloat;
  ValueKind value_kind = ValueKind::kInt;
  bool boolean = false;
  int depth = 1;
  size_t nodes = 1;  // as a tree
  double number = 0;
  std::string name;
  std::vector<SymExpr> arguments;
};

// Makes nodes as they are given, without normalising.
struct SymExprAccess {
  using Kind = SymExpr::Kind;
  // An Opaque when the node would exceed the limits.
  static SymExpr Make(Kind kind, std::string_view name, std::vector<SymExpr> arguments);
  static SymExpr MakeOpaque();
  static SymExpr MakeFloat(double value);
  static SymExpr MakeBool(bool value);
  static SymExpr MakeSymbol(std::string_view name);
  // A total order by structure; Opaques by identity.
  static int Compare(const SymExpr& a, const SymExpr& b);
};

inline bool IsFunction(const SymExpr& e, std::string_view name) {
  return e.kind() == SymExpr::Kind::kFunction && e.name() == name;
}
inline bool IsOpaque(const SymExpr& e) { return IsFunction(e, kOpaque); }

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_SYM_NODE_H_
