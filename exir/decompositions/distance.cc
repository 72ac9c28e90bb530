// Vector norms, distances and angles.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

bool Has(const OpCall& c, std::string_view name) {
  return c.op()->schema()->ArgumentIndex(name).has_value();
}

// Norm over `dims`; None means all dimensions.
Argument VectorNorm(OpBuilder& b, const Argument& x, const OpArgument& order,
                    const OpArgument& dims, bool keep, const Argument& dtype = Argument()) {
  return b.Call("aten.linalg_vector_norm.default", {x, order, dims, keep}, {{"dtype", dtype}});
}

// --- Norms ---

// norm.*: the default order is 2; an empty list means all dimensions.
std::vector<Argument> Norm(OpBuilder& b, const OpCall& c) {
  const bool has_dims = Has(c, "dim") && !c.Ints("dim").empty();
  const Argument order = Has(c, "p") ? c.Or("p", 2) : Argument(2);
  return {VectorNorm(b, c["self"], order, has_dims ? c["dim"] : Argument(),
                     Has(c, "keepdim") && c.Bool("keepdim"),
                     Has(c, "dtype") ? c["dtype"] : Argument())};
}

// Singular values of the matrices in `dims`, two distinct nonnegative dimensions.
Argument SingularValues(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < b.rank(x); ++d) {
    if (d != dims[0] && d != dims[1]) order.push_back(d);
  }
  order.insert(order.end(), {dims[0], dims[1]});
  const std::vector<Argument> svd =
      b.CallAll("aten._linalg_svd.default", {Permute(b, x, order), false, false});
  return b.ok() ? svd[1] : Argument();
}
// If `keep`, restores the two reduced dimensions with size 1.
Argument Kept(OpBuilder& b, Argument norm, std::vector<int64_t> dims, bool keep) {
  if (!keep) return norm;
  std::sort(dims.begin(), dims.end());
  for (int64_t dim : dims) norm = Unsqueeze(b, norm, dim);
  return norm;
}

// Norm of the matrices in two dimensions: the maximum or minimum of row or column sums.
Argument MatrixNorm(OpBuilder& b, Argument x, double order, std::vector<int64_t> dims, bool keep) {
  if (dims.size() != 2) b.Invalid("matrix norm: expected two dimensions");
  if (!b.ok()) return Argument();
  for (int64_t& dim : dims) dim = b.WrapDim(dim, b.rank(x));
  if (dims[0] == dims[1]) b.Invalid("matrix norm: the dimensions are the same");
  if (!b.ok()) return Argument();
  // Matrices without elements: positive orders give 0, as a sum of no elements does.
  const bool empty = b.size(x, dims[0]).AsInt() == 0 || b.size(x, dims[1]).AsInt() == 0;
  const bool known = std::isinf(order) || std::abs(order) == 1 || std::abs(order) == 2;
  if (empty && known && order > 0) return Sum(b, Unary(b, "abs", x), dims, keep);
  if (empty && order == -2) b.Invalid("matrix norm: order -2 of a matrix without elements");
  if (std::abs(order) == 2) {
    const Argument values = SingularValues(b, x, dims);
    if (!b.ok()) return Argument();
    return Kept(b, Select(b, values, -1, order > 0 ? 0 : -1), dims, keep);
  }
  if (!known) {
    b.Invalid(absl::StrCat("matrix norm: unknown order ", order));
    return Argument();
  }
  const int64_t summed = std::isinf(order) ? dims[1] : dims[0];
  int64_t compared = std::isinf(order) ? dims[0] : dims[1];
  const Argument sums = Sum(b, Unary(b, "abs", x), {summed}, keep);
  if (!keep && compared > summed) --compared;
  return b.Call(order > 0 ? "aten.amax.default" : "aten.amin.default", {sums, {compared}, keep});
}
Argument NamedMatrixNorm(OpBuilder& b, const Argument& x, const std::string& name,
                         const std::vector<int64_t>& dims, bool keep) {
  if (name == "fro") return VectorNorm(b, x, 2, dims, keep);
  if (name == "nuc") {
    std::vector<int64_t> wrapped;
    for (int64_t dim : dims) wrapped.push_back(b.WrapDim(dim, b.rank(x)));
    if (wrapped.size() != 2 || wrapped[0] == wrapped[1]) {
      b.Invalid("matrix norm: expected two different dimensions");
    }
    if (!b.ok()) return Argument();
    return Kept(b, Sum(b, SingularValues(b, x, wrapped), {-1}), wrapped, keep);
  } else {
    b.Invalid(absl::StrCat("matrix norm: unknown order '", name, "'"));
  }
  return Argument();
}

Argument WithDtype(OpBuilder& b, const OpCall& c, const Argument& x) {
  return Cast(b, x, c.DtypeOr("dtype", b.dtype(x)));
}
std::vector<Argument> LinalgMatrixNorm(OpBuilder& b, const OpCall& c) {
  const Argument x = WithDtype(b, c, c.arguments()[0]);
  if (c["ord"].is<std::string>()) {
    return {NamedMatrixNorm(b, x, c.String("ord"), c.Ints("dim"), c.Bool("keepdim"))};
  }
  return {MatrixNorm(b, x, c.Double("ord"), c.Ints("dim"), c.Bool("keepdim"))};
}
// Vector or matrix norm, depending on the number of dimensions.
std::vector<Argument> LinalgNorm(OpBuilder& b, const OpCall& c) {
  const Argument x = WithDtype(b, c, c["self"]);
  const bool keep = c.Bool("keepdim"), all = c.IsNone("dim");
  std::vector<int64_t> dims = all ? AllDims(b.rank(x)) : c.Ints("dim");
  if (c.IsNone("ord")) return {VectorNorm(b, x, 2, all ? Argument() : c["dim"], keep)};
  if (dims.size() > 2) b.Invalid("linalg_norm: expected one dimension or two");
  if (c["ord"].is<std::string>()) return {NamedMatrixNorm(b, x, c.String("ord"), dims, keep)};
  if (dims.size() < 2) return {VectorNorm(b, x, c["ord"], dims, keep)};
  return {MatrixNorm(b, x, c.Double("ord"), dims, keep)};
}

// Norm over all dimensions except one.
Argument NormExcept(OpBuilder& b, const Argument& x, int64_t order, int64_t dim) {
  if (dim == -1) return VectorNorm(b, x, order, Argument(), false);
  std::vector<int64_t> dims = AllDims(b.rank(x));
  dim = b.WrapDim(dim, b.rank(x));
  if (!b.ok() || dims.empty()) return x;
  dims.erase(dims.begin() + dim);
  return dims.empty() ? Unary(b, "abs", x) : VectorNorm(b, x, order, dims, true);
}
std::vector<Argument> NormExceptDim(OpBuilder& b, const OpCall& c) {
  return {NormExcept(b, c["v"], c.Int("pow"), c.Int("dim"))};
}
// Returns v scaled to the norms g, and the original norms.
std::vector<Argument> WeightNormInterface(OpBuilder& b, const OpCall& c) {
  const Argument norm = NormExcept(b, c["v"], 2, c.Int("dim"));
  return {Mul(b, c["v"], Div(b, c["g"], norm)), norm};
}
std::vector<Argument> WeightNorm(OpBuilder& b, const OpCall& c) {
  return {WeightNormInterface(b, c)[0]};
}

// Scales slices with a norm above maxnorm down to it.
std::vector<Argument> Renorm(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (b.rank(x) < 2) b.Invalid("renorm: expected at least two dimensions");
  std::vector<int64_t> dims = AllDims(b.rank(x));
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  if (!b.ok()) return {};
  dims.erase(dims.begin() + dim);
  const Argument norm = VectorNorm(b, Cast(b, x, ComputeDtype(b.dtype(x))), c["p"], dims, true);
  const Argument scale = Mul(b, Unary(b, "reciprocal", Add(b, norm, 1e-7)), c["maxnorm"]);
  const Argument factor = Where(b, Binary(b, "gt", norm, c["maxnorm"]), scale, 1.0);
  return {Cast(b, Mul(b, x, factor), b.dtype(x))};
}

// --- Distances ---

std::vector<Argument> Dist(OpBuilder& b, const OpCall& c) {
  return {VectorNorm(b, Sub(b, c["self"], c["other"]), c["p"], Argument(), false)};
}
std::vector<Argument> PairwiseDistance(OpBuilder& b, const OpCall& c) {
  const Argument difference = Add(b, Sub(b, c["x1"], c["x2"]), c["eps"]);
  return {VectorNorm(b, difference, c["p"], std::vector<int64_t>{-1}, c.Bool("keepdim"))};
}
std::vector<Argument> EuclideanDist(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["x1"], &y = c["x2"];
  const auto square = [&](const Argument& v) { return Sum(b, Pow(b, v, 2), {-1}, true); };
  const auto ones = [&](const Argument& v) { return b.Call("aten.ones_like.default", {v}); };
  const Argument xs = square(x), ys = square(y);
  const int64_t last = b.rank(x) - 1;
  const Argument left = Cat(b, {Mul(b, x, -2), xs, ones(xs)}, last);
  const Argument right = Cat(b, {y, ones(ys), ys}, last);
  const Argument squares = b.Call("aten.matmul.default", {left, Transpose(b, right, -2, -1)});
  return {Unary(b, "sqrt", Clamp(b, squares, 0, Argument()))};
}
std::vector<Argument> CosineSimilarity(OpBuilder& b, const OpCall& c) {
  Argument x = c["x1"], y = c["x2"];
  const DType dtype = PromotedDtype(b, x, y);
  if (!IsFloatingPoint(dtype)) b.Invalid("cosine_similarity: expected floating point numbers");
  const std::vector<SymInt> sizes = BroadcastSizes(b, {x, y});
  if (!(b.sizes(x) == sizes)) x = Expand(b, x, sizes);
  if (!(b.sizes(y) == sizes)) y = Expand(b, y, sizes);
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const auto unit = [&](const Argument& v) {
    const Argument norm = VectorNorm(b, v, 2, std::vector<int64_t>{dim}, true);
    return Div(b, v, Clamp(b, norm, c["eps"], Argument()));
  };
  return {Sum(b, Mul(b, unit(Cast(b, x, dtype)), unit(Cast(b, y, dtype))), {dim})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._euclidean_dist.default", EuclideanDist},
    {"aten._weight_norm.default", WeightNorm},
    {"aten._weight_norm_interface.default", WeightNormInterface},
    {"aten.cdist.default", Same<"aten._cdist_forward.default">},
    {"aten.cosine_similarity.default", CosineSimilarity},
    {"aten.dist.default", Dist},
    {"aten.frobenius_norm.dim", Norm},
    {"aten.linalg_matrix_norm.default", LinalgMatrixNorm},
    {"aten.linalg_matrix_norm.str_ord", LinalgMatrixNorm},
    {"aten.linalg_norm.default", LinalgNorm},
    {"aten.linalg_norm.ord_str", LinalgNorm},
    {"aten.norm.Scalar", Norm},
    {"aten.norm.ScalarOpt_dim", Norm},
    {"aten.norm.ScalarOpt_dim_dtype", Norm},
    {"aten.norm.ScalarOpt_dtype", Norm},
    {"aten.norm_except_dim.default", NormExceptDim},
    {"aten.pairwise_distance.default", PairwiseDistance},
    {"aten.pdist.default", Same<"aten._pdist_forward.default">},
    {"aten.renorm.default", Renorm},
};

}  // namespace

absl::Span<const Decomposition> DistanceDecompositions() { return kDecompositions; }

}  // namespace belay::exir
