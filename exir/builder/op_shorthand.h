// Shorthands for the calls that decompositions emit most.
#ifndef BELAY_EXIR_BUILDER_OP_SHORTHAND_H_
#define BELAY_EXIR_BUILDER_OP_SHORTHAND_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"

namespace belay::exir {

// Emits aten.<name>.default of one tensor: Unary(b, "exp", x).
Argument Unary(OpBuilder& b, std::string_view name, const Argument& x);
// Emits aten.<name>.Scalar if `y` is a scalar (literal or computed), aten.<name>.Tensor if it is a
// tensor: Binary(b, "gt", x, 0).
Argument Binary(OpBuilder& b, std::string_view name, const Argument& x, const OpArgument& y);
inline Argument Add(OpBuilder& b, const Argument& x, const OpArgument& y) {
  return Binary(b, "add", x, y);
}
inline Argument Sub(OpBuilder& b, const Argument& x, const OpArgument& y) {
  return Binary(b, "sub", x, y);
}
inline Argument Mul(OpBuilder& b, const Argument& x, const OpArgument& y) {
  return Binary(b, "mul", x, y);
}
inline Argument Div(OpBuilder& b, const Argument& x, const OpArgument& y) {
  return Binary(b, "div", x, y);
}
inline Argument Pow(OpBuilder& b, const Argument& x, const OpArgument& exponent) {
  return b.Call("aten.pow.Tensor_Scalar", {x, exponent});
}
// number - x, e.g. 1 - x.
Argument NumberMinus(OpBuilder& b, const OpArgument& number, const Argument& x);

// A rank-0 tensor.
Argument ScalarTensor(OpBuilder& b, const OpArgument& number, DType dtype);
// Converts a literal to an element as PyTorch does: for integer dtypes it is truncated toward 0,
// and for uint8 negative numbers are taken modulo 256. kInvalidArgument if it is out of range. Any
// other argument, and a number for another dtype, is returned unchanged.
Argument NumberIn(OpBuilder& b, const Argument& number, DType dtype);
// Scalar operands become tensors of the other operand's dtype.
Argument Where(OpBuilder& b, const Argument& condition, const OpArgument& x, const OpArgument& y);
Argument Clamp(OpBuilder& b, const Argument& x, const OpArgument& min, const OpArgument& max);
// Returns `x` if it already has the dtype.
Argument Cast(OpBuilder& b, const Argument& x, DType dtype);
// Returns the dtype in which PyTorch computes for inputs of this dtype: float32 for half precision,
// the dtype itself otherwise.
DType ComputeDtype(DType dtype);
// ComputeDtype, or the default float for integers and booleans.
DType FloatDtype(DType dtype);
// Returns the result dtype of floating-point operators: float dtypes unchanged, the default float
// for integers and booleans.
DType ResultFloat(DType dtype);
// Casts the tensors among `operands` to the dtype in which PyTorch computes an elementwise operator
// on them, and returns the dtype of the result. Scalars take part in the promotion but are not
// cast. `to_float`: integers become the default float.
DType Promote(OpBuilder& b, const std::vector<Argument*>& operands, bool to_float = false);
// Applies `fn` to x cast to ComputeDtype, and casts the result to x's dtype.
template <class Fn>
std::vector<Argument> Computed(OpBuilder& b, const Argument& x, Fn fn) {
  const DType dtype = b.dtype(x);
  return {Cast(b, fn(Cast(b, x, ComputeDtype(dtype))), dtype)};
}
// The same for operators whose result is floating point for integers.
template <class Fn>
std::vector<Argument> ComputedFloat(OpBuilder& b, const Argument& x, Fn fn) {
  const DType dtype = b.dtype(x);
  return {Cast(b, fn(Cast(b, x, FloatDtype(dtype))), ResultFloat(dtype))};
}
// Returns the result dtype of an elementwise operator on both, by PyTorch's promotion. Either may
// be a scalar.
DType PromotedDtype(OpBuilder& b, const Argument& x, const Argument& y);
// Converts `number` to a rank-0 tensor of PromotedDtype of both, as PyTorch converts scalar
// operands: integers out of range wrap.
Argument PromotedNumber(OpBuilder& b, const Argument& number, const Argument& tensor);

Argument Sum(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims, bool keep = false);
Argument SumAll(OpBuilder& b, const Argument& x);
Argument Mean(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims, bool keep = false);
Argument MeanAll(OpBuilder& b, const Argument& x);

// Quantizes each row x[..., :] to int8 with its own scale and zero point, and dequantizes it: the
// pattern of dynamic quantization in torchao and PT2E.
Argument FakeQuantizePerToken(OpBuilder& b, const Argument& x);

// --- Views: results alias their operand ---

// A view where strides allow it, else a view of a copy.
Argument Reshape(OpBuilder& b, const Argument& x, const OpArgument& sizes);
Argument Permute(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims);
Argument Transpose(OpBuilder& b, const Argument& x, int64_t dim0, int64_t dim1);
Argument Unsqueeze(OpBuilder& b, const Argument& x, int64_t dim);
Argument Squeeze(OpBuilder& b, const Argument& x, int64_t dim);
Argument Expand(OpBuilder& b, const Argument& x, const OpArgument& sizes);
Argument Select(OpBuilder& b, const Argument& x, int64_t dim, const OpArgument& index);
Argument Slice(OpBuilder& b, const Argument& x, int64_t dim, const OpArgument& start,
               const OpArgument& end, const OpArgument& step = 1);

// --- Copies ---

Argument Cat(OpBuilder& b, const std::vector<Argument>& tensors, int64_t dim);
Argument Clone(OpBuilder& b, const Argument& x);
Argument Contiguous(OpBuilder& b, const Argument& x);  // x itself if it is contiguous
// Of the dtype of `like`, which says nothing else.
Argument Full(OpBuilder& b, const OpArgument& sizes, const OpArgument& value, DType dtype);
// 0, 1, …, end - 1 as int64.
Argument Arange(OpBuilder& b, const OpArgument& end);

// Returns the broadcast sizes of the tensors; kInvalidArgument if they do not broadcast.
std::vector<SymInt> BroadcastSizes(OpBuilder& b, const std::vector<Argument>& tensors);
// Ensures that a size is at least `least` (> 0): by its range, or by a runtime assertion with
// message `otherwise`. If the range excludes it, fails with kUnimplemented and this message.
void ExpectAtLeast(OpBuilder& b, const SymInt& size, int64_t least, std::string_view otherwise);
// The product of sizes.
SymInt Product(const std::vector<SymInt>& sizes);
// 0, 1, …, rank - 1.
std::vector<int64_t> AllDims(int64_t rank);

inline std::vector<Argument> One(Argument result) { return {std::move(result)}; }

// --- Decomposition rows ---

// Calls operator `op` with the same arguments.
std::vector<Argument> SameAs(OpBuilder& b, const OpCall& c, std::string_view op);
// An operator's name as a template argument.
template <size_t kSize>
struct OpName {
  consteval OpName(const char (&text)[kSize]) { std::copy_n(text, kSize, name); }  // NOLINT
  char name[kSize];
};
// Row of an operator that is an alias of another operator:
//   {"aten.absolute.default", Same<"aten.abs.default">}
template <OpName kOp>
std::vector<Argument> Same(OpBuilder& b, const OpCall& c) {
  return SameAs(b, c, kOp.name);
}
// Row of an operator that returns its first argument as an alias.
inline std::vector<Argument> Identity(OpBuilder&, const OpCall& c) { return {c.arguments()[0]}; }

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_OP_SHORTHAND_H_
