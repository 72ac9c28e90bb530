// Reading and writing elements by position.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

std::vector<Argument> MaskedFill(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const Argument& value = c["value"];
  const Argument filler =
      b.IsTensor(value) ? Cast(b, value, b.dtype(self)) : ScalarTensor(b, value, b.dtype(self));
  return {b.Call("aten.where.self", {c["mask"], filler, self})};
}

// Whole slices at the positions `index` of dimension `dim` replaced by `source`.
Argument PutSlices(OpBuilder& b, const OpCall& c, const Argument& source, bool accumulate) {
  Argument self = c["self"];
  const int64_t rank = b.rank(self);
  const int64_t dim = b.WrapDim(c.Int("dim"), rank);
  if (!b.ok()) return {};
  if (rank == 0) {
    const Argument result =
        b.Call("aten.index_put.default",
               {Reshape(b, self, {1}), Argument(Argument::List{c["index"]}), source, accumulate});
    return Reshape(b, result, std::vector<int64_t>());
  }
  Argument::List indices(dim, Argument());
  indices.push_back(b.rank(c["index"]) == 0 ? Unsqueeze(b, c["index"], 0) : c["index"]);
  return b.Call("aten.index_put.default", {self, Argument(indices), source, accumulate});
}
std::vector<Argument> IndexCopy(OpBuilder& b, const OpCall& c) {
  return {PutSlices(b, c, c["source"], false)};
}
std::vector<Argument> IndexAdd(OpBuilder& b, const OpCall& c) {
  const Argument source = c["alpha"] == Argument(1) ? c["source"] : Mul(b, c["source"], c["alpha"]);
  return {PutSlices(b, c, source, true)};
}
std::vector<Argument> IndexFill(OpBuilder& b, const OpCall& c) {
  const Argument& value = c["value"];
  return {PutSlices(b, c,
                    b.IsTensor(value) ? Cast(b, value, b.dtype(c["self"]))
                                      : ScalarTensor(b, value, b.dtype(c["self"])),
                    false)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.index_add.default", IndexAdd},      {"aten.index_copy.default", IndexCopy},
    {"aten.index_fill.int_Scalar", IndexFill}, {"aten.index_fill.int_Tensor", IndexFill},
    {"aten.masked_fill.Scalar", MaskedFill},   {"aten.masked_fill.Tensor", MaskedFill},
};

}  // namespace

absl::Span<const Decomposition> IndexingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
