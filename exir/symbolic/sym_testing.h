// Helpers for tests of expressions.
#ifndef BELAY_EXIR_SYMBOLIC_SYM_TESTING_H_
#define BELAY_EXIR_SYMBOLIC_SYM_TESTING_H_

#include <string>
#include <string_view>

#include "exir/symbolic/sym_expr.h"
#include "gtest/gtest.h"

namespace belay::exir {

// Parses the expression. If the text is invalid, fails the test and returns a symbol.
inline SymExpr Parse(std::string_view text) {
  const absl::StatusOr<SymExpr> e = ParseSymExpr(text);
  EXPECT_TRUE(e.ok()) << e.status();
  return e.ok() ? *e : SymExpr::Symbol("parse_error");
}

// String of the expression in normal form.
inline std::string Text(std::string_view text) { return Parse(text).ToString(); }

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_TESTING_H_
