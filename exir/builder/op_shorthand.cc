#include "exir/builder/op_shorthand.h"

#include <cmath>
#include <cstdint>
#include <numeric>

#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay::exir {
namespace {

bool IsTensor(OpBuilder& b, const OpArgument& argument) {
  const Argument* plain = std::get_if<Argument>(&argument.value());
  return plain != nullptr && b.IsTensor(*plain);
}

void AddTo(TypePromotion& promotion, OpBuilder& b, const Argument& operand) {
  if (b.IsTensor(operand)) {
    promotion.AddTensor(b.dtype(operand), static_cast<int>(b.rank(operand)));
  } else if (const ValueId* computed = operand.get_if<ValueId>()) {
    const bool is_int = std::holds_alternative<SymIntType>(b.graph().value(*computed).type);
    promotion.AddScalar(is_int ? DType::kInt64 : DType::kFloat32);
  } else {
    promotion.AddScalar(operand.is<int64_t>()                ? DType::kInt64
                        : operand.is<bool>()                 ? DType::kBool
                        : operand.is<std::complex<double>>() ? DType::kComplex64
                                                             : DType::kFloat32);
  }
}

}  // namespace

Argument Unary(OpBuilder& b, std::string_view name, const Argument& x) {
  return b.Call(absl::StrCat("aten.", name, ".default"), {x});
}

Argument Binary(OpBuilder& b, std::string_view name, const Argument& x, const OpArgument& y) {
  return b.Call(absl::StrCat("aten.", name, IsTensor(b, y) ? ".Tensor" : ".Scalar"), {x, y});
}

Argument NumberMinus(OpBuilder& b, const OpArgument& number, const Argument& x) {
  return Add(b, Unary(b, "neg", x), number);
}

Argument ScalarTensor(OpBuilder& b, const OpArgument& number, DType dtype) {
  return b.Call("aten.scalar_tensor.default", {number}, {{"dtype", dtype}});
}

Argument NumberIn(OpBuilder& b, const Argument& number, DType dtype) {
  const double* real = number.get_if<double>();
  const int64_t* integer = number.get_if<int64_t>();
  if (!IsIntegral(dtype, /*include_bool=*/false) || (real == nullptr && integer == nullptr)) {
    return number;
  }
  if (integer != nullptr && dtype == DType::kInt64) return number;
  const double value = real != nullptr ? std::trunc(*real) : static_cast<double>(*integer);
  const double count = std::exp2(8 * static_cast<double>(DTypeSize(dtype)));
  const bool is_byte = dtype == DType::kUint8;
  const double end = is_byte ? count : count / 2;
  if (!(value < end && (is_byte ? value > -end : value >= -end))) {
    b.Invalid(
        absl::StrCat(real != nullptr ? *real : value, " does not fit into ", DTypeName(dtype)));
    return number;
  }
  return Argument(static_cast<int64_t>(is_byte && value < 0 ? value + count : value));
}
Argument Where(OpBuilder& b, const Argument& condition, const OpArgument& x, const OpArgument& y) {
  const bool x_tensor = IsTensor(b, x), y_tensor = IsTensor(b, y);
  const Argument a = b.Resolve(x), c = b.Resolve(y);
  const DType dtype = x_tensor ? b.dtype(a) : y_tensor ? b.dtype(c) : DType::kFloat32;
  return b.Call("aten.where.self", {condition, x_tensor ? a : ScalarTensor(b, x, dtype),
                                    y_tensor ? c : ScalarTensor(b, y, dtype)});
}

Argument Clamp(OpBuilder& b, const Argument& x, const OpArgument& min, const OpArgument& max) {
  return b.Call("aten.clamp.default", {x, min, max});
}

Argument Cast(OpBuilder& b, const Argument& x, DType dtype) {
  if (b.dtype(x) == dtype) return x;
  return b.Call("aten._to_copy.default", {x}, {{"dtype", dtype}});
}

DType ComputeDtype(DType dtype) {
  return IsFloatingPoint(dtype) && DTypeSize(dtype) < 4 ? DType::kFloat32 : dtype;
}

DType FloatDtype(DType dtype) {
  return IsIntegral(dtype, true) ? DType::kFloat32 : ComputeDtype(dtype);
}

DType ResultFloat(DType dtype) { return IsIntegral(dtype, true) ? DType::kFloat32 : dtype; }

DType Promote(OpBuilder& b, const std::vector<Argument*>& operands, bool to_float) {
  TypePromotion promotion;
  for (const Argument* operand : operands) AddTo(promotion, b, *operand);
  const absl::StatusOr<DType> common = promotion.Result();
  if (!b.ok()) return DType::kFloat32;
  if (!common.ok()) {
    b.Fail(common.status());
    return DType::kFloat32;
  }
  const DType compute = to_float ? FloatDtype(*common) : ComputeDtype(*common);
  for (Argument* operand : operands) {
    if (b.IsTensor(*operand)) *operand = Cast(b, *operand, compute);
  }
  return to_float ? ResultFloat(*common) : *common;
}

DType PromotedDtype(OpBuilder& b, const Argument& x, const Argument& y) {
  TypePromotion promotion;
  AddTo(promotion, b, x);
  AddTo(promotion, b, y);
  const absl::StatusOr<DType> result = promotion.Result();
  if (result.ok()) return *result;
  b.Fail(result.status());
  return DType::kFloat32;
}

Argument PromotedNumber(OpBuilder& b, const Argument& number, const Argument& tensor) {
  const DType dtype = PromotedDtype(b, number, tensor);
  // A conversion between integers wraps; scalar_tensor rejects values out of range.
  const bool wraps = number.is<int64_t>() && IsIntegral(dtype, /*include_bool=*/false);
  return Cast(b, ScalarTensor(b, number, wraps ? DType::kInt64 : dtype), dtype);
}

Argument Sum(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims, bool keep) {
  return b.Call("aten.sum.dim_IntList", {x, dims, keep});
}
Argument SumAll(OpBuilder& b, const Argument& x) {
  return b.Call("aten.sum.dim_IntList", {x, std::vector<int64_t>()});
}
Argument Mean(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims, bool keep) {
  return b.Call("aten.mean.dim", {x, dims, keep});
}
Argument MeanAll(OpBuilder& b, const Argument& x) { return Unary(b, "mean", x); }

Argument FakeQuantizePerToken(OpBuilder& b, const Argument& x) {
  const std::vector<Argument> parameters = b.CallAll(
      "quantized_decomposed.choose_qparams_per_token_asymmetric.default", {x, DType::kInt8});
  if (!b.ok()) return {};
  const Argument bytes = b.Call("quantized_decomposed.quantize_per_token.default",
                                {x, parameters[0], parameters[1], -128, 127, DType::kInt8});
  return b.Call("quantized_decomposed.dequantize_per_token.default",
                {bytes, parameters[0], parameters[1], -128, 127, DType::kInt8, DType::kFloat32});
}

Argument Reshape(OpBuilder& b, const Argument& x, const OpArgument& sizes) {
  if (b.Accepts("aten.view.default", {x, sizes})) return b.Call("aten.view.default", {x, sizes});
  const Argument copy =
      b.Call("aten.clone.default", {x}, {{"memory_format", MemoryFormat::kContiguous}});
  return b.Call("aten.view.default", {copy, sizes});
}

Argument Permute(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims) {
  return b.Call("aten.permute.default", {x, dims});
}

Argument Transpose(OpBuilder& b, const Argument& x, int64_t dim0, int64_t dim1) {
  const int64_t rank = b.rank(x);
  dim0 = b.WrapDim(dim0, rank);
  dim1 = b.WrapDim(dim1, rank);
  std::vector<int64_t> dims = AllDims(rank);
  if (rank > 0 && b.ok()) std::swap(dims[dim0], dims[dim1]);
  return Permute(b, x, dims);
}

Argument Unsqueeze(OpBuilder& b, const Argument& x, int64_t dim) {
  return b.Call("aten.unsqueeze.default", {x, dim});
}
Argument Squeeze(OpBuilder& b, const Argument& x, int64_t dim) {
  return b.Call("aten.squeeze.dims", {x, {dim}});
}
Argument Expand(OpBuilder& b, const Argument& x, const OpArgument& sizes) {
  return b.Call("aten.expand.default", {x, sizes});
}
Argument Select(OpBuilder& b, const Argument& x, int64_t dim, const OpArgument& index) {
  return b.Call("aten.select.int", {x, dim, index});
}
Argument Slice(OpBuilder& b, const Argument& x, int64_t dim, const OpArgument& start,
               const OpArgument& end, const OpArgument& step) {
  return b.Call("aten.slice.Tensor", {x, dim, start, end, step});
}

Argument Cat(OpBuilder& b, const std::vector<Argument>& tensors, int64_t dim) {
  return b.Call("aten.cat.default", {Argument(tensors), dim});
}
Argument Clone(OpBuilder& b, const Argument& x) { return Unary(b, "clone", x); }
Argument Contiguous(OpBuilder& b, const Argument& x) {
  if (b.meta(x).is_contiguous()) return x;
  return b.Call("aten.clone.default", {x}, {{"memory_format", MemoryFormat::kContiguous}});
}
Argument Full(OpBuilder& b, const OpArgument& sizes, const OpArgument& value, DType dtype) {
  return b.Call("aten.full.default", {sizes, value}, {{"dtype", dtype}});
}
Argument Arange(OpBuilder& b, const OpArgument& end) {
  return b.Call("aten.arange.start_step", {0, end}, {{"dtype", DType::kInt64}});
}

std::vector<Argument> SameAs(OpBuilder& b, const OpCall& c, std::string_view op) {
  return b.CallAll(op, {c.arguments().begin(), c.arguments().end()});
}

std::vector<SymInt> BroadcastSizes(OpBuilder& b, const std::vector<Argument>& tensors) {
  const SymInt one = 1;
  std::vector<SymInt> result;
  for (const Argument& tensor : tensors) {
    const std::vector<SymInt> sizes = b.sizes(tensor);
    if (sizes.size() > result.size()) {
      result.insert(result.begin(), sizes.size() - result.size(), one);
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      SymInt& size = result[result.size() - sizes.size() + i];
      if (sizes[i] == one || sizes[i] == size) continue;
      if (size == one) {
        size = sizes[i];
      } else if (size.AsInt().has_value() && sizes[i].AsInt().has_value()) {
        b.Invalid(absl::StrCat("sizes ", size.ToString(), " and ", sizes[i].ToString(),
                               " do not broadcast"));
      } else if (sizes[i].AsInt().has_value()) {
        size = sizes[i];
      }
    }
  }
  return result;
}

void ExpectAtLeast(OpBuilder& b, const SymInt& size, int64_t least, std::string_view otherwise) {
  if (!b.ok()) return;
  const SymRange range = b.Range(size);
  if (range.min >= least) return;
  if (range.max < least) return b.Unsupported(otherwise);
  const Argument enough = b.Call("_operator.ge", {size, least});
  b.Call("aten._assert_scalar.default", {enough, Argument(std::string(otherwise))});
}

SymInt Product(const std::vector<SymInt>& sizes) {
  SymInt product = 1;
  for (const SymInt& size : sizes) product = product * size;
  return product;
}

std::vector<int64_t> AllDims(int64_t rank) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

}  // namespace belay::exir
