// Reading and writing elements by position.

#include <cstdint>
#include <optional>
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

// --- Counted through all dimensions ---

std::vector<Argument> Take(OpBuilder& b, const OpCall& c) {
  const Argument flat = Reshape(b, c["self"], {-1});
  return {b.Call("aten.index.Tensor", {flat, Argument(Argument::List{c["index"]})})};
}
std::vector<Argument> Put(OpBuilder& b, const OpCall& c) {
  const Argument &self = c["self"], &index = c["index"];
  const Argument source = Reshape(b, c["source"], b.sizes(index));
  const Argument result =
      b.Call("aten.index_put.default",
             {Reshape(b, self, {-1}), Argument(Argument::List{index}), source, c["accumulate"]});
  return {Reshape(b, result, b.sizes(self))};
}

// gather with broadcast dimensions.
std::vector<Argument> TakeAlongDim(OpBuilder& b, const OpCall& c) {
  Argument self = c["self"], indices = c["indices"];
  if (c.IsNone("dim")) {
    return {b.Call("aten.gather.default", {Reshape(b, self, {-1}), 0, Reshape(b, indices, {-1})})};
  }
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(self));
  std::vector<SymInt> from = b.sizes(self), to = b.sizes(indices);
  if (from.size() != to.size()) b.Invalid("take_along_dim: as many dimensions as indices");
  if (!b.ok() || from.empty()) return {b.Call("aten.gather.default", {self, dim, indices})};
  // Only the others broadcast.
  for (size_t d = 0; d < from.size(); ++d) {
    if (static_cast<int64_t>(d) == dim) continue;
    if (from[d] == SymInt(1)) from[d] = to[d];
    if (to[d] == SymInt(1)) to[d] = from[d];
  }
  if (!(from == b.sizes(self))) self = Expand(b, self, from);
  if (!(to == b.sizes(indices))) indices = Expand(b, indices, to);
  return {b.Call("aten.gather.default", {self, dim, indices})};
}

// --- Indices in range ---

std::vector<Argument> ClampedIndices(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> indices = c.List("indices");
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].is_none()) continue;
    const SymInt last = b.size(c["self"], static_cast<int64_t>(d)) - SymInt(1);
    indices[d] = Clamp(b, indices[d], 0, last);
  }
  return indices;
}
// `fill` where the mask does not hold.
std::vector<Argument> MaskedIndex(OpBuilder& b, const OpCall& c) {
  if (b.meta(c["self"]).NumElements() == SymInt(0))
    b.Unsupported("_unsafe_masked_index of nothing");
  const Argument taken = b.Call("aten.index.Tensor", {c["self"], Argument(ClampedIndices(b, c))});
  return {Where(b, c["mask"], taken, c["fill"])};
}
std::vector<Argument> MaskedIndexPut(OpBuilder& b, const OpCall& c) {
  const Argument values = Where(b, c["mask"], c["values"], 0);
  return {
      b.Call("aten.index_put.default", {c["self"], Argument(ClampedIndices(b, c)), values, true})};
}

// --- Which ---

std::vector<Argument> OneHot(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const int64_t classes = c.Int("num_classes");
  if (classes < 0) b.Unsupported("one_hot without the number of classes, which the data decide");
  const Argument hot =
      b.Call("aten.eq.Tensor", {Unsqueeze(b, self, b.rank(self)), Arange(b, SymInt(classes))});
  return {Cast(b, hot, DType::kInt64)};
}

// Whether each element is among others.
std::vector<Argument> IsIn(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument>& arguments = c.arguments();
  const Argument &elements = arguments[0], &tests = arguments[1];
  Argument found;
  if (!b.IsTensor(tests)) {
    found = Binary(b, "eq", elements, tests);
  } else {
    const Argument all = Reshape(b, tests, {-1});
    const Argument each =
        b.IsTensor(elements)
            ? b.Call("aten.eq.Tensor", {Unsqueeze(b, elements, b.rank(elements)), all})
            : Binary(b, "eq", all, elements);
    found = b.Call("aten.any.dim", {each, -1, false});
  }
  return {c.Bool("invert") ? Unary(b, "logical_not", found) : found};
}

// A tensor of positions per dimension.
std::vector<Argument> NonzeroPerDimension(OpBuilder& b, const OpCall& c) {
  Argument x = c.arguments()[0];
  if (b.rank(x) == 0) x = Unsqueeze(b, x, 0);
  const Argument positions = Unary(b, "nonzero", x);
  Argument::List results;
  for (int64_t d = 0; d < b.rank(x); ++d) results.push_back(Select(b, positions, 1, d));
  return {Argument(results)};
}

// --- Bags of embeddings ---

std::vector<Argument> EmbeddingBag(OpBuilder& b, const OpCall& c) {
  const bool padded =
      c.op()->schema()->ArgumentIndex("padding_idx").has_value() && !c.IsNone("padding_idx");
  int64_t padding = padded ? c.Int("padding_idx") : -1;
  if (padded && padding < 0) {
    const std::optional<int64_t> rows = b.size(c["weight"], 0).AsInt();
    if (!rows.has_value()) b.Unsupported("embedding_bag: a padding counted from an unknown end");
    padding += rows.value_or(0);
  }
  return b.CallAll("aten._embedding_bag.default",
                   {c["weight"], c["indices"], c["offsets"], c["scale_grad_by_freq"], c["mode"],
                    c["sparse"], c["per_sample_weights"], c["include_last_offset"], padding});
}

// The start is a tensor: its element is added to the places.
std::vector<Argument> NarrowByTensor(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &start = c["start"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  if (!b.ok()) return {};
  Argument places = Add(b, Arange(b, c.Sym("length")), Cast(b, start, DType::kInt64));
  // A negative start counts from the end.
  const Argument negative = b.Call("aten.lt.Scalar", {start, 0});
  places = Where(b, negative, Add(b, places, b.size(x, dim)), places);
  return {b.Call("aten.index_select.default", {x, dim, places})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._unsafe_index.Tensor", Same<"aten.index.Tensor">},
    {"aten._unsafe_index_put.default", Same<"aten.index_put.default">},
    {"aten._unsafe_masked_index.default", MaskedIndex},
    {"aten._unsafe_masked_index_put_accumulate.default", MaskedIndexPut},
    {"aten.argwhere.default", Same<"aten.nonzero.default">},
    {"aten.embedding_bag.default", EmbeddingBag},
    {"aten.embedding_bag.padding_idx", EmbeddingBag},
    {"aten.index_add.default", IndexAdd},
    {"aten.index_copy.default", IndexCopy},
    {"aten.index_fill.int_Scalar", IndexFill},
    {"aten.index_fill.int_Tensor", IndexFill},
    {"aten.isin.Scalar_Tensor", IsIn},
    {"aten.isin.Tensor_Scalar", IsIn},
    {"aten.isin.Tensor_Tensor", IsIn},
    {"aten.masked_fill.Scalar", MaskedFill},
    {"aten.masked_fill.Tensor", MaskedFill},
    {"aten.nonzero_numpy.default", NonzeroPerDimension},
    {"aten.narrow.Tensor", NarrowByTensor},
    {"aten.one_hot.default", OneHot},
    {"aten.put.default", Put},
    {"aten.take.default", Take},
    {"aten.take_along_dim.default", TakeAlongDim},
    {"aten.where.default", NonzeroPerDimension},
};

}  // namespace

absl::Span<const Decomposition> IndexingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
