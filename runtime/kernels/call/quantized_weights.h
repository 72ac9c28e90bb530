// The operands of operators on quantized weights, for every engine's kernels.
#ifndef BELAY_RUNTIME_KERNELS_CALL_QUANTIZED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_CALL_QUANTIZED_WEIGHTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// Element `k` of those packed in `byte`; the lowest is 0 for 8 bits, -8 for 4 and -2 for 2. Of
// 4-bit elements the upper half comes first, of 2-bit ones the lowest bits.
template <int kBits, class Int>
constexpr Int UnpackElement(Int byte, int k) {
  if constexpr (kBits == 8) return byte;
  if constexpr (kBits == 4) return (k == 0 ? byte / 16 : ((byte % 16) + 16) % 16) - 8;
  return ((byte >> (2 * k)) & 3) - 2;
}

// embedding_byte, _4bit, _2bit: (weight, scales, zero points?, quant_min, quant_max, indices), and
// with `has_dtype` the result's dtype. Output 0 is resized.
struct QuantizedEmbeddingCall {
  const TensorView *weight = nullptr, *scales = nullptr;
  const TensorView* zero_points = nullptr;  // null for none
  const TensorView *indices = nullptr, *out = nullptr;
  int64_t width = 0, group = 0;  // elements of a row, and of a group with one scale

  // The place of the parameter of element i of a row; `t` is scales or zero_points.
  int64_t ParameterAt(const TensorView& t, int64_t row, int64_t i) const {
    return row * t.strides[0] + (t.rank() == 2 ? i / group * t.strides[1] : 0);
  }
  // kOutOfRange unless the weight has this row.
  absl::Status CheckRow(int64_t row) const;
};
absl::StatusOr<QuantizedEmbeddingCall> ReadQuantizedEmbedding(KernelContext& context, int bits,
                                                              bool has_dtype);

// mixed_mm and mixed_linear: input [m,k] times an int8 weight with scales: [k,n] with one scale per
// row, or for `linear` [n,k] with one or several per row. Output 0 is resized.
struct MixedProductCall {
  bool linear = false;
  const TensorView *input = nullptr, *weight = nullptr, *scales = nullptr;
  const TensorView* zero_points = nullptr;  // null for none
  const TensorView* out = nullptr;
  int64_t group = 1;  // of the depth, with one scale; the last may be shorter

  // The strides of the weight along the depth and along the columns of the result.
  int64_t depth_stride() const { return weight->strides[linear ? 1 : 0]; }
  int64_t column_stride() const { return weight->strides[linear ? 0 : 1]; }
  // The place of the parameter of column j at depth k; `t` is scales or zero_points.
  int64_t ParameterAt(const TensorView& t, int64_t j, int64_t k) const {
    if (!linear) return k * t.strides[0];
    return j * t.strides[0] + (t.rank() == 2 ? k / group * t.strides[1] : 0);
  }
};
// With `has_out` the last argument is written to as well, by FinishMixedProduct.
absl::StatusOr<MixedProductCall> ReadMixedProduct(KernelContext& context, bool linear,
                                                  bool has_out);
absl::Status FinishMixedProduct(KernelContext& context, const MixedProductCall& call, bool has_out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_QUANTIZED_WEIGHTS_H_
