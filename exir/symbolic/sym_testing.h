// For tests of expressions.
#ifndef BELAY_EXIR_SYMBOLIC_SYM_TESTING_H_
#define BELAY_EXIR_SYMBOLIC_SYM_TESTING_H_

#include <string>
#include <string_view>

#include "exir/symbolic/sym_expr.h"
#include "gtest/gtest.h"

namespace belay::exir {

// The expression; a failure of the test and a symbol when the text is none.
inline SymExpr Parse(std::string_view text) {
  const absl::StatusOr<SymExpr> e = ParseSymExpr(text);
  EXPECT_TRUE(e.ok()) << e.status();
  return e.ok() ? *e : SymExpr::Symbol("parse_error");
}

// How the expression is written in its normal form.
inline std::string Text(std::string_view text) { return Parse(text).ToString(); }

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_TESTING_H_
