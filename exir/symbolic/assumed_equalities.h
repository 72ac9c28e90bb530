// Equalities of sizes that can be neither proved nor disproved; shape formulas assume that they
// hold, as torch.export does. They are recorded centrally, so that a formula only uses AssumeEqual
// instead of ==. AssertAssumedEqualities turns them into run-time checks. Source:
// docs/pt2-format.md §10.
#ifndef BELAY_EXIR_SYMBOLIC_ASSUMED_EQUALITIES_H_
#define BELAY_EXIR_SYMBOLIC_ASSUMED_EQUALITIES_H_

#include <utility>
#include <vector>

#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// Records the assumptions of AssumeEqual on this thread during its lifetime; the innermost object
// gets them. Without one they are assumed but not recorded.
class AssumedEqualities {
 public:
  AssumedEqualities();
  ~AssumedEqualities();
  AssumedEqualities(const AssumedEqualities&) = delete;
  AssumedEqualities& operator=(const AssumedEqualities&) = delete;

  // In the order of their assumption, without duplicates.
  const std::vector<std::pair<SymExpr, SymExpr>>& pairs() const { return pairs_; }

 private:
  friend bool AssumeEqual(const SymExpr& a, const SymExpr& b);
  std::vector<std::pair<SymExpr, SymExpr>> pairs_;
  AssumedEqualities* const outer_;
};

// Used by shape formulas for two sizes that must be equal (shape_rules/broadcast.h). False if they
// differ by a nonzero constant for all symbol values. Identical expressions record no assumption.
bool AssumeEqual(const SymExpr& a, const SymExpr& b);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_ASSUMED_EQUALITIES_H_
