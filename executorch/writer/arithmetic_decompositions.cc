// Elementwise functions, matmuls, sums, and random numbers.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executorch/writer/portable_decompositions.h"
#include "exir/builder/op_shorthand.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpBuilder;
using exir::OpCall;
using exir::OpName;
using exir::SymInt;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// linalg_vector_norm with a numeric `ord`; an empty `dim` means all dimensions.
std::vector<Argument> VectorNorm(OpBuilder& b, const OpCall& c) {
  const double order = c.Double("ord");
  const DType result = c.DtypeOr("dtype", b.dtype(c["self"]));
  const DType computed = exir::ComputeDtype(result);
  const Argument x = exir::Unary(b, "abs", exir::Cast(b, c["self"], computed));
  std::vector<int64_t> dims = c.Ints("dim");
  if (dims.empty()) dims = exir::AllDims(b.rank(c["self"]));
  const bool keep = c.Bool("keepdim");
  const auto sum = [&](const Argument& of) { return exir::Sum(b, of, dims, keep); };
  Argument norm;
  if (order == kInfinity || order == -kInfinity) {
    norm = b.Call(order > 0 ? "aten.amax.default" : "aten.amin.default", {x, dims, keep});
  } else if (order == 0) {
    norm = sum(exir::Cast(b, exir::Binary(b, "ne", x, 0), computed));
  } else if (order == 1) {
    norm = sum(x);
  } else if (order == 2) {
    norm = exir::Unary(b, "sqrt", sum(exir::Mul(b, x, x)));
  } else {
    norm = exir::Pow(b, sum(exir::Pow(b, x, order)), 1 / order);
  }
  return {exir::Cast(b, norm, result)};
}

// ExecuTorch's integer kernel is wrong for some operands of different signs.
std::vector<Argument> Remainder(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"], y = c["other"];
  const Argument quotient = b.Call(b.IsTensor(y) ? "aten.div.Tensor_mode" : "aten.div.Scalar_mode",
                                   {x, y}, {{"rounding_mode", std::string("floor")}});
  return {exir::Sub(b, x, exir::Mul(b, quotient, y))};
}

// The fast kernel multiplies by the reciprocal of a divisor of one element, which may round
// differently; the overload with a mode divides.
std::vector<Argument> Divide(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.div.Tensor_mode", {c["self"], c["other"]}, {{"rounding_mode", Argument()}})};
}

// mm has a fast kernel; addmm does not.
std::vector<Argument> AddMm(OpBuilder& b, const OpCall& c) {
  return {exir::Add(b, b.Call("aten.mm.default", {c["mat1"], c["mat2"]}), c["self"])};
}

// Avoids overflow of squares: float32 is computed in float64, and float64 is divided by the larger
// operand. An infinite operand gives infinity even if the other is NaN.
std::vector<Argument> Hypot(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], y = c["other"];
  const DType result = exir::Promote(b, {&x, &y}, /*to_float=*/true);
  for (Argument* side : {&x, &y})
    *side = exir::Unary(b, "abs", exir::Cast(b, *side, DType::kFloat64));
  const Argument infinite =
      b.Call("aten.logical_or.default", {exir::Unary(b, "isinf", x), exir::Unary(b, "isinf", y)});
  const auto square = [&](const Argument& of) { return exir::Mul(b, of, of); };
  Argument hypot;
  if (result == DType::kFloat64) {
    const Argument larger = b.Call("aten.maximum.default", {x, y});
    const Argument divisor = exir::Where(b, exir::Binary(b, "eq", larger, 0), 1, larger);
    const Argument ratio = exir::Div(b, b.Call("aten.minimum.default", {x, y}), divisor);
    hypot = exir::Mul(b, larger, exir::Unary(b, "sqrt", exir::Add(b, square(ratio), 1)));
  } else {
    hypot = exir::Unary(b, "sqrt", exir::Add(b, square(x), square(y)));
  }
  return {exir::Cast(b, exir::Where(b, infinite, kInfinity, hypot), result)};
}

// Detects -0 by its negative reciprocal.
std::vector<Argument> CopySign(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], other = c["other"];
  const DType result = exir::Promote(b, {&x, &other}, /*to_float=*/true);
  const Argument negative = b.Call("aten.logical_or.default",
                                   {exir::Binary(b, "lt", other, 0),
                                    exir::Binary(b, "lt", exir::Unary(b, "reciprocal", other), 0)});
  const Argument magnitude = exir::Unary(b, "abs", x);
  return {
      exir::Cast(b, exir::Where(b, negative, exir::Unary(b, "neg", magnitude), magnitude), result)};
}

template <const char* kTensors, const char* kScalars>
std::vector<Argument> Shift(OpBuilder& b, const OpCall& c) {
  return {b.Call(b.IsTensor(c["other"]) ? kTensors : kScalars, {c["self"], c["other"]})};
}
constexpr char kLeftTensors[] = "aten.bitwise_left_shift.Tensor";
constexpr char kLeftScalars[] = "aten.bitwise_left_shift.Tensor_Scalar";
constexpr char kRightTensors[] = "aten.bitwise_right_shift.Tensor";
constexpr char kRightScalars[] = "aten.bitwise_right_shift.Tensor_Scalar";

// sum(unsqueeze(i1) * unsqueeze(i2) * unsqueeze(i3)), each unsqueezed at its own dimensions.
std::vector<Argument> Trilinear(OpBuilder& b, const OpCall& c) {
  const auto expanded = [&](std::string_view tensor, std::string_view expand) {
    Argument x = c[tensor];
    std::vector<int64_t> dims = c.Ints(expand);
    std::sort(dims.begin(), dims.end());
    for (int64_t dim : dims) x = exir::Unsqueeze(b, x, dim);
    return x;
  };
  const DType result = b.dtype(c["i1"]);
  const auto computed = [&](const Argument& x) {
    return exir::Cast(b, x, exir::ComputeDtype(result));
  };
  const Argument x = computed(expanded("i1", "expand1")), y = computed(expanded("i2", "expand2")),
                 z = computed(expanded("i3", "expand3"));
  const Argument product = exir::Mul(b, exir::Mul(b, x, y), z);
  const std::vector<int64_t> dims = c.Ints("sumdim");
  return {exir::Cast(b, dims.empty() ? product : exir::Sum(b, product, dims), result)};
}

// Group g has the rows offs[g - 1] .. offs[g] - 1 and the matrix mat2[g]. Multiplies all rows by
// all matrices, and keeps the product of each row with its group's matrix.
std::vector<Argument> GroupedMm(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"], y = c["mat2"];
  const DType result = c.DtypeOr("out_dtype", b.dtype(x));
  if (c.IsNone("offs")) return {exir::Cast(b, b.Call("aten.bmm.default", {x, y}), result)};
  const Argument ends = exir::Unsqueeze(b, exir::Cast(b, c["offs"], DType::kInt64), 1);
  const SymInt groups = b.size(y, 0), rows = b.size(x, 0);
  const Argument begins = exir::Cat(b,
                                    {exir::Full(b, {SymInt(1), SymInt(1)}, 0, DType::kInt64),
                                     exir::Slice(b, ends, 0, 0, groups - SymInt(1))},
                                    0);
  const Argument places = exir::Arange(b, rows);
  const Argument is_in = b.Call("aten.logical_and.default", {exir::Binary(b, "le", begins, places),
                                                             exir::Binary(b, "gt", ends, places)});
  const Argument all = exir::Expand(b, exir::Unsqueeze(b, x, 0), {groups, rows, b.size(x, 1)});
  const Argument product = b.Call("aten.bmm.default", {all, y});
  const Argument kept = exir::Where(b, exir::Unsqueeze(b, is_in, 2), product, 0);
  return {exir::Cast(b, exir::Sum(b, kept, {0}), result)};
}

std::vector<Argument> Angle(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"];
  if (IsComplex(b.dtype(x))) {
    const Argument parts = b.Call("aten.view_as_real.default", {x});
    return {b.Call("aten.atan2.default",
                   {exir::Select(b, parts, -1, 1), exir::Select(b, parts, -1, 0)})};
  }
  return exir::ComputedFloat(b, x, [&](const Argument& real) {
    const Argument zero = exir::Where(b, exir::Unary(b, "isnan", real), real, 0);
    return exir::Where(b, exir::Binary(b, "lt", real, 0), std::numbers::pi, zero);
  });
}

// fmax or fmin: if one operand is NaN, returns the other one.
template <OpName kExtreme>
std::vector<Argument> NumberExtreme(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], y = c["other"];
  const DType result = exir::Promote(b, {&x, &y});
  Argument extreme = b.Call(kExtreme.name, {x, y});
  if (IsFloatingPoint(result)) {
    const auto is_nan = [&](const Argument& of) { return exir::Unary(b, "isnan", of); };
    extreme = exir::Where(b, is_nan(x), y, exir::Where(b, is_nan(y), x, extreme));
  }
  return {exir::Cast(b, extreme, result)};
}

template <OpName kOp>
std::vector<Argument> RandomLike(OpBuilder& b, const OpCall& c) {
  return {
      b.Call(kOp.name, {b.sizes(c["self"])}, {{"dtype", c.DtypeOr("dtype", b.dtype(c["self"]))}})};
}

constexpr exir::Decomposition kDecompositions[] = {
    {"aten.__lshift__.Scalar", Shift<kLeftTensors, kLeftScalars>},
    {"aten.__lshift__.Tensor", Shift<kLeftTensors, kLeftScalars>},
    {"aten.__rshift__.Scalar", Shift<kRightTensors, kRightScalars>},
    {"aten.__rshift__.Tensor", Shift<kRightTensors, kRightScalars>},
    {"aten._grouped_mm.default", GroupedMm},
    {"aten._trilinear.default", Trilinear},
    {"aten.addmm.default", AddMm},
    {"aten.angle.default", Angle},
    {"aten.copysign.Tensor", CopySign},
    {"aten.div.Tensor", Divide},
    {"aten.fmax.default", NumberExtreme<"aten.maximum.default">},
    {"aten.fmin.default", NumberExtreme<"aten.minimum.default">},
    {"aten.hypot.default", Hypot},
    {"aten.linalg_vector_norm.default", VectorNorm},
    {"aten.rand_like.default", RandomLike<"aten.rand.default">},
    {"aten.randn_like.default", RandomLike<"aten.randn.default">},
    {"aten.remainder.Scalar", Remainder},
    {"aten.remainder.Tensor", Remainder},
};

}  // namespace

absl::Span<const exir::Decomposition> ArithmeticDecompositions() { return kDecompositions; }

}  // namespace belay::pte
