// Folds over dimensions.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

std::vector<Argument> SumDefault(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> all;
  return {b.Call("aten.sum.dim_IntList", {c["self"], all}, {{"dtype", c["dtype"]}})};
}

std::vector<Argument> Diff(OpBuilder& b, const OpCall& c) {
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(c["self"]));
  std::vector<Argument> parts;
  if (!c.IsNone("prepend")) parts.push_back(c["prepend"]);
  parts.push_back(c["self"]);
  if (!c.IsNone("append")) parts.push_back(c["append"]);
  Argument x = parts.size() == 1 ? parts[0] : Cat(b, parts, dim);
  const int64_t n = c.Int("n");
  if (n > 1024) b.Invalid(absl::StrCat("diff: n is ", n));
  if (n == 0) return {Clone(b, x)};
  for (int64_t i = 0; i < n && b.ok(); ++i) {
    const SymInt length = b.size(x, dim);
    const Argument later = Slice(b, x, dim, 1, length);
    const Argument earlier = Slice(b, x, dim, 0, length - SymInt(1));
    x = b.Call(b.dtype(x) == DType::kBool ? "aten.logical_xor.default" : "aten.sub.Tensor",
               {later, earlier});
  }
  return {x};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.diff.default", Diff},
    {"aten.sum.default", SumDefault},
};

}  // namespace

absl::Span<const Decomposition> ReductionDecompositions() { return kDecompositions; }

}  // namespace belay::exir
