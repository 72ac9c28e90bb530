// Short names for the calls that decompositions make most.
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

// aten.<name>.default of one tensor: Unary(b, "exp", x).
Argument Unary(OpBuilder& b, std::string_view name, const Argument& x);
// aten.<name>.Scalar when `y` is a number or a computed one, aten.<name>.Tensor when it is a
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
// 1 - x and the like.
Argument NumberMinus(OpBuilder& b, const OpArgument& number, const Argument& x);

// A tensor without dimensions.
Argument ScalarTensor(OpBuilder& b, const OpArgument& number, DType dtype);
// A number as PyTorch converts it to an element: for integers what stands before the point, and
// bytes take negative numbers modulo 256. kInvalidArgument for one that is out of range. Any other
// argument, and a number for another dtype, is given as it is.
Argument NumberIn(OpBuilder& b, const Argument& number, DType dtype);
// Numbers become tensors of the other's dtype.
Argument Where(OpBuilder& b, const Argument& condition, const OpArgument& x, const OpArgument& y);
Argument Clamp(OpBuilder& b, const Argument& x, const OpArgument& min, const OpArgument& max);
// The tensor itself when it has the dtype already.
Argument Cast(OpBuilder& b, const Argument& x, DType dtype);
// What PyTorch computes in for an input of this dtype: float32 for half precision, itself
// otherwise.
DType ComputeDtype(DType dtype);
// ComputeDtype, and the default float for integers and booleans.
DType FloatDtype(DType dtype);
// A float dtype as it is, the default float for integers and booleans: what operators on floats
// return.
DType ResultFloat(DType dtype);
// Casts the tensors among `operands` to the dtype that PyTorch computes an elementwise operator on
// them in, and returns the dtype of its result. Numbers take part in the promotion and stay.
// `to_float`: integers become the default float.
DType Promote(OpBuilder& b, const std::vector<Argument*>& operands, bool to_float = false);
// Applies `fn` to x in the dtype that PyTorch computes in, and gives x's dtype.
template <class Fn>
std::vector<Argument> Computed(OpBuilder& b, const Argument& x, Fn fn) {
  const DType dtype = b.dtype(x);
  return {Cast(b, fn(Cast(b, x, ComputeDtype(dtype))), dtype)};
}
// The same for operators that make floats of integers.
template <class Fn>
std::vector<Argument> ComputedFloat(OpBuilder& b, const Argument& x, Fn fn) {
  const DType dtype = b.dtype(x);
  return {Cast(b, fn(Cast(b, x, FloatDtype(dtype))), ResultFloat(dtype))};
}
// The dtype of the result of an elementwise operator on both, by PyTorch's promotion. Either may be
// a number.
DType PromotedDtype(OpBuilder& b, const Argument& x, const Argument& y);
// `number` without dimensions and in PromotedDtype of both, as PyTorch makes an operand of it: an
// integer that is out of range wraps.
Argument PromotedNumber(OpBuilder& b, const Argument& number, const Argument& tensor);

Argument Sum(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims, bool keep = false);
Argument SumAll(OpBuilder& b, const Argument& x);
Argument Mean(OpBuilder& b, const Argument& x, const std::vector<int64_t>& dims, bool keep = false);
Argument MeanAll(OpBuilder& b, const Argument& x);

// --- Views: what they give lies over their operand ---

// A view where strides allow, else of a copy.
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
Argument Contiguous(OpBuilder& b, const Argument& x);  // x itself when it is contiguous
// Of the dtype of `like`, which says nothing else.
Argument Full(OpBuilder& b, const OpArgument& sizes, const OpArgument& value, DType dtype);
// 0, 1, …, end - 1 as int64.
Argument Arange(OpBuilder& b, const OpArgument& end);

// The sizes that the tensors broadcast to; kInvalidArgument when they don't.
std::vector<SymInt> BroadcastSizes(OpBuilder& b, const std::vector<Argument>& tensors);
// Makes sure that a size is at least `least` (> 0): by its range, or by an assertion that runs and
// says `otherwise`. One that never is fails with kUnimplemented and that text.
void ExpectAtLeast(OpBuilder& b, const SymInt& size, int64_t least, std::string_view otherwise);
// The product of sizes.
SymInt Product(const std::vector<SymInt>& sizes);
// 0, 1, …, rank - 1.
std::vector<int64_t> AllDims(int64_t rank);

inline std::vector<Argument> One(Argument result) { return {std::move(result)}; }

// --- Rows ---

// The operator `op` with the same arguments.
std::vector<Argument> SameAs(OpBuilder& b, const OpCall& c, std::string_view op);
// An operator's name as a template argument.
template <size_t kSize>
struct OpName {
  consteval OpName(const char (&text)[kSize]) { std::copy_n(text, kSize, name); }  // NOLINT
  char name[kSize];
};
// A row of an operator that is another under a second name:
//   {"aten.absolute.default", Same<"aten.abs.default">}
template <OpName kOp>
std::vector<Argument> Same(OpBuilder& b, const OpCall& c) {
  return SameAs(b, c, kOp.name);
}
// A row of an operator that gives its first argument, as an alias.
inline std::vector<Argument> Identity(OpBuilder&, const OpCall& c) { return {c.arguments()[0]}; }

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_OP_SHORTHAND_H_
