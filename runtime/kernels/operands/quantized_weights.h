// Operands of operators on quantized weights, for the kernels of all engines.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZED_WEIGHTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/quantized_weights.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// Returns element `k` of those packed in `byte`. The smallest value is 0 for 8 bits, -8 for 4 and
// -2 for 2. 4-bit elements begin with the upper half of the byte, 2-bit elements with the lowest
// bits.
template <int kBits, class Int>
constexpr Int UnpackElement(Int byte, int k) {
  if constexpr (kBits == 8) return byte;
  if constexpr (kBits == 4) return (k == 0 ? byte / 16 : ((byte % 16) + 16) % 16) - 8;
  return ((byte >> (2 * k)) & 3) - 2;
}

// Loop operands of embedding_byte, embedding_4bit and embedding_2bit.
struct QuantizedEmbeddingOperands {
  const TensorView *weight = nullptr, *scales = nullptr;
  const TensorView* zero_points = nullptr;  // null for none
  const TensorView *indices = nullptr, *out = nullptr;
  int64_t width = 0, group = 0;  // elements per row, and per group with one scale

  // Offset of the parameter of element i of a row; `t` is scales or zero_points.
  int64_t ParameterAt(const TensorView& t, int64_t row, int64_t i) const {
    return row * t.strides[0] + (t.rank() == 2 ? i / group * t.strides[1] : 0);
  }
  // kOutOfRange if `row` is not a row of the weight.
  absl::Status CheckRow(int64_t row) const;
};
// Checks the shapes and resizes output 0.
template <int kBits>
absl::StatusOr<QuantizedEmbeddingOperands> OperandsOf(
    KernelContext& context, const QuantizedEmbeddingCall<KernelArguments, kBits>& call) {
  ABSL_ASSIGN_OR_RETURN(const GroupedRows<CheckedInt> rows, call.Rows());
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape(rows));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, shape));
  const int64_t width = rows.width.value();
  return QuantizedEmbeddingOperands{.weight = call.weight,
                                    .scales = call.scales,
                                    .zero_points = call.zero_points,
                                    .indices = call.indices,
                                    .out = out,
                                    .width = width,
                                    .group = width / rows.groups.value()};
}

// Loop operands of mixed_mm and mixed_linear: input [m, k] times an int8 weight with scales. The
// weight is [k, n] with one scale per row, or for `linear` [n, k] with one or several scales per
// row.
struct MixedProductOperands {
  bool linear = false;
  const TensorView *input = nullptr, *weight = nullptr, *scales = nullptr;
  const TensorView* zero_points = nullptr;  // null for none
  const TensorView* out = nullptr;
  int64_t group = 1;  // depth per scale; the last group may be shorter

  // Strides of the weight along the depth and along the columns of the result.
  int64_t depth_stride() const { return weight->strides[linear ? 1 : 0]; }
  int64_t column_stride() const { return weight->strides[linear ? 0 : 1]; }
  // Offset of the parameter of column j at depth k; `t` is scales or zero_points.
  int64_t ParameterAt(const TensorView& t, int64_t j, int64_t k) const {
    if (!linear) return k * t.strides[0];
    return j * t.strides[0] + (t.rank() == 2 ? k / group * t.strides[1] : 0);
  }
};
// Checks the shapes and resizes output 0.
template <bool kLinear>
absl::StatusOr<MixedProductOperands> OperandsOf(
    KernelContext& context, const MixedProductCall<KernelArguments, kLinear>& call) {
  ABSL_ASSIGN_OR_RETURN(const MixedShape<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, shape.out));
  MixedProductOperands operands = {.linear = kLinear,
                                   .input = call.input,
                                   .weight = call.weight,
                                   .scales = call.scales,
                                   .zero_points = call.zero_points,
                                   .out = out};
  if (kLinear) {
    const int64_t depth = call.input->sizes[1], groups = shape.groups.value();
    operands.group = depth / groups + (depth % groups != 0 ? 1 : 0);
  }
  return operands;
}
// Copies the result to the argument `out`, if the call has one.
template <bool kLinear>
absl::Status FinishMixedProduct(KernelContext& context,
                                const MixedProductCall<KernelArguments, kLinear>& call,
                                const TensorView& result) {
  if (call.out == nullptr) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const TensorView* target, context.MutableTensor(call.target));
  return target->data == result.data ? absl::OkStatus() : CopyElements(result, *target);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZED_WEIGHTS_H_
