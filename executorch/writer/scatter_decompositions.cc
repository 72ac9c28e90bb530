// Scatters with a reduction, embedding bags, and selections from dimensions that may be empty.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executorch/writer/portable_decompositions.h"
#include "exir/builder/op_shorthand.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpArgument;
using exir::OpBuilder;
using exir::OpCall;
using exir::SymInt;

// Returns the smallest or largest value of the dtype.
Argument Bound(DType dtype, bool smallest) {
  if (IsFloatingPoint(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return smallest ? -infinity : infinity;
  }
  if (dtype == DType::kBool) return !smallest;
  if (dtype == DType::kUint8) return int64_t{smallest ? 0 : 255};
  const int bits = 8 * static_cast<int>(DTypeSize(dtype)) - 1;
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (63 - bits);
  return smallest ? -largest - 1 : largest;
}

// Replaces the first elements of `x` by `block`, in all dimensions from `dim` on.
Argument PutFirst(OpBuilder& b, const Argument& x, const Argument& block, int64_t dim) {
  while (dim < b.rank(x) && b.size(x, dim) == b.size(block, dim)) ++dim;
  if (!b.ok() || dim >= b.rank(x)) return block;
  const SymInt count = b.size(block, dim);
  const Argument part = PutFirst(b, exir::Slice(b, x, dim, 0, count), block, dim + 1);
  return b.Call("aten.slice_scatter.default", {x, part, dim, 0, count, 1});
}

// Slices `x` to the sizes of `like` in every dimension except `but`.
Argument First(OpBuilder& b, Argument x, const Argument& like, int64_t but) {
  for (int64_t dim = 0; dim < b.rank(x) && b.ok(); ++dim) {
    if (dim == but || b.size(x, dim) == b.size(like, dim)) continue;
    x = exir::Slice(b, x, dim, 0, b.size(like, dim));
  }
  return x;
}

struct Scatter {
  Argument self;
  int64_t dim = 0;
  Argument index;  // same rank as self and src; src has its sizes
  Argument src;
  std::string_view reduce;
  bool include_self = true;
};

// If self is excluded, the scattered positions start with the identity.
Argument Start(OpBuilder& b, const Scatter& s, double identity) {
  if (s.include_self) return s.self;
  return b.Call("aten.scatter.value", {s.self, s.dim, s.index, identity});
}
Argument ScatterSum(OpBuilder& b, const Scatter& s) {
  return b.Call("aten.scatter_add.default", {Start(b, s, 0), s.dim, s.index, s.src});
}
Argument ScatterMean(OpBuilder& b, const Scatter& s) {
  Scatter counts = s;
  const DType dtype = b.dtype(s.self);
  counts.self = exir::Full(b, b.sizes(s.self), 1, dtype);
  counts.src = exir::Full(b, b.sizes(s.index), 1, dtype);
  const Argument sum = ScatterSum(b, s), count = ScatterSum(b, counts);
  if (IsFloatingPoint(dtype)) return exir::Div(b, sum, count);
  return b.Call("aten.div.Tensor_mode", {sum, count}, {{"rounding_mode", std::string("floor")}});
}

// Compares each position of a line with the index of each scattered element: [.., position,
// element]. The existing element, or the identity, is one more element of the reduction.
Argument ScatterByComparison(OpBuilder& b, const Scatter& s, const Argument& identity) {
  const auto last = [&](const Argument& x) { return exir::Transpose(b, x, s.dim, -1); };
  const Argument block = last(First(b, s.self, s.index, s.dim));
  const Argument places = exir::Unsqueeze(b, exir::Arange(b, b.size(s.self, s.dim)), 1);
  const Argument lands = exir::Binary(b, "eq", exir::Unsqueeze(b, last(s.index), -2), places);
  const Argument elements = exir::Where(b, lands, exir::Unsqueeze(b, last(s.src), -2), identity);
  Argument start = block;
  if (!s.include_self) {
    start = exir::Where(b, b.Call("aten.any.dim", {lands, -1}), identity, block);
  }
  const Argument all = exir::Cat(b, {exir::Unsqueeze(b, start, -1), elements}, -1);
  const Argument result =
      s.reduce == "prod" ? b.Call("aten.prod.dim_int", {all, -1}, {{"dtype", b.dtype(all)}})
                         : b.Call(s.reduce == "amax" ? "aten.amax.default" : "aten.amin.default",
                                  {all, std::vector<int64_t>{-1}});
  return PutFirst(b, s.self, last(result), 0);
}

std::vector<Argument> Scattered(OpBuilder& b, Scatter s) {
  const DType dtype = b.dtype(s.self), computed = exir::ComputeDtype(dtype);
  const int64_t rank = b.rank(s.self);
  s.dim = b.WrapDim(s.dim, rank);
  if (!b.ok()) return {};
  for (Argument* tensor : {&s.self, &s.index, &s.src}) {
    if (b.rank(*tensor) == 0) *tensor = exir::Reshape(b, *tensor, {1});
  }
  s.self = exir::Cast(b, s.self, computed);
  s.src = First(b, exir::Cast(b, s.src, computed), s.index, -1);
  s.index = exir::Cast(b, s.index, DType::kInt64);
  Argument result;
  if (s.reduce == "sum") {
    result = ScatterSum(b, s);
  } else if (s.reduce == "mean") {
    result = ScatterMean(b, s);
  } else {
    const bool is_product = s.reduce == "prod";
    result = ScatterByComparison(
        b, s, is_product ? Argument(1) : Bound(computed, /*smallest=*/s.reduce == "amax"));
  }
  if (rank == 0) result = exir::Reshape(b, result, std::vector<int64_t>());
  return {exir::Cast(b, result, dtype)};
}

std::vector<Argument> ScatterReduce(OpBuilder& b, const OpCall& c) {
  const std::string reduce = c.String("reduce");
  return Scattered(b, {.self = c["self"],
                       .dim = c.Int("dim"),
                       .index = c["index"],
                       .src = c["src"],
                       .reduce = reduce,
                       .include_self = c.Bool("include_self")});
}

// The older overloads of aten.scatter.
std::vector<Argument> ScatterOf(OpBuilder& b, const OpCall& c, const Argument& src) {
  return Scattered(b, {.self = c["self"],
                       .dim = c.Int("dim"),
                       .index = c["index"],
                       .src = src,
                       .reduce = c.String("reduce") == "add" ? "sum" : "prod"});
}
std::vector<Argument> ScatterTensor(OpBuilder& b, const OpCall& c) {
  return ScatterOf(b, c, c["src"]);
}
std::vector<Argument> ScatterNumber(OpBuilder& b, const OpCall& c) {
  return ScatterOf(b, c, exir::Full(b, b.sizes(c["index"]), c["value"], b.dtype(c["self"])));
}

// Sums `values` by bag.
Argument ByBag(OpBuilder& b, const Argument& bag, const SymInt& bags, const Argument& values) {
  std::vector<SymInt> sizes = b.sizes(values);
  if (!b.ok()) return {};
  sizes[0] = bags;
  return b.Call("aten.index_put.default", {exir::Full(b, sizes, 0, b.dtype(values)),
                                           Argument(Argument::List{bag}), values, true});
}

// Returns the results, the bag of each index, the size of each bag, and the rows of the maxima.
std::vector<Argument> EmbeddingBag(OpBuilder& b, const OpCall& c) {
  const Argument weight = c["weight"], indices = c["indices"];
  const auto mode = static_cast<BagMode>(c.Int("mode"));
  const int64_t padding = c.Int("padding_idx");
  const DType dtype = b.dtype(weight), computed = exir::ComputeDtype(dtype);
  const DType index_type =
      b.dtype(indices) == DType::kInt64 ? DType::kInt64 : b.dtype(c["offsets"]);
  const SymInt begun = b.size(c["offsets"], 0);
  const SymInt bags = c.Bool("include_last_offset") ? begun - SymInt(1) : begun;
  // The last bag whose offset is not greater than the index.
  const Argument places = exir::Unsqueeze(b, exir::Arange(b, b.size(indices, 0)), 1);
  const Argument begins = exir::Binary(b, "le", c["offsets"], places);
  const Argument bag = exir::Sub(b, exir::Sum(b, exir::Cast(b, begins, DType::kInt64), {1}), 1);
  const Argument counts = exir::Binary(b, "ne", indices, padding);
  Argument rows = exir::Cast(
      b, b.Call("aten.index_select.default", {weight, 0, exir::Cast(b, indices, DType::kInt64)}),
      computed);
  if (!c.IsNone("per_sample_weights")) {
    rows =
        exir::Mul(b, rows, exir::Unsqueeze(b, exir::Cast(b, c["per_sample_weights"], computed), 1));
  }
  const auto first = [&](const Argument& x) { return exir::Slice(b, x, 0, 0, bags); };
  const Argument size = first(ByBag(b, bag, begun, exir::Cast(b, counts, DType::kInt64)));
  const Argument is_counted = exir::Unsqueeze(b, counts, 1);
  Argument result, chosen;
  if (mode == BagMode::kMax) {
    // An empty bag has result 0 and row 0.
    const Argument is_in =
        b.Call("aten.logical_and.default",
               {exir::Binary(b, "eq", bag, exir::Unsqueeze(b, exir::Arange(b, bags), 1)), counts});
    const Argument all = exir::Where(b, exir::Unsqueeze(b, is_in, 2), rows, Bound(computed, true));
    const Argument none =
        exir::Full(b, {bags, SymInt(1), b.size(weight, 1)}, Bound(computed, true), computed);
    const std::vector<Argument> largest =
        b.CallAll("aten.max.dim", {exir::Cat(b, {none, all}, 1), 1});
    if (!b.ok()) return {};
    const Argument is_empty = exir::Unsqueeze(b, exir::Binary(b, "eq", size, 0), 1);
    result = exir::Where(b, is_empty, 0, largest[0]);
    const Argument ids = exir::Cat(
        b, {exir::Full(b, {SymInt(1)}, 0, DType::kInt64), exir::Cast(b, indices, DType::kInt64)},
        0);
    const Argument flat =
        b.Call("aten.index_select.default", {ids, 0, exir::Reshape(b, largest[1], {-1})});
    chosen = exir::Reshape(b, flat, {bags, b.size(weight, 1)});
  } else {
    result = first(ByBag(b, bag, begun, exir::Where(b, is_counted, rows, 0)));
    if (mode == BagMode::kMean) {
      const Argument count = exir::Cast(b, exir::Clamp(b, size, 1, Argument()), computed);
      result = exir::Div(b, result, exir::Unsqueeze(b, count, 1));
    }
    chosen = exir::Full(b, {bags}, 0, DType::kInt64);
  }
  const auto as_index = [&](const Argument& x) { return exir::Cast(b, x, index_type); };
  // Indices after the last bag are assigned to bag 0.
  const Argument of = c.Bool("include_last_offset")
                          ? exir::Where(b, exir::Binary(b, "lt", bag, bags), bag, 0)
                          : bag;
  // Tensors are row-major here.
  const bool skips = BagSkipsOffsets(dtype, c.Int("mode"), padding, /*unit_strides=*/true);
  return {exir::Cast(b, result, dtype),
          skips ? exir::Full(b, {SymInt(0)}, 0, index_type) : as_index(of), as_index(size),
          as_index(chosen)};
}

// ExecuTorch's index_select rejects an empty dimension, its index.Tensor does not.
std::vector<Argument> IndexSelect(OpBuilder& b, const OpCall& c) {
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(c["self"]));
  if (!b.ok()) return {};
  Argument::List indices(static_cast<size_t>(dim));
  indices.push_back(exir::Reshape(b, c["index"], {-1}));
  return {b.Call("aten.index.Tensor", {c["self"], Argument(indices)})};
}

constexpr exir::Decomposition kDecompositions[] = {
    {"aten._embedding_bag.default", EmbeddingBag}, {"aten.index_select.default", IndexSelect},
    {"aten.scatter.reduce", ScatterTensor},        {"aten.scatter.value_reduce", ScatterNumber},
    {"aten.scatter_reduce.two", ScatterReduce},
};

}  // namespace

absl::Span<const exir::Decomposition> ScatterDecompositions() { return kDecompositions; }

}  // namespace belay::pte
