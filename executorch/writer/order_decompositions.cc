// Sorting, positions in a sorted order, and scans along a dimension.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "executorch/writer/portable_decompositions.h"
#include "exir/builder/op_shorthand.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpArgument;
using exir::OpBuilder;
using exir::OpCall;
using exir::SymInt;

// ExecuTorch's sizes have 31 bits.
constexpr int64_t kMostSize = int64_t{1} << 31;

// Returns 0, 1, … along the dimension; size 1 in the others.
Argument PositionsAlong(OpBuilder& b, const Argument& x, int64_t dim) {
  std::vector<SymInt> sizes(static_cast<size_t>(b.rank(x)), SymInt(1));
  sizes[dim] = b.size(x, dim);
  return exir::Reshape(b, exir::Arange(b, b.size(x, dim)), sizes);
}

// result[i] = x[max(i - step, 0)] along the dimension.
Argument Before(OpBuilder& b, const Argument& x, int64_t dim, int64_t step) {
  const Argument places = exir::Sub(b, exir::Arange(b, b.size(x, dim)), step);
  return b.Call("aten.index_select.default", {x, dim, exir::Clamp(b, places, 0, Argument())});
}

Argument IsNan(OpBuilder& b, const Argument& x) { return exir::Unary(b, "isnan", x); }

std::vector<Argument> Topk(OpBuilder& b, const Argument& x, int64_t dim, bool largest) {
  std::vector<Argument> all =
      b.CallAll("aten.topk.default", {x, b.size(x, dim), dim, largest, /*sorted=*/true});
  all.resize(2);
  return all;
}

// Stable sort; returns values and indices. topk sorts a whole line, but not stably. A second topk
// sorts the unique keys `group * length + index`, where `group` numbers the runs of equal values.
std::vector<Argument> SortLines(OpBuilder& b, const Argument& x, int64_t dim, bool descending) {
  const DType dtype = b.dtype(x);
  dim = b.WrapDim(dim, b.rank(x));
  if (!b.ok()) return {};
  if (b.rank(x) == 0) {
    return {exir::Clone(b, x), exir::Full(b, std::vector<int64_t>(), 0, DType::kInt64)};
  }
  // topk does not support bool.
  const Argument keys = dtype == DType::kBool ? exir::Cast(b, x, DType::kUint8) : x;
  const std::vector<Argument> ordered = Topk(b, keys, dim, descending);
  const Argument before = Before(b, ordered[0], dim, 1);
  Argument differs = exir::Binary(b, "ne", ordered[0], before);
  if (IsFloatingPoint(dtype)) {
    const Argument both =
        b.Call("aten.logical_and.default", {IsNan(b, ordered[0]), IsNan(b, before)});
    differs = b.Call("aten.logical_and.default", {differs, exir::Unary(b, "logical_not", both)});
  }
  const Argument number = b.Call("aten.cumsum.default", {differs, dim}, {{"dtype", DType::kInt64}});
  const Argument group = exir::Mul(b, number, b.size(x, dim));
  const Argument unique = Topk(b, exir::Add(b, group, ordered[1]), dim, /*largest=*/false)[0];
  const Argument indices = exir::Sub(b, unique, group);
  return {b.Call("aten.gather.default", {x, dim, indices}), indices};
}

std::vector<Argument> Sort(OpBuilder& b, const OpCall& c) {
  return SortLines(b, c["self"], c.Int("dim"), c.Bool("descending"));
}

// Gathers element `place` of each sorted line, and its index. `place` has one element per line.
std::vector<Argument> Pick(OpBuilder& b, const OpCall& c, const std::vector<Argument>& sorted,
                           int64_t dim, const Argument& place) {
  std::vector<Argument> picked;
  for (const Argument& line : sorted) {
    picked.push_back(b.Call("aten.gather.default", {line, dim, place}));
    if (!c.Bool("keepdim")) picked.back() = exir::Squeeze(b, picked.back(), dim);
  }
  return picked;
}

// Returns the same position for each line.
Argument SamePosition(OpBuilder& b, const Argument& x, int64_t dim, const SymInt& place) {
  std::vector<SymInt> sizes = b.sizes(x);
  sizes[dim] = 1;
  return exir::Full(b, sizes, place, DType::kInt64);
}

std::vector<Argument> KthValue(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const std::vector<Argument> sorted = SortLines(b, x, dim, /*descending=*/false);
  if (!b.ok() || b.rank(x) == 0) return sorted;
  return Pick(b, c, sorted, dim, SamePosition(b, x, dim, c.Sym("k") - SymInt(1)));
}

// The lower of the two middle elements; the first NaN if there is one. NaNs sort last.
std::vector<Argument> Median(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const std::vector<Argument> sorted = SortLines(b, x, dim, /*descending=*/false);
  if (!b.ok() || b.rank(x) == 0) return sorted;
  const SymInt count = b.size(x, dim);
  Argument place = SamePosition(b, x, dim, exir::FloorDiv(count - SymInt(1), SymInt(2)));
  if (IsFloatingPoint(b.dtype(x))) {
    const Argument nans =
        exir::Sum(b, exir::Cast(b, IsNan(b, x), DType::kInt64), {dim}, /*keep=*/true);
    place =
        exir::Where(b, exir::Binary(b, "gt", nans, 0), exir::NumberMinus(b, count, nans), place);
  }
  return Pick(b, c, sorted, dim, place);
}

// Inclusive scan along `dim` (Hillis-Steele): combines each element with the one `step` before it,
// for step = 1, 2, 4, … `combine(earlier, later)` returns the combined results.
template <class Combine>
std::vector<Argument> Scan(OpBuilder& b, std::vector<Argument> lines, int64_t dim,
                           Combine combine) {
  const int64_t most = std::min(b.Range(b.size(lines[0], dim)).max, kMostSize);
  const Argument places = PositionsAlong(b, lines[0], dim);
  for (int64_t step = 1; step < most && b.ok(); step *= 2) {
    const Argument is_whole = exir::Binary(b, "lt", places, step);
    std::vector<Argument> earlier;
    for (const Argument& line : lines) earlier.push_back(Before(b, line, dim, step));
    const std::vector<Argument> combined = combine(earlier, lines);
    for (size_t i = 0; i < lines.size(); ++i) {
      lines[i] = exir::Where(b, is_whole, lines[i], combined[i]);
    }
  }
  return lines;
}

std::vector<Argument> CumulativeProduct(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const DType own = b.dtype(x);
  const DType result =
      c.DtypeOr("dtype", IsIntegral(own, /*include_bool=*/true) ? DType::kInt64 : own);
  if (!b.ok()) return {};
  // Converts before multiplying, as PyTorch does.
  const Argument start = exir::Cast(b, exir::Cast(b, x, result), exir::ComputeDtype(result));
  if (b.rank(x) == 0) return {exir::Clone(b, exir::Cast(b, x, result))};
  const auto multiply = [&](const std::vector<Argument>& earlier,
                            const std::vector<Argument>& later) {
    return std::vector<Argument>{exir::Mul(b, earlier[0], later[0])};
  };
  return {exir::Cast(b, Scan(b, {start}, dim, multiply)[0], result)};
}

// Equal elements: the last index. From the first NaN on: the last NaN.
template <bool kLargest>
std::vector<Argument> CumulativeExtreme(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  if (!b.ok()) return {};
  if (b.rank(x) == 0) {
    return {exir::Clone(b, x), exir::Full(b, std::vector<int64_t>(), 0, DType::kInt64)};
  }
  const bool has_nan = IsFloatingPoint(b.dtype(x));
  const Argument places = exir::Expand(b, PositionsAlong(b, x, dim), b.sizes(x));
  const auto choose = [&](const std::vector<Argument>& earlier,
                          const std::vector<Argument>& later) {
    Argument takes = exir::Binary(b, kLargest ? "ge" : "le", later[0], earlier[0]);
    if (has_nan) takes = b.Call("aten.logical_or.default", {takes, IsNan(b, later[0])});
    return std::vector<Argument>{exir::Where(b, takes, later[0], earlier[0]),
                                 exir::Where(b, takes, later[1], earlier[1])};
  };
  return Scan(b, {x, places}, dim, choose);
}

// Counts the elements of the last dimension of `sorted` before each value, by comparing all pairs.
Argument CountBefore(OpBuilder& b, const OpCall& c, const Argument& sorted, const Argument& values,
                     bool right) {
  const Argument line = b.rank(sorted) == 1 ? sorted : exir::Unsqueeze(b, sorted, -2);
  const Argument not_before =
      exir::Binary(b, right ? "gt" : "ge", line, exir::Unsqueeze(b, values, -1));
  const Argument before = exir::Cast(b, exir::Unary(b, "logical_not", not_before), DType::kInt64);
  const Argument count = exir::Sum(b, before, {-1});
  return exir::Cast(b, count, c.Bool("out_int32") ? DType::kInt32 : DType::kInt64);
}

std::vector<Argument> SearchSorted(OpBuilder& b, const OpCall& c) {
  Argument sorted = c["sorted_sequence"];
  if (!c.IsNone("sorter")) sorted = b.Call("aten.gather.default", {sorted, -1, c["sorter"]});
  const bool right = c.Bool("right") || (!c.IsNone("side") && c.String("side") == "right");
  return {CountBefore(b, c, sorted, c["self"], right)};
}

std::vector<Argument> Bucketize(OpBuilder& b, const OpCall& c) {
  return {CountBefore(b, c, c["boundaries"], c["self"], c.Bool("right"))};
}

constexpr exir::Decomposition kDecompositions[] = {
    {"aten.bucketize.Tensor", Bucketize},
    {"aten.cummax.default", CumulativeExtreme<true>},
    {"aten.cummin.default", CumulativeExtreme<false>},
    {"aten.cumprod.default", CumulativeProduct},
    {"aten.kthvalue.default", KthValue},
    {"aten.median.dim", Median},
    {"aten.searchsorted.Tensor", SearchSorted},
    {"aten.sort.default", Sort},
    {"aten.sort.stable", Sort},
};

}  // namespace

absl::Span<const exir::Decomposition> OrderDecompositions() { return kDecompositions; }

}  // namespace belay::pte
