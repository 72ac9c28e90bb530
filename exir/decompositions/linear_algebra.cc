// Matmuls.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// Flattens all dimensions except the last.
Argument AsMatrix(OpBuilder& b, const Argument& x) {
  if (b.rank(x) == 2) return x;
  const std::vector<SymInt> sizes = b.sizes(x);
  if (sizes.empty()) return Reshape(b, x, {1, 1});
  return Reshape(b, x,
                 {Product(std::vector<SymInt>(sizes.begin(), sizes.end() - 1)), sizes.back()});
}

std::vector<Argument> Linear(OpBuilder& b, const OpCall& c) {
  const Argument &input = c["input"], &weight = c["weight"], &bias = c["bias"];
  std::vector<SymInt> sizes = b.sizes(input);
  if (!b.ok()) return {};
  if (sizes.empty()) b.Invalid("linear: the input has no dimensions");
  if (b.rank(weight) == 1) {
    // A single output feature: the last dimension disappears.
    Argument dot = b.Call("aten.matmul.default", {input, weight});
    return {bias.is_none() ? dot : Add(b, dot, bias)};
  }
  const Argument transposed = Transpose(b, weight, 0, 1);
  const Argument rows = AsMatrix(b, input);
  Argument result = bias.is_none() ? b.Call("aten.mm.default", {rows, transposed})
                                   : b.Call("aten.addmm.default", {bias, rows, transposed});
  if (sizes.size() == 2 || !b.ok()) return {result};
  sizes.back() = b.size(weight, 0);
  return {b.Call("aten.view.default", {result, sizes})};
}

// Sum in the dtype of x, also for integers.
Argument SumKept(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims) {
  const DType dtype = b.dtype(x);
  if (!IsIntegral(dtype, /*include_bool=*/true)) return Sum(b, x, dims);
  return b.Call("aten.sum.dim_IntList", {x, dims}, {{"dtype", dtype}});
}

// mv and dot of float32 become mm, whose kernel is vectorized and uses threads.
std::vector<Argument> Dot(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"];
  const bool conjugates = c.op()->op() == "vdot" && IsComplex(b.dtype(x));
  if (conjugates) x = b.Call("aten._conj_physical.default", {x});
  if (b.dtype(x) == DType::kFloat32) {
    const Argument row = b.Call("aten.unsqueeze.default", {x, 0});
    const Argument column = b.Call("aten.unsqueeze.default", {c.arguments()[1], 1});
    return {
        b.Call("aten.view.default", {b.Call("aten.mm.default", {row, column}), Argument::List{}})};
  }
  return {SumKept(b, Mul(b, x, c.arguments()[1]), {})};
}

// The matrix that a matrix is the transpose of, or None.
Argument TransposeOf(OpBuilder& b, const Argument& x) {
  const ValueId* const value = x.get_if<ValueId>();
  const NodeId producer = value == nullptr ? NodeId() : b.graph().value(*value).producer;
  if (!producer.valid() || b.rank(x) != 2) return Argument();
  const Node& node = b.graph().node(producer);
  const std::string_view name = node.target->name();
  bool transposes = name == "aten.t.default" || name == "aten.t_copy.default";
  if (name == "aten.permute.default" || name == "aten.permute_copy.default") {
    const Argument& dims = node.argument("dims");
    transposes = dims == Argument(Argument::List{1, 0}) || dims == Argument(Argument::List{-1, -2});
  } else if (name == "aten.transpose.int" || name == "aten.transpose_copy.int") {
    const auto* const d0 = node.argument("dim0").get_if<int64_t>();
    const auto* const d1 = node.argument("dim1").get_if<int64_t>();
    // Of -2, -1, 0 and 1, two name the same dimension if both are even or both are odd.
    transposes = d0 != nullptr && d1 != nullptr && (*d0 - *d1) % 2 != 0;
  }
  return transposes ? node.operand() : Argument();
}

// A transposed matrix is not copied: A^T v = (v^T A)^T.
Argument ProductWithVector(OpBuilder& b, const Argument& matrix, const Argument& vector) {
  if (b.dtype(matrix) != DType::kFloat32 || b.dtype(vector) != DType::kFloat32) {
    return SumKept(b, Mul(b, matrix, vector), {1});
  }
  const Argument source = TransposeOf(b, matrix);
  if (!source.is_none()) {
    return Squeeze(b, b.Call("aten.mm.default", {Unsqueeze(b, vector, 0), source}), 0);
  }
  return Squeeze(b, b.Call("aten.mm.default", {matrix, Unsqueeze(b, vector, 1)}), 1);
}
std::vector<Argument> MatrixVector(OpBuilder& b, const OpCall& c) {
  return {ProductWithVector(b, c["self"], c["vec"])};
}

// Broadcast batch dimensions of both.
std::vector<SymInt> BroadcastBatch(OpBuilder& b, const std::vector<SymInt>& x,
                                   const std::vector<SymInt>& y) {
  const size_t rank = std::max(x.size(), y.size());
  std::vector<SymInt> result(rank, SymInt(1));
  for (size_t i = 0; i < rank; ++i) {
    const SymInt one = 1;
    const SymInt& xs = i + x.size() < rank ? one : x[i + x.size() - rank];
    const SymInt& ys = i + y.size() < rank ? one : y[i + y.size() - rank];
    result[i] = xs == one ? ys : xs;
    if (xs.AsInt().has_value() && ys.AsInt().has_value() && !(xs == one) && !(ys == one) &&
        !(xs == ys)) {
      b.Invalid(absl::StrCat("matmul: batch dimensions ", xs.ToString(), " and ", ys.ToString()));
    }
  }
  return result;
}

std::vector<Argument> MatMul(OpBuilder& b, const OpCall& c) {
  const Argument x = c.arguments()[0], y = c.arguments()[1];
  const int64_t xr = b.rank(x), yr = b.rank(y);
  if (!b.ok()) return {};
  if (xr == 0 || yr == 0) b.Invalid("matmul: an operand has no dimensions");
  if (xr == 1 && yr == 1) return {SumKept(b, Mul(b, x, y), {})};
  if (xr == 2 && yr == 1) return {ProductWithVector(b, x, y)};
  if (xr == 1 && yr == 2)
    return {Squeeze(b, b.Call("aten.mm.default", {Unsqueeze(b, x, 0), y}), 0)};
  if (xr == 2 && yr == 2) return {b.Call("aten.mm.default", {x, y})};
  if (!b.ok()) return {};
  // If the right operand is a matrix or vector, fold the batch dimensions into rows.
  if (yr <= 2) {
    std::vector<SymInt> sizes = b.sizes(x);
    const Argument matrix = yr == 1 ? Unsqueeze(b, y, 1) : y;
    const Argument product = b.Call("aten.mm.default", {AsMatrix(b, x), matrix});
    sizes.pop_back();
    if (yr == 2) sizes.push_back(b.size(y, 1));
    return {b.Call("aten.view.default", {product, sizes})};
  }
  const Argument left = xr == 1 ? Unsqueeze(b, x, 0) : x;
  const std::vector<SymInt> ls = b.sizes(left), rs = b.sizes(y);
  if (!b.ok()) return {};
  std::vector<SymInt> batch =
      BroadcastBatch(b, {ls.begin(), ls.end() - 2}, {rs.begin(), rs.end() - 2});
  const SymInt m = ls[ls.size() - 2], n = rs.back();
  const auto batched = [&](const Argument& tensor, const std::vector<SymInt>& own) {
    // Dimensions keep their own sizes, unless they are repeated: sizes of both operands may be equal
    // without being equal expressions.
    std::vector<SymInt> repeated = batch;
    const size_t added = batch.size() + 2 - own.size();
    for (size_t i = 0; i + 2 < own.size(); ++i) {
      if (!(own[i] == SymInt(1))) repeated[added + i] = own[i];
    }
    const SymInt rows = own[own.size() - 2], columns = own.back();
    std::vector<SymInt> sizes = repeated;
    sizes.push_back(rows);
    sizes.push_back(columns);
    const Argument expanded = own == sizes ? tensor : Expand(b, tensor, sizes);
    return b.rank(expanded) == 3 ? expanded
                                 : Reshape(b, expanded, {Product(repeated), rows, columns});
  };
  Argument result = b.Call("aten.bmm.default", {batched(left, ls), batched(y, rs)});
  std::vector<SymInt> sizes = batch;
  if (xr > 1) sizes.push_back(m);
  sizes.push_back(n);
  if (sizes.size() == 3 && xr > 1) return {result};
  return {b.Call("aten.view.default", {result, sizes})};
}

std::vector<Argument> Outer(OpBuilder& b, const OpCall& c) {
  return {Mul(b, Unsqueeze(b, c["self"], 1), c["vec2"])};
}

// beta * self + alpha * product, with both factors in the dtype of the product.
Argument ScaledSum(OpBuilder& b, const OpCall& c, Argument product) {
  const Argument alpha = NumberIn(b, c["alpha"], b.dtype(product));
  const Argument beta = NumberIn(b, c["beta"], b.dtype(product));
  if (alpha != Argument(1)) product = Mul(b, product, alpha);
  if (beta == Argument(0) || beta == Argument(0.0)) return product;
  const Argument self = beta == Argument(1) ? c["self"] : Mul(b, c["self"], beta);
  return Add(b, self, product);
}

std::vector<Argument> BatchedAddMatMul(OpBuilder& b, const OpCall& c) {
  return {ScaledSum(b, c, b.Call("aten.bmm.default", {c["batch1"], c["batch2"]}))};
}
std::vector<Argument> AddBatchedMatMul(OpBuilder& b, const OpCall& c) {
  const Argument product = b.Call("aten.bmm.default", {c["batch1"], c["batch2"]});
  return {ScaledSum(b, c, SumKept(b, product, {0}))};
}
std::vector<Argument> AddMatrixVector(OpBuilder& b, const OpCall& c) {
  // Without rows, PyTorch returns beta * self unexpanded, also if self has one element.
  if (b.size(c["mat"], 0) == SymInt(0) && c["beta"] != Argument(0) && c["beta"] != Argument(0.0)) {
    return {Mul(b, c["self"], NumberIn(b, c["beta"], b.dtype(c["self"])))};
  }
  return {ScaledSum(b, c, ProductWithVector(b, c["mat"], c["vec"]))};
}
std::vector<Argument> AddOuter(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const Argument product = Mul(b, Unsqueeze(b, c["vec1"], 1), c["vec2"]);
  const DType dtype = PromotedDtype(b, self, product);
  for (const char* name : {"beta", "alpha"}) {
    if (c[name].is<double>() && IsIntegral(dtype, /*include_bool=*/true)) {
      b.Invalid(absl::StrCat("addr: ", name, " of integers is not an integer"));
    }
    if (c[name].is<bool>() && dtype != DType::kBool) {
      b.Invalid(absl::StrCat("addr: ", name, " of numbers is a boolean"));
    }
  }
  if (dtype != DType::kBool) return {ScaledSum(b, c, product)};
  // (beta and self) or (alpha and product)
  const auto holds = [&](const Argument& factor) {
    return factor != Argument(0) && factor != Argument(false);
  };
  const Argument nothing = Full(b, BroadcastSizes(b, {self, product}), false, DType::kBool);
  return {b.Call("aten.logical_or.default",
                 {holds(c["beta"]) ? self : nothing, holds(c["alpha"]) ? product : nothing})};
}

// Factorization of an _ex operator with an error check.
Argument Checked(OpBuilder& b, const std::vector<Argument>& factors, std::string_view api) {
  if (factors.size() < 2) return Argument();
  b.Call("aten._linalg_check_errors.default", {factors[1], std::string(api)},
         {{"is_matrix", b.rank(factors[0]) == 2}});
  return factors[0];
}
std::vector<Argument> Inverse(OpBuilder& b, const OpCall& c) {
  return {Checked(b, b.CallAll("aten.linalg_inv_ex.default", {c.arguments()[0]}), "linalg.inv")};
}
std::vector<Argument> Cholesky(OpBuilder& b, const OpCall& c) {
  return {Checked(b, b.CallAll("aten.linalg_cholesky_ex.default", {c["self"], c["upper"]}),
                  "linalg.cholesky")};
}
std::vector<Argument> Determinant(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten._linalg_det.default", {c.arguments()[0]})};
}

// Multiplies and accumulates in another dtype.
std::vector<Argument> BaddbmmIn(OpBuilder& b, const OpCall& c) {
  const DType dtype = c.DtypeOr("out_dtype", b.dtype(c["batch1"]));
  return {
      b.Call("aten.baddbmm.default",
             {Cast(b, c["self"], dtype), Cast(b, c["batch1"], dtype), Cast(b, c["batch2"], dtype)},
             {{"beta", c["beta"]}, {"alpha", c["alpha"]}})};
}

template <bool kBatched>
std::vector<Argument> MatMulIn(OpBuilder& b, const OpCall& c) {
  const DType dtype = c.DtypeOr("out_dtype", b.dtype(c["self"]));
  return {b.Call(kBatched ? "aten.bmm.default" : "aten.mm.default",
                 {Cast(b, c["self"], dtype), Cast(b, c["mat2"], dtype)})};
}
std::vector<Argument> AddmmIn(OpBuilder& b, const OpCall& c) {
  const DType dtype = c.DtypeOr("out_dtype", b.dtype(c["mat1"]));
  return {b.Call("aten.addmm.default",
                 {Cast(b, c["self"], dtype), Cast(b, c["mat1"], dtype), Cast(b, c["mat2"], dtype)},
                 {{"beta", c["beta"]}, {"alpha", c["alpha"]}})};
}
std::vector<Argument> AddmmActivation(OpBuilder& b, const OpCall& c) {
  const Argument sum = b.Call("aten.addmm.default", {c["self"], c["mat1"], c["mat2"]},
                              {{"beta", c["beta"]}, {"alpha", c["alpha"]}});
  return {Unary(b, c.Bool("use_gelu") ? "gelu" : "relu", sum)};
}

// int8 matmul with 32-bit accumulation.
std::vector<Argument> ByteMatMul(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.mm.default",
                 {Cast(b, c["self"], DType::kInt32), Cast(b, c["mat2"], DType::kInt32)})};
}

// int8 weights with one scale per row.
std::vector<Argument> BytePackedMatMul(OpBuilder& b, const OpCall& c) {
  const DType dtype = b.dtype(c["self"]), compute = ComputeDtype(dtype);
  const Argument weights = Transpose(b, Cast(b, c["mat2"], compute), 0, 1);
  const Argument product = b.Call("aten.mm.default", {Cast(b, c["self"], compute), weights});
  return {Cast(b, Mul(b, product, Cast(b, c["scales"], compute)), dtype)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._addmm_activation.default", AddmmActivation},
    {"aten._int_mm.default", ByteMatMul},
    {"aten._weight_int8pack_mm.default", BytePackedMatMul},
    {"aten.baddbmm.dtype", BaddbmmIn},
    {"aten.addbmm.default", AddBatchedMatMul},
    {"aten.addmm.dtype", AddmmIn},
    {"aten.addmv.default", AddMatrixVector},
    {"aten.addr.default", AddOuter},
    {"aten.baddbmm.default", BatchedAddMatMul},
    {"aten.bmm.dtype", MatMulIn<true>},
    {"aten.det.default", Determinant},
    {"aten.dot.default", Dot},
    {"aten.ger.default", Outer},
    {"aten.inverse.default", Inverse},
    {"aten.linalg_cholesky.default", Cholesky},
    {"aten.linalg_det.default", Determinant},
    {"aten.linalg_inv.default", Inverse},
    {"aten.linalg_matmul.default", MatMul},
    {"aten.linear.default", Linear},
    {"aten.matmul.default", MatMul},
    {"aten.mm.dtype", MatMulIn<false>},
    {"aten.mv.default", MatrixVector},
    {"aten.outer.default", Outer},
    {"aten.vdot.default", Dot},
};

}  // namespace

absl::Span<const Decomposition> LinearAlgebraDecompositions() { return kDecompositions; }

}  // namespace belay::exir
