// Reads and writes elements by position.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

std::vector<Argument> MaskedFill(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const Argument& value = c["value"];
  const Argument filler =
      b.IsTensor(value) ? Cast(b, value, b.dtype(self)) : ScalarTensor(b, value, b.dtype(self));
  return {b.Call("aten.where.self", {c["mask"], filler, self})};
}

// Replaces whole slices at the positions `index` of dimension `dim` by `source`.
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
  if (b.IsTensor(value) && IsComplex(b.dtype(value)) && !IsComplex(b.dtype(c["self"]))) {
    b.Invalid("index_fill: a complex value of real numbers");
  }
  return {PutSlices(b, c,
                    b.IsTensor(value) ? Cast(b, value, b.dtype(c["self"]))
                                      : ScalarTensor(b, value, b.dtype(c["self"])),
                    false)};
}

// --- Flat indices ---

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
  // All dimensions except `dim` broadcast.
  for (size_t d = 0; d < from.size(); ++d) {
    if (static_cast<int64_t>(d) == dim) continue;
    if (from[d] == SymInt(1)) from[d] = to[d];
    if (to[d] == SymInt(1)) to[d] = from[d];
  }
  if (!(from == b.sizes(self))) self = Expand(b, self, from);
  if (!(to == b.sizes(indices))) indices = Expand(b, indices, to);
  // Indices wrap modulo the size.
  const Argument wrapped = Binary(b, "remainder", indices, b.Size(from[dim]));
  return {b.Call("aten.gather.default", {self, dim, wrapped})};
}

// --- Bounded indices ---

std::vector<Argument> ClampedIndices(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> indices = c.List("indices");
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].is_none()) continue;
    const SymInt last = b.size(c["self"], static_cast<int64_t>(d)) - SymInt(1);
    indices[d] = Clamp(b, indices[d], 0, last);
  }
  return indices;
}
// Uses `fill` where the mask is false, and everywhere if the tensor has no elements: then the
// indices, clamped to -1, are those of a tensor of `fill` with one element per empty dimension.
std::vector<Argument> MaskedIndex(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const std::vector<Argument> indices = ClampedIndices(b, c);
  if (b.meta(self).NumElements() == SymInt(0)) {
    std::vector<SymInt> sizes = b.sizes(self);
    std::replace(sizes.begin(), sizes.end(), SymInt(0), SymInt(1));
    return {
        b.Call("aten.index.Tensor", {Full(b, sizes, c["fill"], b.dtype(self)), Argument(indices)})};
  }
  const Argument taken = b.Call("aten.index.Tensor", {self, Argument(indices)});
  return {Where(b, c["mask"], taken, c["fill"])};
}
std::vector<Argument> MaskedIndexPut(OpBuilder& b, const OpCall& c) {
  if (b.meta(c["self"]).NumElements() == SymInt(0)) return {Clone(b, c["self"])};
  const Argument values = Where(b, c["mask"], c["values"], 0);
  return {
      b.Call("aten.index_put.default", {c["self"], Argument(ClampedIndices(b, c)), values, true})};
}

// --- Membership and nonzero positions ---

std::vector<Argument> OneHot(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const int64_t classes = c.Int("num_classes");
  if (classes < 0) b.Unsupported("one_hot without the number of classes, which is data-dependent");
  const Argument hot =
      b.Call("aten.eq.Tensor", {Unsqueeze(b, self, b.rank(self)), Arange(b, SymInt(classes))});
  return {Cast(b, hot, DType::kInt64)};
}

// Whether each element occurs in the test elements.
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

// One index tensor per dimension.
std::vector<Argument> NonzeroPerDimension(OpBuilder& b, const OpCall& c) {
  Argument x = c.arguments()[0];
  if (b.rank(x) == 0) x = Unsqueeze(b, x, 0);
  const Argument positions = Unary(b, "nonzero", x);
  Argument::List results;
  for (int64_t d = 0; d < b.rank(x); ++d) results.push_back(Select(b, positions, 1, d));
  return {Argument(results)};
}

// --- Embedding bags ---

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

// Returns a given number of positions.
std::vector<Argument> NonzeroStatic(OpBuilder& b, const OpCall& c) {
  const SymInt size = c.Sym("size");
  const Argument found = Unary(b, "nonzero", c["self"]);
  const Argument filler = Full(b, {size, SymInt(std::max<int64_t>(b.rank(c["self"]), 0))},
                               c["fill_value"], DType::kInt64);
  return {Slice(b, Cat(b, {found, filler}, 0), 0, 0, size)};
}

std::vector<Argument> IndexReduce(OpBuilder& b, const OpCall& c) {
  Argument self = c["self"], source = c["source"];
  const bool scalar = b.rank(self) == 0;
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(self));
  if (scalar && b.rank(source) != 0) b.Invalid("index_reduce: the source has dimensions");
  if (!b.ok()) return {};
  if (scalar) {
    self = Reshape(b, self, {1});
    source = Reshape(b, source, {1});
  }
  const int64_t rank = b.rank(self);
  if (!b.ok()) return {};
  std::vector<SymInt> line(static_cast<size_t>(rank), SymInt(1));
  line[dim] = b.size(source, dim);
  const Argument index = Expand(b, Reshape(b, c["index"], line), b.sizes(source));
  const Argument result = b.Call("aten.scatter_reduce.two",
                                 {self, dim, Cast(b, index, DType::kInt64), source, c["reduce"]},
                                 {{"include_self", c["include_self"]}});
  return {scalar ? Reshape(b, result, std::vector<int64_t>()) : result};
}

std::vector<Argument> BucketOfNumber(OpBuilder& b, const OpCall& c) {
  const Argument& boundaries = c["boundaries"];
  return {b.Call("aten.bucketize.Tensor", {PromotedNumber(b, c["self"], boundaries), boundaries},
                 {{"out_int32", c["out_int32"]}, {"right", c["right"]}})};
}
std::vector<Argument> PlaceOfNumber(OpBuilder& b, const OpCall& c) {
  const Argument& sorted = c["sorted_sequence"];
  return {b.Call("aten.searchsorted.Tensor", {sorted, PromotedNumber(b, c["self"], sorted)},
                 {{"out_int32", c["out_int32"]},
                  {"right", c["right"]},
                  {"side", c["side"]},
                  {"sorter", c["sorter"]}})};
}

// Counts the occurrences of each number, or sums their weights.
std::vector<Argument> BinCount(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  if (!b.ok()) return {};
  Argument numbers = Cast(b, self, DType::kInt64);
  // The largest of no numbers is -1.
  if (b.size(self, 0).AsInt().value_or(0) < 1) {
    numbers = Cat(b, {numbers, Full(b, {SymInt(1)}, -1, DType::kInt64)}, 0);
  }
  const Argument largest = b.Call("aten.amax.default", {numbers, std::vector<int64_t>{0}});
  const Argument minimum = Full(b, std::vector<SymInt>(), c["minlength"], DType::kInt64);
  const Argument length = b.Call("aten._local_scalar_dense.default",
                                 {b.Call("aten.maximum.default", {Add(b, largest, 1), minimum})});
  const bool weighted = !c.IsNone("weights");
  const DType dtype = !weighted                                  ? DType::kInt64
                      : b.dtype(c["weights"]) == DType::kFloat32 ? DType::kFloat32
                                                                 : DType::kFloat64;
  const Argument zeros =
      b.Call("aten.full.default", {OpArgument::List{length}, 0}, {{"dtype", dtype}});
  const Argument amount = weighted ? Cast(b, c["weights"], dtype) : ScalarTensor(b, 1, dtype);
  return {b.Call("aten.index_put.default",
                 {zeros, Argument(Argument::List{Cast(b, self, DType::kInt64)}), amount, true})};
}

// --- Unique elements ---

// True where an element (or a matrix row) differs from its predecessor; true for the first. Without
// elements, all tensors are empty.
Argument Beginnings(OpBuilder& b, const Argument& lines) {
  const Argument positions = Arange(b, b.size(lines, 0));
  const Argument before = b.Call("aten.clamp.default", {Sub(b, positions, 1), 0});
  Argument differs =
      b.Call("aten.ne.Tensor", {lines, b.Call("aten.index_select.default", {lines, 0, before})});
  if (b.rank(lines) == 2) differs = b.Call("aten.any.dim", {differs, 1, false});
  return b.Call("aten.logical_or.default", {differs, b.Call("aten.eq.Scalar", {positions, 0})});
}
// Differences of consecutive positions; `end` follows the last one.
Argument Lengths(OpBuilder& b, const Argument& positions, const SymInt& end) {
  const Argument last = Full(b, {SymInt(1)}, end, DType::kInt64);
  const Argument ends = Cat(b, {positions, last}, 0);
  const SymInt count = b.size(ends, 0);
  return Sub(b, Slice(b, ends, 0, 1, count), Slice(b, ends, 0, 0, count - SymInt(1)));
}

template <bool kSorts>
std::vector<Argument> Unique(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const Argument flat = Reshape(b, self, {-1});
  const SymInt count = b.meta(self).NumElements();
  if (!b.ok()) return {};
  const std::vector<Argument> sorted =
      kSorts ? b.CallAll("aten.sort.stable", {flat}, {{"stable", true}, {"dim", 0}})
             : std::vector<Argument>{flat, Argument()};
  if (!b.ok()) return {};
  const Argument starts = Beginnings(b, sorted[0]);
  const Argument positions = Select(b, Unary(b, "nonzero", starts), 1, 0);
  const Argument none = Full(b, {SymInt(0)}, 0, DType::kInt64);
  std::vector<Argument> results = {b.Call("aten.index_select.default", {sorted[0], 0, positions}),
                                   none, none};
  // For consecutive elements, PyTorch returns the inverse only on request.
  if (c.Bool("return_inverse")) {
    Argument number = Sub(b, b.Call("aten.cumsum.default", {starts, 0}), 1);
    if (kSorts) number = b.Call("aten.scatter.src", {number, 0, sorted[1], number});
    results[1] = Reshape(b, number, b.sizes(self));
  }
  if (c.Bool("return_counts")) results[2] = Lengths(b, positions, count);
  return results;
}

// Returns the positions of the rows of a matrix in lexicographic order.
Argument SortedRows(OpBuilder& b, const Argument& rows) {
  const std::optional<int64_t> columns = b.size(rows, 1).AsInt();
  constexpr int64_t kMost = 256;
  if (b.ok() && (!columns.has_value() || *columns > kMost || *columns < 1)) {
    b.Unsupported("unique rows of an unsupported size");
  }
  Argument order = Arange(b, b.size(rows, 0));
  if (!b.ok()) return order;
  // Sort by the last column first; stable sorts keep the previous order among equals.
  for (int64_t k = *columns; k-- > 0 && b.ok();) {
    const Argument keys = b.Call("aten.index_select.default", {Select(b, rows, 1, k), 0, order});
    const std::vector<Argument> sorted =
        b.CallAll("aten.sort.stable", {keys}, {{"stable", true}, {"dim", 0}});
    if (!b.ok()) break;
    order = b.Call("aten.index_select.default", {order, 0, sorted[1]});
  }
  return order;
}

// Slices along a dimension, in lexicographic order if `kSorts`; else equal neighbors become one.
template <bool kSorts>
std::vector<Argument> UniqueAlong(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(self));
  if (b.rank(self) == 0) b.Unsupported("unique slices of a tensor without dimensions");
  if (!b.ok()) return {};
  const Argument front = Transpose(b, self, 0, dim);
  const SymInt count = b.size(front, 0);
  if (!b.ok()) return {};
  std::vector<SymInt> row = b.sizes(front);
  row.erase(row.begin());
  const Argument rows = Reshape(b, front, {count, Product(row)});
  const Argument order = kSorts ? SortedRows(b, rows) : Arange(b, count);
  if (!b.ok()) return {};
  const Argument starts = Beginnings(b, b.Call("aten.index_select.default", {rows, 0, order}));
  const Argument positions = Select(b, Unary(b, "nonzero", starts), 1, 0);
  const Argument picked = b.Call("aten.index_select.default", {order, 0, positions});
  const Argument none = Full(b, {SymInt(0)}, 0, DType::kInt64);
  std::vector<Argument> results = {b.Call("aten.index_select.default", {self, dim, picked}), none,
                                   none};
  if (c.Bool("return_inverse")) {
    const Argument number = Sub(b, b.Call("aten.cumsum.default", {starts, 0}), 1);
    results[1] = b.Call("aten.scatter.src", {number, 0, order, number});
  }
  if (c.Bool("return_counts")) results[2] = Lengths(b, positions, count);
  return results;
}
// With dim=-1, the exporter declares the sizes before and after "dimension -1": all of them twice.
void RefuseLastDimension(OpBuilder& b, const OpCall& c) {
  if (!c.IsNone("dim") && c.Int("dim") == -1) {
    b.Unsupported(
        "dim=-1, for which the exporter declares sizes that PyTorch does not return: count the "
        "dimension from 0");
  }
}
std::vector<Argument> UniqueDim(OpBuilder& b, const OpCall& c) {
  RefuseLastDimension(b, c);
  if (!b.ok()) return {};
  return UniqueAlong<true>(b, c);
}
std::vector<Argument> UniqueConsecutive(OpBuilder& b, const OpCall& c) {
  RefuseLastDimension(b, c);
  if (!b.ok()) return {};
  const bool flattens = c.IsNone("dim") || b.rank(c["self"]) == 1;
  return flattens ? Unique<false>(b, c) : UniqueAlong<false>(b, c);
}

// `start` is a tensor: add it to the indices.
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

// Rows of `r` elements whose positions increase, strictly without replacement, in lexicographic
// order. Each step appends every possible next position to the rows so far: a row that ends with
// position p continues with p + 1 (with replacement p), …, n - 1.
std::vector<Argument> Combinations(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const int64_t r = c.Int("r"), step = c.Bool("with_replacement") ? 0 : 1;
  if (b.ok() && b.rank(self) != 1) b.Invalid("combinations: expected one dimension");
  if (b.ok() && r < 0) b.Invalid("combinations: r is negative");
  constexpr int64_t kMostRows = int64_t{1} << 24, kMostColumns = 64;
  if (!b.ok()) return {};
  if (r == 0) return {Full(b, {SymInt(0)}, 0, b.dtype(self))};
  if (r > kMostColumns) b.Unsupported("combinations: r > 64");
  if (!b.ok()) return {};
  const SymInt n = b.size(self, 0);
  const auto too_many = [&](const SymInt& rows) {
    if (rows.AsInt().value_or(0) > kMostRows) {
      b.Unsupported("combinations: more than 2^24 rows");
    }
  };
  too_many(n);
  SymInt rows = n;
  std::vector<Argument> positions = {Arange(b, n)};
  for (int64_t k = 1; k < r && !(rows == SymInt(0)) && b.ok(); ++k) {
    // C(n, k + 1) = C(n, k) (n - k) / (k + 1), and with replacement C(n + k, k + 1).
    const SymInt next_rows =
        FloorDiv(rows * (step == 0 ? n + SymInt(k) : n - SymInt(k)), SymInt(k + 1));
    too_many(next_rows);
    if (!b.ok()) return {};
    const Argument counts = NumberMinus(b, n - SymInt(step), positions.back());
    const Argument row_ends = b.Call("aten.cumsum.default", {counts, 0});
    const Argument places = Arange(b, next_rows);
    const Argument row = b.Call("aten.searchsorted.Tensor", {row_ends, places}, {{"right", true}});
    // Of the row's first continuation: the position minus the place.
    const Argument shift = Sub(b, Add(b, positions.back(), step), Sub(b, row_ends, counts));
    for (Argument& position : positions) {
      position = b.Call("aten.index_select.default", {position, 0, row});
    }
    positions.push_back(Add(b, places, b.Call("aten.index_select.default", {shift, 0, row})));
    rows = next_rows;
  }
  if (rows == SymInt(0)) return {Full(b, {SymInt(0), SymInt(r)}, 0, b.dtype(self))};
  std::vector<Argument> columns;
  for (const Argument& position : positions) {
    columns.push_back(Unsqueeze(b, b.Call("aten.index_select.default", {self, 0, position}), 1));
  }
  return {Cat(b, columns, 1)};
}

constexpr Decomposition kDecompositions[] = {
    // padding_idx = -1 means none.
    {"aten._embedding_bag_forward_only.default", Same<"aten._embedding_bag.default">},
    {"aten._unique2.default", Unique<true>},
    {"aten._unsafe_index.Tensor", Same<"aten.index.Tensor">},
    {"aten._unsafe_index_put.default", Same<"aten.index_put.default">},
    {"aten._unsafe_masked_index.default", MaskedIndex},
    {"aten._unsafe_masked_index_put_accumulate.default", MaskedIndexPut},
    {"aten.argwhere.default", Same<"aten.nonzero.default">},
    {"aten.bincount.default", BinCount},
    {"aten.bucketize.Scalar", BucketOfNumber},
    {"aten.combinations.default", Combinations},
    {"aten.embedding_bag.default", EmbeddingBag},
    {"aten.embedding_bag.padding_idx", EmbeddingBag},
    {"aten.index_add.default", IndexAdd},
    {"aten.index_copy.default", IndexCopy},
    {"aten.index_fill.int_Scalar", IndexFill},
    {"aten.index_fill.int_Tensor", IndexFill},
    {"aten.index_reduce.default", IndexReduce},
    {"aten.isin.Scalar_Tensor", IsIn},
    {"aten.isin.Tensor_Scalar", IsIn},
    {"aten.isin.Tensor_Tensor", IsIn},
    {"aten.masked_fill.Scalar", MaskedFill},
    {"aten.masked_fill.Tensor", MaskedFill},
    {"aten.nonzero_static.default", NonzeroStatic},
    {"aten.searchsorted.Scalar", PlaceOfNumber},
    {"aten.unique_consecutive.default", UniqueConsecutive},
    {"aten.unique_dim.default", UniqueDim},
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
