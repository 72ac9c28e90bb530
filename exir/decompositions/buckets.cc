// Groups elements into buckets: histograms by value, segments by position.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// --- Histograms ---

// Returns a list of exactly `count` numbers.
std::vector<double> Numbers(OpBuilder& b, const OpCall& c, std::string_view name, size_t count) {
  std::vector<double> numbers;
  for (const Argument& element : c.List(name)) {
    if (const auto* d = element.get_if<double>()) numbers.push_back(*d);
    if (const auto* i = element.get_if<int64_t>()) numbers.push_back(static_cast<double>(*i));
  }
  if (numbers.size() != count) b.Invalid(absl::StrCat(name, ": expected ", count, " numbers"));
  return numbers;
}

// Sums the weights between neighboring ascending edges; the last interval includes its end. Values
// outside, and NaN, are not counted.
std::vector<Argument> Counts(OpBuilder& b, const OpCall& c, const Argument& x,
                             const Argument& edges, const SymInt& bins) {
  const DType dtype = b.dtype(x);
  const Argument from = Select(b, edges, 0, 0), to = Select(b, edges, 0, -1);
  const Argument place =
      Sub(b, b.Call("aten.searchsorted.Tensor", {edges, x}, {{"right", true}}), 1);
  const Argument inside = b.Call("aten.logical_and.default", {b.Call("aten.ge.Tensor", {x, from}),
                                                              b.Call("aten.le.Tensor", {x, to})});
  Argument amount = Cast(b, inside, dtype);
  if (!c.IsNone("weight")) {
    if (b.dtype(c["weight"]) != dtype || b.sizes(c["weight"]) != b.sizes(c["self"])) {
      b.Invalid("histogram: expected a weight of dtype and shape of the input");
    }
    amount = Where(b, inside, Reshape(b, c["weight"], {-1}), 0);
  }
  Argument counts = b.Call(
      "aten.index_put.default",
      {Full(b, {bins}, 0, dtype),
       Argument(Argument::List{Clamp(b, place, 0, b.Size(bins - SymInt(1)))}), amount, true});
  if (c.Bool("density")) {
    const Argument widths =
        Sub(b, Slice(b, edges, 0, 1, bins + SymInt(1)), Slice(b, edges, 0, 0, bins));
    counts = Div(b, Div(b, counts, SumAll(b, counts)), widths);
  }
  return {counts, edges};
}

Argument Values(OpBuilder& b, const OpCall& c) {
  const DType dtype = b.dtype(c["self"]);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    b.Invalid("histogram: expected float32 or float64");
  }
  return Reshape(b, c["self"], {-1});
}

// A given number of equal-width intervals, between two numbers or from the minimum to the maximum.
std::vector<Argument> HistogramOfCount(OpBuilder& b, const OpCall& c) {
  const int64_t bins = c.Int("bins");
  constexpr int64_t kMost = int64_t{1} << 20;
  if (bins < 1 || bins > kMost) b.Invalid("bins: expected at least one");
  const Argument x = Values(b, c);
  const DType dtype = b.dtype(x);
  Argument edges;
  if (!c.IsNone("range")) {
    const std::vector<double> range = Numbers(b, c, "range", 2);
    if (!b.ok()) return {};
    double from = range[0], to = range[1];
    if (!(from <= to)) b.Invalid("range: expected two numbers in order");
    if (from == to) {
      from -= 0.5;
      to += 0.5;
    }
    edges = b.Call("aten.linspace.default", {from, to, bins + 1}, {{"dtype", dtype}});
  } else {
    ExpectAtLeast(b, b.size(x, 0), 1, "histogram of a tensor without elements and without a range");
    if (!b.ok()) return {};
    const std::vector<int64_t> all = {0};
    Argument from = b.Call("aten.amin.default", {x, all});
    Argument to = b.Call("aten.amax.default", {x, all});
    const Argument same = b.Call("aten.eq.Tensor", {from, to});
    from = Where(b, same, Sub(b, from, 0.5), from);
    to = Where(b, same, Add(b, to, 0.5), to);
    edges = b.Call("aten.linspace.Tensor_Tensor", {from, to, bins + 1}, {{"dtype", dtype}});
  }
  return Counts(b, c, x, edges, SymInt(bins));
}

std::vector<Argument> HistogramOfEdges(OpBuilder& b, const OpCall& c) {
  const Argument& edges = c["bins"];
  const Argument x = Values(b, c);
  if (b.rank(edges) != 1 || b.dtype(edges) != b.dtype(x)) {
    b.Invalid("bins: expected a vector of the input's dtype");
  }
  ExpectAtLeast(b, b.size(edges, 0), 2, "histogram without intervals");
  if (!b.ok()) return {};
  return Counts(b, c, x, Clone(b, edges), b.size(edges, 0) - SymInt(1));
}

// --- Segments ---

// Reduces segments of consecutive rows of dimension `axis`. Lengths, or offsets, are
// [sizes before the axis…, segments], or one more than segments.
std::vector<Argument> SegmentReduce(OpBuilder& b, const OpCall& c) {
  const Argument& data = c["data"];
  const std::string reduce = c.String("reduce");
  const DType dtype = b.dtype(data);
  if (!c.IsNone("indices")) b.Unsupported("segment_reduce by indices");
  if (c.IsNone("lengths") == c.IsNone("offsets")) b.Invalid("expected lengths or offsets");
  if (!b.ok()) return {};
  const bool by_length = !c.IsNone("lengths");
  const Argument& given = by_length ? c["lengths"] : c["offsets"];
  if (b.rank(data) == 0) b.Invalid("segment_reduce: the data have no dimensions");
  const int64_t axis = b.WrapDim(c.Int("axis"), b.rank(data));
  if (b.rank(given) != axis + 1) {
    b.Invalid("segment_reduce: expected the axis to be the last dimension of lengths and offsets");
  }
  if (!IsFloatingPoint(dtype)) b.Invalid("segment_reduce: expected floating point numbers");
  struct Kind {
    std::string_view reduce, scatter;
    double start;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr Kind kKinds[] = {{"sum", "sum", 0},
                             {"mean", "sum", 0},
                             {"prod", "prod", 1},
                             {"max", "amax", -kInfinity},
                             {"min", "amin", kInfinity}};
  const Kind* kind = nullptr;
  for (const Kind& k : kKinds) {
    if (k.reduce == reduce) kind = &k;
  }
  if (kind == nullptr) b.Invalid("reduce: expected sum, mean, prod, max or min");
  if (!b.ok()) return {};
  Argument lengths = Cast(b, given, DType::kInt64), ends;
  if (by_length) {
    ends = b.Call("aten.cumsum.default", {lengths, axis});
  } else {
    const SymInt count = b.size(given, axis);
    ends = Slice(b, lengths, axis, 1, count);
    lengths = Sub(b, ends, Slice(b, lengths, axis, 0, count - SymInt(1)));
  }
  const std::vector<SymInt> sizes = b.sizes(data);
  if (!b.ok()) return {};
  const size_t dim = static_cast<size_t>(axis);
  const SymInt segments = b.size(ends, axis);
  // Sizes up to the axis, then 1: broadcast over the dimensions after it.
  std::vector<SymInt> column(sizes.size(), SymInt(1)), out = sizes;
  std::copy(sizes.begin(), sizes.begin() + axis + 1, column.begin());
  // A row belongs to the first segment that ends after it.
  const std::vector<SymInt> rows(column.begin(), column.begin() + axis + 1);
  Argument segment = b.Call("aten.searchsorted.Tensor",
                            {ends, Expand(b, Arange(b, sizes[dim]), rows)}, {{"right", true}});
  // Unchecked lengths may leave trailing rows.
  const bool rest = c.Bool("unsafe");
  out[dim] = rest ? segments + SymInt(1) : segments;
  segment = Expand(b, Reshape(b, segment, column), sizes);
  const bool started = !c.IsNone("initial");
  const OpArgument start = started ? OpArgument(c.Double("initial")) : OpArgument(kind->start);
  Argument result = b.Call("aten.scatter_reduce.two", {Full(b, out, start, dtype), axis, segment,
                                                       data, std::string(kind->scatter)});
  if (rest) result = Clone(b, Slice(b, result, axis, 0, segments));
  if (reduce == "mean") {
    column[dim] = segments;
    const Argument count = Reshape(b, lengths, column);
    const Argument mean = Div(b, result, Cast(b, count, dtype));
    // An empty segment gives the initial value, if there is one.
    result = started ? Where(b, b.Call("aten.eq.Scalar", {count, 0}), result, mean) : mean;
  }
  return {result};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.histogram.bin_ct", HistogramOfCount},
    {"aten.histogram.bins_tensor", HistogramOfEdges},
    {"aten.segment_reduce.default", SegmentReduce},
};

}  // namespace

absl::Span<const Decomposition> BucketsDecompositions() { return kDecompositions; }

}  // namespace belay::exir
