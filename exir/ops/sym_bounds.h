// What the sizes' expressions tell about their order.
#ifndef BELAY_EXIR_OPS_SYM_BOUNDS_H_
#define BELAY_EXIR_OPS_SYM_BOUNDS_H_

#include <optional>

#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// Whether a <= b for all sizes that the symbols may stand for; nullopt when it depends on them. A
// symbol of the inputs
// ("s77") stands for 2 or more, the assumption under which PyTorch exports; one that data decide
// ("u0") for 0 or more.
std::optional<bool> KnownLessEqual(const SymExpr& a, const SymExpr& b);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_SYM_BOUNDS_H_
