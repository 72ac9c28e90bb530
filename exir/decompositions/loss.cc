// Losses.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

// none, mean, sum
Argument Reduce(OpBuilder& b, const Argument& loss, int64_t reduction) {
  if (reduction == 1) return MeanAll(b, loss);
  if (reduction == 2) return SumAll(b, loss);
  return loss;
}

std::vector<Argument> MseLoss(OpBuilder& b, const OpCall& c) {
  return {Reduce(b, Pow(b, Sub(b, c["self"], c["target"]), 2), c.Int("reduction"))};
}
std::vector<Argument> L1Loss(OpBuilder& b, const OpCall& c) {
  return {Reduce(b, Unary(b, "abs", Sub(b, c["self"], c["target"])), c.Int("reduction"))};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.l1_loss.default", L1Loss},
    {"aten.mse_loss.default", MseLoss},
};

}  // namespace

absl::Span<const Decomposition> LossDecompositions() { return kDecompositions; }

}  // namespace belay::exir
