// Reductions over dimensions.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Has(const OpCall& c, std::string_view name) {
  return c.op()->schema()->ArgumentIndex(name).has_value();
}
// Nonnegative reduction dimensions; all for None and for an empty list.
std::vector<int64_t> Dims(OpBuilder& b, const OpCall& c, const Argument& x) {
  std::vector<int64_t> dims;
  if (Has(c, "dim") && !c.IsNone("dim")) {
    dims = c["dim"].is<Argument::List>() ? c.Ints("dim") : std::vector<int64_t>{c.Int("dim")};
  }
  if (dims.empty()) return AllDims(b.rank(x));
  for (int64_t& dim : dims) dim = b.WrapDim(dim, b.rank(x));
  return dims;
}
// One result of an operator with several; None after an error.
Argument Result(const std::vector<Argument>& results, size_t index) {
  return index < results.size() ? results[index] : Argument();
}
bool Keep(const OpCall& c) { return Has(c, "keepdim") && c.Bool("keepdim"); }
std::vector<Argument> SumDefault(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> all;
  return {b.Call("aten.sum.dim_IntList", {c["self"], all}, {{"dtype", c["dtype"]}})};
}

// all(x) = not any(not x)
std::vector<Argument> All(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const Argument fails = Unary(b, "logical_not", x);
  const Argument some = !Has(c, "dim") ? Unary(b, "any", fails)
                        : c.IsNone("dim") || c["dim"].is<Argument::List>()
                            ? b.Call("aten.any.dims", {fails, c["dim"], c["keepdim"]})
                            : b.Call("aten.any.dim", {fails, c["dim"], c["keepdim"]});
  const Argument all = Unary(b, "logical_not", some);
  return {b.dtype(x) == DType::kUint8 ? Cast(b, all, DType::kUint8) : all};
}

std::vector<Argument> CountNonzero(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  return {Sum(b, Binary(b, "ne", x, 0), Dims(b, c, x))};
}

std::vector<Argument> AMinMax(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const std::vector<int64_t> dims = Dims(b, c, x);
  return {b.Call("aten.amin.default", {x, dims, Keep(c)}),
          b.Call("aten.amax.default", {x, dims, Keep(c)})};
}

std::vector<Argument> NanSum(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const Argument numbers = IsIntegral(b.dtype(x), true) ? x : Where(b, Unary(b, "isnan", x), 0, x);
  return {
      b.Call("aten.sum.dim_IntList", {numbers, Dims(b, c, x), Keep(c)}, {{"dtype", c["dtype"]}})};
}
std::vector<Argument> NanMean(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (!IsFloatingPoint(b.dtype(x))) b.Invalid("nanmean: expected floating point numbers");
  const Argument count =
      Sum(b, Unary(b, "logical_not", Unary(b, "isnan", x)), Dims(b, c, x), Keep(c));
  return {Div(b, NanSum(b, c)[0], count)};
}

// Appends `value` to each of the dimensions that has no elements.
Argument WithoutEmptyDims(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims,
                          double value) {
  const int64_t rank = b.rank(x);
  std::vector<SymInt> pad(static_cast<size_t>(2 * rank), SymInt(0));
  bool any = false;
  for (int64_t dim : dims.empty() ? AllDims(rank) : dims) {
    const int64_t d = b.WrapDim(dim, rank);
    if (!b.ok() || rank == 0) return x;
    const SymInt size = b.size(x, d);
    if (b.Range(size).min >= 1) continue;
    any = true;
    pad[static_cast<size_t>(2 * (rank - d) - 1)] = SymMax(SymInt(1) - size, SymInt(0));
  }
  return any ? b.Call("aten.constant_pad_nd.default", {x, pad, value}) : x;
}

// max + log(sum(exp(x - max))), with an infinite maximum replaced by 0.
std::vector<Argument> LogSumExp(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    const std::vector<int64_t> dims = Dims(b, c, x);
    if (b.meta(x).NumElements() == SymInt(0)) {
      return Unary(b, "log", Sum(b, Unary(b, "exp", x), dims, Keep(c)));
    }
    const Argument highest =
        b.Call("aten.amax.default", {WithoutEmptyDims(b, x, dims, -kInfinity), dims, true});
    const Argument shift =
        Where(b, Binary(b, "eq", Unary(b, "abs", highest), kInfinity), 0, highest);
    const Argument sum = Sum(b, Unary(b, "exp", Sub(b, x, shift)), dims, Keep(c));
    const Argument back =
        Keep(c) || b.rank(x) == 0 ? shift : b.Call("aten.squeeze.dims", {shift, dims});
    return Add(b, Unary(b, "log", sum), back);
  });
}

// --- Variance ---

// Correction from `unbiased` or `correction`; the default is 1.
Argument Correction(const OpCall& c) {
  if (Has(c, "unbiased")) return c.Bool("unbiased") ? 1 : 0;
  return c.Or("correction", 1);
}
Argument Variance(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  return b.Call("aten.var.correction", {x, Dims(b, c, x)},
                {{"correction", Correction(c)}, {"keepdim", Keep(c)}});
}
std::vector<Argument> Var(OpBuilder& b, const OpCall& c) { return {Variance(b, c)}; }
std::vector<Argument> Std(OpBuilder& b, const OpCall& c) {
  return {Unary(b, "sqrt", Variance(b, c))};
}
std::vector<Argument> VarMean(OpBuilder& b, const OpCall& c) {
  return {Variance(b, c), Mean(b, c["self"], Dims(b, c, c["self"]), Keep(c))};
}
std::vector<Argument> StdMean(OpBuilder& b, const OpCall& c) {
  return {Unary(b, "sqrt", Variance(b, c)), Mean(b, c["self"], Dims(b, c, c["self"]), Keep(c))};
}

// Rows are variables, columns are observations.
Argument Covariance(OpBuilder& b, const Argument& self, const OpArgument& correction,
                    const Argument& fweights, const Argument& aweights) {
  if (!fweights.is_none() || !aweights.is_none()) b.Unsupported("cov with weights");
  if (b.rank(self) > 2) b.Invalid("cov: expected at most two dimensions");
  Argument x = b.rank(self) == 2 ? self : Reshape(b, self, {1, -1});
  x = Cast(b, x, ResultFloat(b.dtype(x)));
  const SymInt count = b.size(x, 1);
  const Argument* shift = std::get_if<Argument>(&correction.value());
  const int64_t* less = shift == nullptr ? nullptr : shift->get_if<int64_t>();
  if (less == nullptr) b.Unsupported("cov: an unknown correction");
  int64_t degrees = 0;
  if (b.ok() && __builtin_sub_overflow(count.AsInt().value_or(0), *less, &degrees)) {
    b.Invalid(absl::StrCat("cov: a correction of ", *less));
  }
  if (!b.ok()) return Argument();
  const Argument centered = Sub(b, x, Mean(b, x, {1}, true));
  const Argument conjugate =
      IsComplex(b.dtype(x)) ? b.Call("aten._conj_physical.default", {centered}) : centered;
  const Argument products = b.Call("aten.mm.default", {centered, Transpose(b, conjugate, 0, 1)});
  const Argument result = Div(b, products, SymMax(count - SymInt(*less), SymInt(0)));
  // A single variable gives a 0-dimensional result.
  const bool many = b.rank(self) == 2 && b.size(self, 0).AsInt() != 1;
  return many ? result : Reshape(b, result, std::vector<int64_t>());
}
std::vector<Argument> Cov(OpBuilder& b, const OpCall& c) {
  return {Covariance(b, c["self"], c["correction"], c["fweights"], c["aweights"])};
}
std::vector<Argument> Corrcoef(OpBuilder& b, const OpCall& c) {
  const Argument cov = Covariance(b, c["self"], 1, Argument(), Argument());
  if (b.rank(cov) == 0) return {Div(b, cov, cov)};
  const bool complex = IsComplex(b.dtype(cov));
  const Argument variance = b.Call("aten.diagonal.default", {cov});
  const Argument deviation = Unary(b, "sqrt", complex ? Unary(b, "real", variance) : variance);
  const Argument rows = Div(b, cov, Unsqueeze(b, deviation, 1));
  const Argument result = Div(b, rows, Unsqueeze(b, deviation, 0));
  if (!complex) return {Clamp(b, result, -1, 1)};
  const Argument parts = Clamp(b, Unary(b, "view_as_real", result), -1, 1);
  return {Unary(b, "view_as_complex", parts)};
}

// --- Order statistics ---

std::vector<Argument> ArgSort(OpBuilder& b, const OpCall& c) {
  if (!Has(c, "stable")) {
    return {Result(b.CallAll("aten.sort.default", {c["self"], c["dim"], c["descending"]}), 1)};
  }
  return {Result(b.CallAll("aten.sort.stable", {c["self"], c["stable"], c["dim"], c["descending"]}),
                 1)};
}
std::vector<Argument> MSort(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.sort.default", {c["self"], 0})};
}
// All elements; NaN instead of none.
Argument ElementsForMedian(OpBuilder& b, const Argument& x) {
  const Argument elements = Reshape(b, x, {-1});
  if (!IsFloatingPoint(b.dtype(x))) return elements;
  return WithoutEmptyDims(b, elements, {0}, std::numeric_limits<double>::quiet_NaN());
}
std::vector<Argument> Median(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.median.dim", {ElementsForMedian(b, c["self"]), 0})};
}

// Interpolates between the two sorted elements nearest to q (n - 1).
template <bool kIgnoreNan>
std::vector<Argument> Quantile(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"];
  const std::string mode = c.String("interpolation");
  if (mode != "linear" && mode != "lower" && mode != "higher" && mode != "midpoint" &&
      mode != "nearest") {
    b.Invalid(absl::StrCat("quantile: unknown interpolation '", mode, "'"));
  }
  const DType dtype = b.dtype(x);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    b.Invalid("quantile: expected float32 or float64");
  }
  const bool all = c.IsNone("dim"), keep = c.Bool("keepdim");
  const int64_t rank = b.rank(x);
  const int64_t dim = all ? 0 : b.WrapDim(c.Int("dim"), rank);
  if (all || rank == 0) x = Reshape(b, x, {-1});
  if (!b.ok()) return {};
  // Move the dimension to the end.
  x = Transpose(b, x, all ? 0 : dim, -1);
  const SymInt count = b.size(x, -1);
  Argument q = b.IsTensor(c["q"]) ? c["q"] : ScalarTensor(b, c["q"], dtype);
  const int64_t q_rank = b.rank(q);
  if (q_rank > 1) b.Invalid("quantile: expected q of at most one dimension");
  if (q_rank == 0) q = Unsqueeze(b, q, 0);
  const Argument sorted = b.Call("aten.sort.default", {x, -1});
  Argument place;
  if (kIgnoreNan) {
    const Argument numbers = Unary(b, "logical_not", Unary(b, "isnan", x));
    const Argument last = Sub(b, Sum(b, Cast(b, numbers, dtype), {-1}, true), 1);
    place = Mul(b, Clamp(b, last, 0, Argument()), q);
  } else {
    place = Mul(b, q, count - SymInt(1));
  }
  if (mode == "lower") place = Unary(b, "floor", place);
  if (mode == "higher") place = Unary(b, "ceil", place);
  if (mode == "nearest") place = Unary(b, "round", place);
  const Argument below = Unary(b, "floor", place), above = Unary(b, "ceil", place);
  const auto at = [&](const Argument& index) {
    const int64_t last = b.rank(sorted) - 1;
    const Argument integers = Cast(b, index, DType::kInt64);
    return kIgnoreNan ? b.Call("aten.gather.default", {sorted, last, integers})
                      : b.Call("aten.index_select.default", {sorted, last, integers});
  };
  Argument result = at(below);
  if (mode == "linear" || mode == "midpoint") {
    const Argument weight =
        mode == "linear" ? Sub(b, place, below) : Mul(b, Sub(b, above, below), 0.5);
    result = b.Call("aten.lerp.Tensor", {result, at(above), weight});
  }
  // NaN sorts last, and makes the result NaN.
  if (!kIgnoreNan) {
    const Argument nan = b.Call("aten.any.dim", {Unary(b, "isnan", x), -1, true});
    result = Where(b, nan, std::numeric_limits<double>::quiet_NaN(), result);
  }
  // [others…, q]  ->  [q, others…]
  if (keep) {
    std::vector<SymInt> sizes(std::max<int64_t>(rank, 0), SymInt(1));
    if (!all && rank > 0) {
      // q is dimension rank - 1, and the last dimension of x is dimension `dim`.
      std::vector<int64_t> order = {rank - 1};
      for (int64_t d = 0; d < rank; ++d) {
        order.push_back(d == dim ? rank : d == rank - 1 ? dim : d);
      }
      result = Permute(b, Unsqueeze(b, result, rank), order);
    } else {
      sizes.insert(sizes.begin(), b.size(q, 0));
      result = Reshape(b, result, sizes);
    }
  } else {
    const int64_t last = b.rank(result) - 1;
    // Undo the exchange of the dimension with the last one.
    std::vector<int64_t> order = {last};
    for (int64_t d = 0; d < last; ++d) {
      if (d != dim) order.push_back(d);
    }
    if (!all && dim < last) {
      // The last dimension of x is dimension `dim`, and becomes the last one.
      order.push_back(dim);
    }
    result = Permute(b, result, order);
  }
  return {q_rank == 0 ? Squeeze(b, result, 0) : result};
}

// The lower of the two middle elements that are not NaN; NaN if all are NaN.
std::vector<Argument> NanMedianAlong(OpBuilder& b, const Argument& self, int64_t dim_argument,
                                     bool keep) {
  if (!IsFloatingPoint(b.dtype(self))) {
    return b.CallAll("aten.median.dim", {self, dim_argument, keep});
  }
  const bool scalar = b.rank(self) == 0;
  const Argument x = scalar ? Unsqueeze(b, self, 0) : self;
  const int64_t dim = b.WrapDim(dim_argument, b.rank(x));
  const std::vector<Argument> sorted =
      b.CallAll("aten.sort.stable", {x}, {{"stable", true}, {"dim", dim}});
  if (!b.ok()) return {};
  const Argument numbers = Cast(b, Unary(b, "logical_not", Unary(b, "isnan", x)), DType::kInt64);
  const Argument last = Sub(b, Sum(b, numbers, {dim}, true), 1);
  const Argument middle =
      Clamp(b, b.Call("aten.div.Scalar_mode", {last, 2}, {{"rounding_mode", Argument("floor")}}), 0,
            Argument());
  std::vector<Argument> results;
  for (const Argument& all : sorted) {
    const Argument picked = b.Call("aten.gather.default", {all, dim, middle});
    results.push_back(keep && !scalar ? picked : Squeeze(b, picked, dim));
  }
  return results;
}
std::vector<Argument> NanMedianDim(OpBuilder& b, const OpCall& c) {
  return NanMedianAlong(b, c["self"], c.Int("dim"), c.Bool("keepdim"));
}
std::vector<Argument> NanMedian(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> results =
      NanMedianAlong(b, ElementsForMedian(b, c["self"]), 0, /*keep=*/false);
  if (!b.ok()) return {};
  return {results[0]};
}

// The smallest of the most frequent elements, and the position of its last occurrence.
std::vector<Argument> Mode(OpBuilder& b, const OpCall& c) {
  const bool scalar = b.rank(c["self"]) == 0;
  const Argument x = scalar ? Unsqueeze(b, c["self"], 0) : c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  std::vector<Argument> sorted =
      b.CallAll("aten.sort.stable", {x}, {{"stable", true}, {"dim", dim}});
  if (!b.ok()) return {};
  for (Argument& all : sorted) all = Transpose(b, all, dim, -1);
  // Equal elements are adjacent: length[i] = i - (start of the run of i) + 1 is largest at the end of
  // the longest run.
  const SymInt count = b.size(x, dim);
  const Argument previous =
      Cat(b, {Slice(b, sorted[0], -1, 0, SymInt(1)), Slice(b, sorted[0], -1, 0, count - SymInt(1))},
          -1);
  const Argument position = b.Call("aten.arange.default", {count});
  const Argument starts = Where(b, Binary(b, "eq", sorted[0], previous), 0, position);
  const std::vector<Argument> start = b.CallAll("aten.cummax.default", {starts, -1});
  if (!b.ok()) return {};
  const Argument last = b.Call("aten.argmax.default", {Sub(b, position, start[0]), -1, true});
  std::vector<Argument> results;
  for (const Argument& all : sorted) {
    const int64_t back = b.rank(all) - 1;
    const Argument picked = Transpose(b, b.Call("aten.gather.default", {all, back, last}), dim, -1);
    results.push_back(c.Bool("keepdim") && !scalar ? picked : Squeeze(b, picked, dim));
  }
  return results;
}

// --- Counts ---

// Counts the elements in each of `bins` equal intervals; the last one includes its end.
std::vector<Argument> Histogram(OpBuilder& b, const OpCall& c) {
  const int64_t bins = c.Int("bins");
  const double low = c.Double("min"), high = c.Double("max");
  const DType dtype = b.dtype(c["self"]);
  constexpr int64_t kMost = int64_t{1} << 20;
  if (bins < 1 || bins > kMost) b.Invalid("histc: expected at least one bin");
  if (!(low <= high)) b.Invalid("histc: max is smaller than min");
  if (!IsFloatingPoint(dtype)) b.Invalid("histc: expected floating point numbers");
  const Argument x = Reshape(b, c["self"], {-1});
  if (low == high) {
    ExpectAtLeast(b, b.size(x, 0), 1, "histc of a tensor without elements and without a range");
  }
  if (!b.ok()) return {};
  const std::vector<int64_t> all = {0};
  Argument from = ScalarTensor(b, low, dtype), to = ScalarTensor(b, high, dtype);
  if (low == high) {
    from = b.Call("aten.amin.default", {x, all});
    to = b.Call("aten.amax.default", {x, all});
    // If all values are equal, use a range around this value.
    const Argument same = b.Call("aten.eq.Tensor", {from, to});
    from = Where(b, same, Sub(b, from, 1), from);
    to = Where(b, same, Add(b, to, 1), to);
  }
  // Each step rounds to the elements' dtype, as in PyTorch.
  const Argument scaled = Mul(b, Sub(b, x, from), ScalarTensor(b, bins, dtype));
  const Argument place = Cast(b, Div(b, scaled, Sub(b, to, from)), DType::kInt64);
  const Argument inside = b.Call("aten.logical_and.default", {b.Call("aten.ge.Tensor", {x, from}),
                                                              b.Call("aten.le.Tensor", {x, to})});
  return {b.Call("aten.index_put.default", {Full(b, {SymInt(bins)}, 0, dtype),
                                            Argument(Argument::List{Clamp(b, place, 0, bins - 1)}),
                                            Cast(b, inside, dtype), true})};
}

// --- Differences and integrals ---

std::vector<Argument> Diff(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(self));
  const int64_t n = c.Int("n");
  if (b.rank(self) == 0) b.Invalid("diff: the input has no dimensions");
  if (n < 0 || n > 1024) b.Invalid(absl::StrCat("diff: n is ", n));
  if (!b.ok()) return {};
  if (n == 0) return {Clone(b, self)};
  std::vector<Argument> parts;
  if (!c.IsNone("prepend")) parts.push_back(c["prepend"]);
  parts.push_back(self);
  if (!c.IsNone("append")) parts.push_back(c["append"]);
  Argument x = parts.size() == 1 ? parts[0] : Cat(b, parts, dim);
  for (int64_t i = 0; i < n && b.ok(); ++i) {
    const SymInt length = b.size(x, dim);
    const Argument later = Slice(b, x, dim, 1, length);
    const Argument earlier = Slice(b, x, dim, 0, length - SymInt(1));
    x = b.Call(b.dtype(x) == DType::kBool ? "aten.logical_xor.default" : "aten.sub.Tensor",
               {later, earlier});
  }
  return {x};
}

// Integrates by the trapezoidal rule.
template <bool kCumulative>
std::vector<Argument> Trapezoid(OpBuilder& b, const OpCall& c) {
  const Argument& y = c["y"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(y));
  if (!b.ok()) return {};
  if (!kCumulative && !Has(c, "x") && b.rank(y) > 0 && b.Range(b.size(y, dim)).min > 0) {
    // Uniform spacing: the sum without half of the ends.
    const Argument ends = Add(b, Select(b, y, dim, 0), Select(b, y, dim, -1));
    return {Mul(b, Sub(b, Sum(b, y, {dim}), Mul(b, ends, 0.5)), c["dx"])};
  }
  const auto later = [&](const Argument& v, int64_t d) { return Slice(b, v, d, 1, b.size(v, d)); };
  const auto earlier = [&](const Argument& v, int64_t d) {
    return Slice(b, v, d, 0, b.size(v, d) - SymInt(1));
  };
  // Divide by 2 at the end: until then, integers keep their dtype.
  Argument strips = Add(b, later(y, dim), earlier(y, dim));
  if (Has(c, "x")) {
    Argument x = c["x"];
    if (b.rank(x) == 1 && b.rank(y) > 1) {
      std::vector<SymInt> sizes(b.rank(y), SymInt(1));
      sizes[dim] = b.size(x, 0);
      x = Reshape(b, x, sizes);
    }
    const int64_t x_dim = dim + b.rank(x) - b.rank(y);
    if (x_dim < 0) b.Invalid("trapezoid: x has fewer dimensions than y");
    strips = Mul(b, strips, Sub(b, later(x, x_dim), earlier(x, x_dim)));
  } else {
    strips = Mul(b, strips, c["dx"]);
  }
  return {Div(b, kCumulative ? b.Call("aten.cumsum.default", {strips, dim}) : Sum(b, strips, {dim}),
              2.0)};
}

// Inverse of expanding to self's sizes.
std::vector<Argument> SumToSize(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const std::vector<SymInt> sizes = b.sizes(self), wanted = c.SymInts("size");
  if (b.ok() && wanted.size() > sizes.size()) b.Invalid("sum_to_size: too many dimensions");
  if (!b.ok()) return {};
  // The sum of all elements, of integers in int64, even of a tensor without dimensions.
  if (wanted.empty()) return {SumAll(b, self)};
  const size_t extra = sizes.size() - wanted.size();
  std::vector<int64_t> leading, others;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d < extra) {
      leading.push_back(static_cast<int64_t>(d));
    } else if (wanted[d - extra].AsInt() == 1 && sizes[d].AsInt() != 1) {
      others.push_back(static_cast<int64_t>(d - extra));
    } else if (b.Range(wanted[d - extra] - sizes[d]).min > 0 ||
               b.Range(wanted[d - extra] - sizes[d]).max < 0) {
      b.Invalid(absl::StrCat("sum_to_size: size ", sizes[d].ToString(), " of dimension ", d,
                             " is not ", wanted[d - extra].ToString()));
    }
  }
  const auto sum = [&](const Argument& x, const std::vector<int64_t>& dims, bool keep) {
    return dims.empty() ? x : Sum(b, x, dims, keep);
  };
  return {sum(sum(self, leading, false), others, true)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._is_all_true.default", Same<"aten.all.default">},
    {"aten._is_any_true.default", Same<"aten.any.default">},
    {"aten.sum_to_size.default", SumToSize},
    {"aten.all.default", All},
    {"aten.all.dim", All},
    {"aten.all.dims", All},
    {"aten.aminmax.default", AMinMax},
    {"aten.argsort.default", ArgSort},
    {"aten.argsort.stable", ArgSort},
    {"aten.corrcoef.default", Corrcoef},
    {"aten.count_nonzero.default", CountNonzero},
    {"aten.count_nonzero.dim_IntList", CountNonzero},
    {"aten.cov.default", Cov},
    {"aten.cumulative_trapezoid.dx", Trapezoid<true>},
    {"aten.cumulative_trapezoid.x", Trapezoid<true>},
    {"aten.diff.default", Diff},
    {"aten.histc.default", Histogram},
    {"aten.logsumexp.default", LogSumExp},
    {"aten.median.default", Median},
    {"aten.mode.default", Mode},
    {"aten.msort.default", MSort},
    {"aten.nanmean.default", NanMean},
    {"aten.nanmedian.default", NanMedian},
    {"aten.nanmedian.dim", NanMedianDim},
    {"aten.nansum.default", NanSum},
    {"aten.nanquantile.default", Quantile<true>},
    {"aten.nanquantile.scalar", Quantile<true>},
    {"aten.quantile.default", Quantile<false>},
    {"aten.quantile.scalar", Quantile<false>},
    {"aten.special_logsumexp.default", LogSumExp},
    {"aten.std.correction", Std},
    {"aten.std.default", Std},
    {"aten.std.dim", Std},
    {"aten.std_mean.correction", StdMean},
    {"aten.std_mean.default", StdMean},
    {"aten.std_mean.dim", StdMean},
    {"aten.sum.default", SumDefault},
    {"aten.trapezoid.dx", Trapezoid<false>},
    {"aten.trapezoid.x", Trapezoid<false>},
    {"aten.trapz.dx", Trapezoid<false>},
    {"aten.trapz.x", Trapezoid<false>},
    {"aten.var.default", Var},
    {"aten.var_mean.correction", VarMean},
    {"aten.var_mean.default", VarMean},
    {"aten.var_mean.dim", VarMean},
};

}  // namespace

absl::Span<const Decomposition> ReductionDecompositions() { return kDecompositions; }

}  // namespace belay::exir
