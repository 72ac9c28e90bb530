// Properties that hold for every symbolic expression.
#ifndef BELAY_FUZZ_ORACLES_SYMBOLIC_H_
#define BELAY_FUZZ_ORACLES_SYMBOLIC_H_

#include "absl/status/status.h"
#include "exir/symbolic/sym_expr.h"

namespace belay::fuzz {

// Checks three properties: parsing the printed form gives the same expression; values are within
// its range; substituting numbers for its symbols equals evaluation. kInternal, with the
// expression, if one does not hold.
absl::Status CheckSymExpr(const exir::SymExpr& expression);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_SYMBOLIC_H_
