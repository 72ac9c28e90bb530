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

std::vector<Argument> Item(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten._local_scalar_dense.default", {c["self"]})};
}

// gather, the operands broadcast to each other in all dimensions but one.
std::vector<Argument> TakeAlongDim(OpBuilder& b, const OpCall& c) {
  Argument self = c["self"], indices = c["indices"];
  if (c.IsNone("dim")) {
    return {b.Call("aten.gather.default", {Reshape(b, self, {-1}), 0, Reshape(b, indices, {-1})})};
  }
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(self));
  if (b.rank(self) != b.rank(indices)) {
    b.Invalid("take_along_dim: expected indices of the input's rank");
  }
  if (!b.ok()) return {};
  std::vector<SymInt> to_self = b.sizes(self), to_indices = b.sizes(indices);
  for (size_t d = 0; d < to_self.size(); ++d) {
    if (static_cast<int64_t>(d) == dim) continue;
    const SymInt size = to_self[d] == SymInt(1) ? to_indices[d] : to_self[d];
    to_self[d] = to_indices[d] = size;
  }
  if (b.sizes(self) != to_self) self = Expand(b, self, to_self);
  if (b.sizes(indices) != to_indices) indices = Expand(b, indices, to_indices);
  return {b.Call("aten.gather.default", {self, dim, indices})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.index_add.default", IndexAdd},
    {"aten.index_copy.default", IndexCopy},
    {"aten.index_fill.int_Scalar", IndexFill},
    {"aten.index_fill.int_Tensor", IndexFill},
    {"aten.item.default", Item},
    {"aten.masked_fill.Scalar", MaskedFill},
    {"aten.masked_fill.Tensor", MaskedFill},
    {"aten.take_along_dim.default", TakeAlongDim},
};

}  // namespace

absl::Span<const Decomposition> IndexingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
