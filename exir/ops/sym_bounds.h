// Order relations between symbolic sizes.
#ifndef BELAY_EXIR_OPS_SYM_BOUNDS_H_
#define BELAY_EXIR_OPS_SYM_BOUNDS_H_

#include <optional>

#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// Returns whether a <= b for all values of the symbols; nullopt if it depends on them. A symbol of
// the inputs ("s77") is at least 2, the assumption under which PyTorch exports; a data-dependent
// symbol ("u0") is at least 0.
std::optional<bool> KnownLessEqual(const SymExpr& a, const SymExpr& b);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_SYM_BOUNDS_H_
