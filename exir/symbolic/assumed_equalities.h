// Equalities of sizes that can be neither proved nor disproved, of which shape formulas take for
// granted that they hold: what torch.export does, too. One place records them
// (AssertAssumedEqualities makes checks of them that run at each call), so that a formula needs no
// more than AssumeEqual in the place of ==. Source: docs/pt2-format.md §10.
#ifndef BELAY_EXIR_SYMBOLIC_ASSUMED_EQUALITIES_H_
#define BELAY_EXIR_SYMBOLIC_ASSUMED_EQUALITIES_H_

#include <utility>
#include <vector>

#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// While one lives, what AssumeEqual assumes on this thread goes into the youngest. Without one it is
// assumed all the same.
class AssumedEqualities {
 public:
  AssumedEqualities();
  ~AssumedEqualities();
  AssumedEqualities(const AssumedEqualities&) = delete;
  AssumedEqualities& operator=(const AssumedEqualities&) = delete;

  // In the order in which they were assumed, each once.
  const std::vector<std::pair<SymExpr, SymExpr>>& pairs() const { return pairs_; }

 private:
  friend bool AssumeEqual(const SymExpr& a, const SymExpr& b);
  std::vector<std::pair<SymExpr, SymExpr>> pairs_;
  AssumedEqualities* const outer_;
};

// What shape formulas ask of two sizes that have to be equal (shape_rules/broadcast.h): false when
// they differ by a number other than 0, whatever the symbols are. Where they are the same expression
// there is nothing to assume.
bool AssumeEqual(const SymExpr& a, const SymExpr& b);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_ASSUMED_EQUALITIES_H_
