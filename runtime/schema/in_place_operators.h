// Operators that write to an argument, and operators whose output may be placed exactly over one of
// their arguments (file_format.md §5). The compiler places such outputs and the reader allows them.
// Every kernel of such an operator reads an element before it writes the element at the same
// position.
#ifndef BELAY_RUNTIME_SCHEMA_IN_PLACE_OPERATORS_H_
#define BELAY_RUNTIME_SCHEMA_IN_PLACE_OPERATORS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace belay {

// Whether the operator writes to an argument that is also its output: "aten.copy_.default",
// "copy_". The name without the overload ends with exactly one underscore.
constexpr bool IsInPlaceOperator(std::string_view name) {
  const std::string_view base = name.substr(0, name.rfind('.'));
  return base.ends_with('_') && !base.ends_with("__");
}

enum class OutputOverArgument : uint8_t {
  kNever,
  // Output element i depends on argument element i. The output may be placed over an argument of
  // the same dtype, sizes, dynamic dimensions and order.
  kElementwise,
  // The output has the argument's bytes in the same order. It may be placed over an argument of the
  // same dtype.
  kSameBytes,
};

// Sorted.
inline constexpr std::string_view kElementwiseOperators[] = {
    "aten._conj_physical.default",
    "aten.abs.default",
    "aten.acos.default",
    "aten.acosh.default",
    "aten.add.Scalar",
    "aten.add.Tensor",
    "aten.asin.default",
    "aten.asinh.default",
    "aten.atan.default",
    "aten.atan2.default",
    "aten.atanh.default",
    "aten.bitwise_and.Scalar",
    "aten.bitwise_and.Tensor",
    "aten.bitwise_left_shift.Tensor",
    "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_not.default",
    "aten.bitwise_or.Scalar",
    "aten.bitwise_or.Tensor",
    "aten.bitwise_right_shift.Tensor",
    "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.bitwise_xor.Scalar",
    "aten.bitwise_xor.Tensor",
    "aten.ceil.default",
    "aten.clamp.Tensor",
    "aten.clamp.default",
    "aten.copysign.Scalar",
    "aten.copysign.Tensor",
    "aten.cos.default",
    "aten.cosh.default",
    "aten.div.Scalar",
    "aten.div.Scalar_mode",
    "aten.div.Tensor",
    "aten.div.Tensor_mode",
    "aten.elu.default",
    "aten.eq.Scalar",
    "aten.eq.Tensor",
    "aten.erf.default",
    "aten.exp.default",
    "aten.expm1.default",
    "aten.floor.default",
    "aten.floor_divide.default",
    "aten.fmod.Scalar",
    "aten.fmod.Tensor",
    "aten.ge.Scalar",
    "aten.ge.Tensor",
    "aten.gelu.default",
    "aten.gt.Scalar",
    "aten.gt.Tensor",
    "aten.hardtanh.default",
    "aten.hypot.default",
    "aten.isinf.default",
    "aten.isnan.default",
    "aten.le.Scalar",
    "aten.le.Tensor",
    "aten.leaky_relu.default",
    "aten.log.default",
    "aten.log10.default",
    "aten.log1p.default",
    "aten.log2.default",
    "aten.logical_and.default",
    "aten.logical_not.default",
    "aten.logical_or.default",
    "aten.logical_xor.default",
    "aten.logit.default",
    "aten.lt.Scalar",
    "aten.lt.Tensor",
    "aten.masked_fill.Scalar",
    "aten.masked_fill.Tensor",
    "aten.maximum.default",
    "aten.minimum.default",
    "aten.mul.Scalar",
    "aten.mul.Tensor",
    "aten.ne.Scalar",
    "aten.ne.Tensor",
    "aten.neg.default",
    "aten.pow.Scalar",
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.reciprocal.default",
    "aten.relu.default",
    "aten.remainder.Scalar",
    "aten.remainder.Tensor",
    "aten.round.default",
    "aten.rsqrt.default",
    "aten.rsub.Scalar",
    "aten.sigmoid.default",
    "aten.sign.default",
    "aten.sin.default",
    "aten.sinh.default",
    "aten.sqrt.default",
    "aten.sub.Scalar",
    "aten.sub.Tensor",
    "aten.tan.default",
    "aten.tanh.default",
    "aten.trunc.default",
    "aten.where.self",
};

// Sorted.
inline constexpr std::string_view kSameBytesOperators[] = {
    "aten._unsafe_view.default",
    "aten.alias_copy.default",
    "aten.detach_copy.default",
    "aten.lift_fresh_copy.default",
    "aten.squeeze_copy.default",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
    "aten.unsqueeze_copy.default",
    "aten.view_copy.default",
    "dim_order_ops._clone_dim_order.default",
    "dim_order_ops._to_dim_order_copy.default",
};

constexpr OutputOverArgument OutputOverArgumentOf(std::string_view op) {
  if (std::binary_search(std::begin(kElementwiseOperators), std::end(kElementwiseOperators), op)) {
    return OutputOverArgument::kElementwise;
  }
  if (std::binary_search(std::begin(kSameBytesOperators), std::end(kSameBytesOperators), op)) {
    return OutputOverArgument::kSameBytes;
  }
  return OutputOverArgument::kNever;
}

static_assert(std::is_sorted(std::begin(kElementwiseOperators), std::end(kElementwiseOperators)));
static_assert(std::is_sorted(std::begin(kSameBytesOperators), std::end(kSameBytesOperators)));

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_IN_PLACE_OPERATORS_H_
