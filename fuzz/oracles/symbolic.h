// What holds for every symbolic expression.
#ifndef BELAY_FUZZ_ORACLES_SYMBOLIC_H_
#define BELAY_FUZZ_ORACLES_SYMBOLIC_H_

#include "absl/status/status.h"
#include "exir/symbolic/sym_expr.h"

namespace belay::fuzz {

// kInternal, with the expression, unless it is read back as it is printed, its values lie in its
// range, and putting numbers in its symbols' places gives what it evaluates to.
absl::Status CheckSymExpr(const exir::SymExpr& expression);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_SYMBOLIC_H_
