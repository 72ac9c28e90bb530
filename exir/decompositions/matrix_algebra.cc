// Linear systems, and operators based on matrix factorizations.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

bool Has(const OpCall& c, std::string_view name) {
  return c.op()->schema()->ArgumentIndex(name).has_value() && !c.IsNone(name);
}
Argument Transposed(OpBuilder& b, const Argument& x) { return Transpose(b, x, -2, -1); }
Argument Adjoint(OpBuilder& b, const Argument& x) {
  const Argument transposed = Transposed(b, x);
  return IsComplex(b.dtype(x)) ? b.Call("aten._conj_physical.default", {transposed}) : transposed;
}
Argument MatMul(OpBuilder& b, const Argument& x, const Argument& y) {
  return b.Call("aten.matmul.default", {x, y});
}
// Fails at run time if `info` reports a failed factorization.
void Check(OpBuilder& b, const Argument& info, bool is_matrix, std::string_view api) {
  b.Call("aten._linalg_check_errors.default", {info, std::string(api)}, {{"is_matrix", is_matrix}});
}
bool IsMatrix(OpBuilder& b, const Argument& x) {
  if (b.rank(x) < 2) b.Invalid("expected a matrix");
  return b.rank(x) == 2;
}

// --- Linear systems ---

// Broadcasts the batch dimensions of both.
void BroadcastBatches(OpBuilder& b, Argument& x, Argument& y) {
  if (b.rank(x) < 2 || b.rank(y) < 2) b.Invalid("expected matrices");
  if (!b.ok()) return;
  const std::vector<SymInt> xs = b.sizes(x), ys = b.sizes(y);
  const auto batch_of = [&](const std::vector<SymInt>& sizes) {
    return std::vector<SymInt>(sizes.begin(), sizes.end() - 2);
  };
  if (batch_of(xs) == batch_of(ys)) return;
  const Argument x_batch = Select(b, Select(b, x, -1, 0), -1, 0);
  const Argument y_batch = Select(b, Select(b, y, -1, 0), -1, 0);
  const std::vector<SymInt> batch = BroadcastSizes(b, {x_batch, y_batch});
  const auto expanded = [&](const Argument& v, const std::vector<SymInt>& sizes) {
    std::vector<SymInt> wide = batch;
    wide.insert(wide.end(), sizes.end() - 2, sizes.end());
    return wide == sizes ? v : Expand(b, v, wide);
  };
  x = expanded(x, xs);
  y = expanded(y, ys);
}

// Returns result, LU, pivots, info.
std::vector<Argument> SolveResults(OpBuilder& b, Argument matrix, Argument sides, bool left) {
  if (b.rank(matrix) < 2) b.Invalid("linalg_solve: expected a matrix");
  if (!b.ok()) return {};
  std::vector<SymInt> rows = b.sizes(matrix);
  rows.pop_back();
  const bool vector =
      b.rank(sides) == 1 || (b.rank(sides) == b.rank(matrix) - 1 && b.sizes(sides) == rows);
  std::vector<Argument> factors = b.CallAll("aten.linalg_lu_factor_ex.default", {matrix});
  if (!b.ok()) return {};
  if (vector) sides = Unsqueeze(b, sides, left ? -1 : -2);
  Argument lu = factors[0], pivots = factors[1];
  const std::vector<SymInt> before = b.sizes(lu);
  BroadcastBatches(b, lu, sides);
  if (!b.ok()) return {};
  if (b.sizes(lu) != before) {
    std::vector<SymInt> wide = b.sizes(lu);
    wide.pop_back();
    pivots = Expand(b, pivots, wide);
  }
  Argument result = b.Call("aten.linalg_lu_solve.default", {lu, pivots, sides}, {{"left", left}});
  if (vector) result = Squeeze(b, result, left ? -1 : -2);
  return {result, factors[0], factors[1], factors[2]};
}
std::vector<Argument> SolveWithFactors(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> results = SolveResults(b, c["A"], c["B"], c.Bool("left"));
  if (b.ok() && c.Bool("check_errors")) Check(b, results[3], IsMatrix(b, c["A"]), "linalg.solve");
  return results;
}
std::vector<Argument> SolveWithInfo(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> results = SolveWithFactors(b, c);
  if (!b.ok()) return {};
  return {results[0], results[3]};
}
std::vector<Argument> Solve(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> results = SolveResults(b, c["A"], c["B"], c.Bool("left"));
  if (!b.ok()) return {};
  Check(b, results[3], IsMatrix(b, c["A"]), "linalg.solve");
  return {results[0]};
}
std::vector<Argument> LuFactor(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> results =
      b.CallAll("aten.linalg_lu_factor_ex.default", {c["A"]}, {{"pivot", c["pivot"]}});
  if (!b.ok()) return {};
  Check(b, results[2], IsMatrix(b, c["A"]), "torch.linalg.lu_factor");
  return {results[0], results[1]};
}

// A batch of identity matrices.
Argument Identities(OpBuilder& b, const std::vector<SymInt>& batch, int64_t rows, int64_t columns,
                    DType dtype) {
  const Argument eye = b.Call("aten.eye.m", {rows, columns}, {{"dtype", dtype}});
  std::vector<SymInt> wide = batch;
  wide.insert(wide.end(), {SymInt(rows), SymInt(columns)});
  return Expand(b, eye, wide);
}
// Unpacks P, L and U from a packed LU matrix and a list of pivots.
std::vector<Argument> Unpacked(OpBuilder& b, const Argument& lu, const Argument& pivots, bool data,
                               bool permutation) {
  if (b.rank(lu) < 2) b.Invalid("expected a matrix");
  if (!b.ok()) return {};
  const DType dtype = b.dtype(lu);
  const std::vector<SymInt> sizes = b.sizes(lu);
  const std::vector<SymInt> batch(sizes.begin(), sizes.end() - 2);
  const std::optional<int64_t> m = b.size(lu, -2).AsInt(), n = b.size(lu, -1).AsInt();
  if (!m.has_value() || !n.has_value()) {
    b.Unsupported("factors of a matrix of unknown size");
    return {};
  }
  const int64_t k = std::min(*m, *n), dim = b.rank(lu) - 2;
  std::vector<Argument> results(3, Full(b, {SymInt(0)}, 0, dtype));
  if (permutation) {
    // Solving with only the row swaps inverts them; rows after the last pivot stay.
    Argument all = pivots;
    if (*m > k) {
      std::vector<SymInt> wide = batch;
      wide.push_back(SymInt(*m - k));
      const Argument rest =
          b.Call("aten.arange.start", {k + 1, *m + 1}, {{"dtype", DType::kInt32}});
      all = Cat(b, {pivots, Expand(b, rest, wide)}, dim);
    }
    const Argument eye = Identities(b, batch, *m, *m, dtype);
    results[0] = Transposed(b, b.Call("aten.linalg_lu_solve.default", {eye, all, eye}));
  }
  if (data) {
    const Argument lower = b.Call("aten.tril.default", {Slice(b, lu, dim + 1, 0, k), -1});
    results[1] = Add(b, lower, Identities(b, batch, *m, k, dtype));
    results[2] = b.Call("aten.triu.default", {Slice(b, lu, dim, 0, k)});
  }
  return results;
}
std::vector<Argument> Lu(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> factors =
      b.CallAll("aten.linalg_lu_factor_ex.default", {c["A"]}, {{"pivot", c["pivot"]}});
  if (!b.ok()) return {};
  return Unpacked(b, factors[0], factors[1], /*data=*/true, c.Bool("pivot"));
}
std::vector<Argument> LuUnpack(OpBuilder& b, const OpCall& c) {
  return Unpacked(b, c["LU_data"], c["LU_pivots"], c.Bool("unpack_data"), c.Bool("unpack_pivots"));
}

Argument SolveTriangle(OpBuilder& b, Argument matrix, Argument sides, bool upper,
                       bool unit = false) {
  BroadcastBatches(b, matrix, sides);
  return b.Call("aten.linalg_solve_triangular.default", {matrix, sides},
                {{"upper", upper}, {"left", true}, {"unitriangular", unit}});
}
// Solves A X = b with the older interface, which also returns the matrix.
std::vector<Argument> TriangularSolve(OpBuilder& b, const OpCall& c) {
  const bool transposed = c.Bool("transpose");
  const Argument matrix = transposed ? Transposed(b, c["A"]) : c["A"];
  return {
      SolveTriangle(b, matrix, c["self"], c.Bool("upper") != transposed, c.Bool("unitriangular")),
      Clone(b, c["A"])};
}

// Solves with A = L Lᴴ or Uᴴ U.
Argument CholeskySolution(OpBuilder& b, const Argument& factor, const Argument& sides, bool upper) {
  const Argument other = Adjoint(b, factor);
  const Argument between = SolveTriangle(b, upper ? other : factor, sides, /*upper=*/false);
  return SolveTriangle(b, upper ? factor : other, between, /*upper=*/true);
}
std::vector<Argument> CholeskySolve(OpBuilder& b, const OpCall& c) {
  return {CholeskySolution(b, c["input2"], c["self"], c.Bool("upper"))};
}
std::vector<Argument> CholeskyInverse(OpBuilder& b, const OpCall& c) {
  const Argument& factor = c["self"];
  IsMatrix(b, factor);
  if (!b.ok()) return {};
  const Argument order = Arange(b, b.size(factor, -1));
  const Argument one = b.Call("aten.eq.Tensor", {Unsqueeze(b, order, 1), order});
  const Argument sides = Expand(b, Cast(b, one, b.dtype(factor)), b.sizes(factor));
  return {CholeskySolution(b, factor, sides, c.Bool("upper"))};
}
std::vector<Argument> Cholesky(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> results =
      b.CallAll("aten.linalg_cholesky_ex.default", {c["self"], c["upper"]});
  if (!b.ok()) return {};
  Check(b, results[1], IsMatrix(b, c["self"]), "cholesky");
  return {results[0]};
}

// Reshapes a tensor equation to a matrix equation and solves it.
std::vector<Argument> TensorSolve(OpBuilder& b, const OpCall& c) {
  const Argument& other = c["other"];
  Argument self = c["self"];
  const int64_t rank = b.rank(self);
  if (!c.IsNone("dims")) {
    // Move these dimensions to the end.
    std::vector<int64_t> order, last;
    for (int64_t dim : c.Ints("dims")) last.push_back(b.WrapDim(dim, rank));
    for (int64_t d = 0; d < rank; ++d) {
      if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
    }
    order.insert(order.end(), last.begin(), last.end());
    if (b.ok() && static_cast<int64_t>(order.size()) != rank) b.Invalid("tensorsolve: dims repeat");
    if (!b.ok()) return {};
    self = Permute(b, self, order);
  }
  if (rank < b.rank(other)) b.Invalid("tensorsolve: other has more dimensions");
  if (!b.ok()) return {};
  const std::vector<SymInt> sizes = b.sizes(self);
  const std::vector<SymInt> unknowns(sizes.begin() + b.rank(other), sizes.end());
  const SymInt count = Product(unknowns);
  const Argument result = b.Call("aten.linalg_solve.default",
                                 {Reshape(b, self, {count, count}), Reshape(b, other, {count})});
  return {Reshape(b, result, unknowns)};
}
std::vector<Argument> TensorInverse(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> sizes = b.sizes(c["self"]);
  const int64_t ind = c.Int("ind");
  if (b.ok() && (ind < 1 || ind > static_cast<int64_t>(sizes.size()))) {
    b.Invalid("tensorinv: ind is not a valid number of dimensions");
  }
  if (!b.ok()) return {};
  const std::vector<SymInt> first(sizes.begin(), sizes.begin() + ind);
  std::vector<SymInt> result(sizes.begin() + ind, sizes.end());
  const Argument matrix = Reshape(b, c["self"], {Product(first), Product(result)});
  result.insert(result.end(), first.begin(), first.end());
  return {Reshape(b, b.Call("aten.linalg_inv.default", {matrix}), result)};
}

// --- Determinants ---

// Whether PyTorch factors the transposed matrix: LAPACK is column-major, so row-major is
// transposed.
bool FactorsTransposed(OpBuilder& b, const Argument& matrix) {
  const TensorMeta meta = b.meta(matrix);
  return meta.is_contiguous() && !IsComplex(meta.dtype);
}

// Returns sign, log|det|, LU, pivots. Computed from the factors, because the determinant easily
// overflows.
std::vector<Argument> SignAndLog(OpBuilder& b, const Argument& matrix) {
  const std::vector<Argument> factors =
      b.CallAll("aten.linalg_lu_factor_ex.default",
                {FactorsTransposed(b, matrix) ? Transposed(b, matrix) : matrix});
  if (!b.ok()) return {};
  const Argument& pivots = factors[1];
  const Argument diagonal = b.Call("aten.diagonal.default", {factors[0], 0, -2, -1});
  const Argument size = Unary(b, "abs", diagonal);
  const Argument signs =
      IsComplex(b.dtype(matrix)) ? Div(b, diagonal, size) : Unary(b, "sign", diagonal);
  const Argument places = Add(b, Arange(b, b.size(pivots, -1)), 1);
  const Argument exchanges =
      Sum(b, Cast(b, b.Call("aten.ne.Tensor", {pivots, places}), DType::kInt64), {-1});
  const Argument parity = NumberMinus(b, 1, Mul(b, Binary(b, "remainder", exchanges, 2), 2));
  const Argument sign = Mul(b, b.Call("aten.prod.dim_int", {signs, -1}), parity);
  return {sign, Sum(b, Unary(b, "log", size), {-1}), factors[0], pivots};
}
std::vector<Argument> SignAndLogDetFactors(OpBuilder& b, const OpCall& c) {
  return SignAndLog(b, c.arguments()[0]);
}
std::vector<Argument> SignAndLogDet(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> results = SignAndLog(b, c.arguments()[0]);
  if (b.ok()) results.resize(2);
  return results;
}
// NaN for negative determinants.
std::vector<Argument> LogDet(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> results = SignAndLog(b, c["self"]);
  if (!b.ok()) return {};
  return {Add(b, Unary(b, "log", results[0]), results[1])};
}

// --- Eigenvalues and singular values ---

std::vector<Argument> Eigh(OpBuilder& b, const OpCall& c) {
  return b.CallAll("aten._linalg_eigh.default", {c["self"], c["UPLO"], true});
}
std::vector<Argument> EigenvaluesOfSymmetric(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten._linalg_eigh.default", {c["self"], c["UPLO"], false})};
}
Argument SingularValues(OpBuilder& b, const Argument& x) {
  const std::vector<Argument> results = b.CallAll("aten._linalg_svd.default", {x, false, false});
  return b.ok() ? results[1] : Argument();
}
std::vector<Argument> Svd(OpBuilder& b, const OpCall& c) {
  return b.CallAll("aten._linalg_svd.default", {c["A"], c["full_matrices"], true});
}
std::vector<Argument> SvdValues(OpBuilder& b, const OpCall& c) {
  return {SingularValues(b, c["A"])};
}
// Returns U, S and V, not the adjoint of V.
std::vector<Argument> OldSvd(OpBuilder& b, const OpCall& c) {
  if (!c.Bool("compute_uv")) b.Unsupported("svd without vectors");
  std::vector<Argument> results =
      b.CallAll("aten._linalg_svd.default", {c["self"], !c.Bool("some"), true});
  if (!b.ok()) return {};
  results[2] = Transposed(b, results[2]);
  return results;
}
std::vector<Argument> OldQr(OpBuilder& b, const OpCall& c) {
  return b.CallAll("aten.linalg_qr.default",
                   {c["self"], std::string(c.Bool("some") ? "reduced" : "complete")});
}

// Threshold of singular values: max(absolute, relative * largest value). The default of `relative`
// is eps * max(rows, columns).
Argument Threshold(OpBuilder& b, const OpCall& c, const Argument& matrix, const Argument& values) {
  const auto number = [&](std::string_view name) -> std::optional<Argument> {
    if (!Has(c, name)) return std::nullopt;
    if (b.IsTensor(c[name])) return Unsqueeze(b, Cast(b, c[name], b.dtype(values)), -1);
    return ScalarTensor(b, c[name], b.dtype(values));
  };
  std::optional<Argument> absolute = number("atol"), relative = number("rtol");
  if (Has(c, "tol")) absolute = number("tol");
  if (Has(c, "rcond")) relative = number("rcond");
  const std::optional<int64_t> rows = b.size(matrix, -2).AsInt(),
                               columns = b.size(matrix, -1).AsInt();
  if (!rows.has_value() || !columns.has_value())
    b.Unsupported("a rank of matrices of unknown size");
  if (!b.ok()) return Argument();
  const double precision = b.dtype(values) == DType::kFloat64
                               ? std::numeric_limits<double>::epsilon()
                               : std::numeric_limits<float>::epsilon();
  const Argument by_default = ScalarTensor(
      b, absolute.has_value() ? 0.0 : precision * static_cast<double>(std::max(*rows, *columns)),
      b.dtype(values));
  Argument share = relative.value_or(by_default);
  // An absolute threshold of zero keeps the default relative one.
  if (absolute.has_value() && !relative.has_value() && !Has(c, "tol")) {
    const Argument usual = ScalarTensor(
        b, precision * static_cast<double>(std::max(*rows, *columns)), b.dtype(values));
    share = Where(b, Binary(b, "gt", *absolute, 0.0), by_default, usual);
  }
  const Argument largest = b.Call("aten.amax.default", {values, std::vector<int64_t>{-1}, true});
  const Argument limit = Mul(b, largest, share);
  return absolute.has_value() ? b.Call("aten.maximum.default", {limit, *absolute}) : limit;
}
// Whether a matrix dimension is 0: the matrix has no singular values.
bool IsEmpty(OpBuilder& b, const Argument& matrix) {
  if (b.rank(matrix) < 2) b.Invalid("expected a matrix");
  return b.ok() && (b.size(matrix, -1).AsInt() == 0 || b.size(matrix, -2).AsInt() == 0);
}
// Zeros of sizes [batch…, last…].
Argument BatchOfZeros(OpBuilder& b, const Argument& matrix, const std::vector<SymInt>& last,
                      DType dtype) {
  std::vector<SymInt> sizes = b.sizes(matrix);
  sizes.resize(sizes.size() - 2);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return Full(b, sizes, 0, dtype);
}
bool IsHermitian(const OpCall& c) { return Has(c, "hermitian") && c.Bool("hermitian"); }

std::vector<Argument> PseudoInverse(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const bool empty = IsEmpty(b, self) || b.meta(self).NumElements() == SymInt(0);
  if (!b.ok()) return {};
  if (empty) {
    return {BatchOfZeros(b, self, {b.size(self, -1), b.size(self, -2)}, b.dtype(self))};
  }
  if (IsHermitian(c)) {  // A = V diag(w) V^T
    const std::vector<Argument> eigh =
        b.CallAll("aten._linalg_eigh.default", {self, std::string("L"), true});
    if (!b.ok()) return {};
    const Argument sizes = Unary(b, "abs", eigh[0]);
    const Argument kept = b.Call("aten.gt.Tensor", {sizes, Threshold(b, c, self, sizes)});
    const Argument inverse = Where(b, kept, Unary(b, "reciprocal", eigh[0]), 0.0);
    return {MatMul(b, Mul(b, eigh[1], Unsqueeze(b, inverse, -2)), Transposed(b, eigh[1]))};
  }
  const std::vector<Argument> svd = b.CallAll("aten._linalg_svd.default", {self, false, true});
  if (!b.ok()) return {};
  const Argument kept = b.Call("aten.gt.Tensor", {svd[1], Threshold(b, c, self, svd[1])});
  const Argument inverse = Where(b, kept, Unary(b, "reciprocal", svd[1]), 0.0);
  return {
      MatMul(b, Mul(b, Transposed(b, svd[2]), Unsqueeze(b, inverse, -2)), Transposed(b, svd[0]))};
}
std::vector<Argument> Rank(OpBuilder& b, const OpCall& c) {
  const Argument& self = c.arguments()[0];
  if (IsEmpty(b, self)) return {BatchOfZeros(b, self, {}, DType::kInt64)};
  // Singular values of a symmetric matrix are the magnitudes of its eigenvalues.
  const auto magnitudes = [&] {
    return Unary(b, "abs", b.Call("aten._linalg_eigh.default", {self, std::string("L"), false}));
  };
  const Argument values = IsHermitian(c) ? magnitudes() : SingularValues(b, self);
  if (!b.ok()) return {};
  const Argument kept = b.Call("aten.gt.Tensor", {values, Threshold(b, c, self, values)});
  return {Sum(b, Cast(b, kept, DType::kInt64), {-1})};
}

// Zeros of sizes [batch…], real: norms and condition numbers of matrices without elements.
Argument NormOfNothing(OpBuilder& b, const Argument& matrix) {
  return Sum(b, Unary(b, "abs", matrix), {-2, -1});
}
std::vector<Argument> Condition(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const double p = c.IsNone("p") ? 2 : c.Double("p");
  if (IsEmpty(b, self)) return {NormOfNothing(b, self)};
  if (!b.ok()) return {};
  if (p == 2 || p == -2) {
    const Argument values = SingularValues(b, self);
    const Argument largest = Select(b, values, -1, 0), smallest = Select(b, values, -1, -1);
    return {p == 2 ? Div(b, largest, smallest) : Div(b, smallest, largest)};
  }
  const auto norm = [&](const Argument& x) {
    return b.Call("aten.linalg_matrix_norm.default", {x, c["p"]});
  };
  return {Mul(b, norm(self), norm(b.Call("aten.linalg_inv_ex.default", {self})))};
}
std::vector<Argument> NamedCondition(OpBuilder& b, const OpCall& c) {
  if (IsEmpty(b, c["self"])) return {NormOfNothing(b, c["self"])};
  const auto norm = [&](const Argument& x) {
    return b.Call("aten.linalg_matrix_norm.str_ord", {x, c["p"]});
  };
  return {Mul(b, norm(c["self"]), norm(b.Call("aten.linalg_inv_ex.default", {c["self"]})))};
}
std::vector<Argument> NuclearNorm(OpBuilder& b, const OpCall& c) {
  const Argument dims = Has(c, "dim") ? c["dim"] : Argument(Argument::List{-2, -1});
  return {b.Call("aten.linalg_matrix_norm.str_ord",
                 {c["self"], std::string("nuc"), dims, c["keepdim"]})};
}

// --- Householder reflections ---

// First columns of the product of all I - tau v vᴴ; the vectors v are stored below the diagonal.
std::vector<Argument> HouseholderProduct(OpBuilder& b, const OpCall& c) {
  const Argument &input = c.arguments()[0], &tau = c.arguments()[1];
  const std::optional<int64_t> count = b.size(tau, -1).AsInt();
  constexpr int64_t kMost = 256;
  if (!count.has_value() || *count > kMost)
    b.Unsupported("a product of an unsupported number of reflections");
  if (IsComplex(b.dtype(input))) b.Unsupported("complex reflections");
  if (!b.ok()) return {};
  const Argument row = Unsqueeze(b, Arange(b, b.size(input, -2)), 1);
  const Argument column = Arange(b, b.size(input, -1));
  const DType dtype = b.dtype(input);
  Argument q = Expand(b, Cast(b, b.Call("aten.eq.Tensor", {row, column}), dtype), b.sizes(input));
  for (int64_t k = *count; k-- > 0 && b.ok();) {
    const Argument below = Cast(b, Binary(b, "gt", row, k), dtype);
    const Argument itself = Cast(b, Binary(b, "eq", row, k), dtype);
    const Argument v = Add(b, Mul(b, Slice(b, input, -1, k, k + 1), below), itself);
    const Argument factor = Unsqueeze(b, Slice(b, tau, -1, k, k + 1), -1);
    q = Sub(b, q, Mul(b, MatMul(b, v, MatMul(b, Transposed(b, v), q)), factor));
  }
  return {q};
}

std::vector<Argument> LuWithInfo(OpBuilder& b, const OpCall& c) {
  return b.CallAll("aten.linalg_lu_factor_ex.default", {c["self"]},
                   {{"pivot", c["pivot"]}, {"check_errors", c["check_errors"]}});
}

std::vector<Argument> OldLuSolve(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.linalg_lu_solve.default", {c["LU_data"], c["LU_pivots"], c["self"]})};
}

std::vector<Argument> MatrixExp(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"],
                  [&](const Argument& x) { return b.Call("aten.linalg_matrix_exp.default", {x}); });
}

constexpr Decomposition kDecompositions[] = {
    {"aten._lu_with_info.default", LuWithInfo},
    {"aten._linalg_slogdet.default", SignAndLogDetFactors},
    {"aten._linalg_solve_ex.default", SolveWithFactors},
    {"aten.cholesky.default", Cholesky},
    {"aten.cholesky_inverse.default", CholeskyInverse},
    {"aten.cholesky_solve.default", CholeskySolve},
    {"aten.linalg_cond.default", Condition},
    {"aten.linalg_cond.p_str", NamedCondition},
    {"aten.linalg_eigh.default", Eigh},
    {"aten.linalg_eigvalsh.default", EigenvaluesOfSymmetric},
    {"aten.linalg_householder_product.default", HouseholderProduct},
    {"aten.linalg_lu.default", Lu},
    {"aten.linalg_lu_factor.default", LuFactor},
    {"aten.lu_solve.default", OldLuSolve},
    {"aten.lu_unpack.default", LuUnpack},
    {"aten.linalg_matrix_rank.atol_rtol_float", Rank},
    {"aten.linalg_matrix_rank.atol_rtol_tensor", Rank},
    {"aten.linalg_matrix_rank.default", Rank},
    {"aten.linalg_matrix_rank.tol_tensor", Rank},
    {"aten.linalg_pinv.atol_rtol_float", PseudoInverse},
    {"aten.linalg_pinv.atol_rtol_tensor", PseudoInverse},
    {"aten.linalg_pinv.default", PseudoInverse},
    {"aten.linalg_pinv.rcond_tensor", PseudoInverse},
    {"aten.pinverse.default", Same<"aten.linalg_pinv.default">},
    {"aten.linalg_slogdet.default", SignAndLogDet},
    {"aten.linalg_solve.default", Solve},
    {"aten.linalg_solve_ex.default", SolveWithInfo},
    {"aten.linalg_svd.default", Svd},
    {"aten.linalg_svdvals.default", SvdValues},
    {"aten.linalg_tensorinv.default", TensorInverse},
    {"aten.linalg_tensorsolve.default", TensorSolve},
    {"aten.logdet.default", LogDet},
    {"aten.matrix_exp.default", MatrixExp},
    {"aten.nuclear_norm.default", NuclearNorm},
    {"aten.nuclear_norm.dim", NuclearNorm},
    {"aten.qr.default", OldQr},
    {"aten.slogdet.default", SignAndLogDet},
    {"aten.svd.default", OldSvd},
    {"aten.triangular_solve.default", TriangularSolve},
};

}  // namespace

absl::Span<const Decomposition> MatrixAlgebraDecompositions() { return kDecompositions; }

}  // namespace belay::exir
