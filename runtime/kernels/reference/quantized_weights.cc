// Operators on quantised weights that are dequantised on the way: embeddings of 8, 4 and 2 bits,
// and matrix products of floating point inputs with int8 weights.

#include <algorithm>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/quantized.h"
#include "runtime/kernel/shape_rules/quantized_weights.h"
#include "runtime/kernel/shape_rules/same_shape.h"
#include "runtime/kernels/reference/element_access.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/operands.h"
#include "runtime/kernels/reference/rounding.h"

namespace belay {
namespace {

constexpr DTypeSet kByteTypes = {DType::kInt8, DType::kUint8};
constexpr DTypeSet kIndexTypes = {DType::kInt32, DType::kInt64};

// Element `k` of those packed in `byte`; the lowest is 0 for 8 bits, -8 for 4 and -2 for 2. Of
// 4-bit elements the upper half comes first, of 2-bit ones the lowest bits.
template <int kBits>
int64_t Unpack(int64_t byte, int64_t k) {
  if constexpr (kBits == 8) return byte;
  if constexpr (kBits == 4) return (k == 0 ? byte / 16 : ((byte % 16) + 16) % 16) - 8;
  return ((byte >> (2 * k)) & 3) - 2;
}

// weight, scales, zero points?, quant_min, quant_max, indices, and with `kDtype` the result's
// dtype.
template <int kBits, bool kDtype>
absl::Status QuantizedEmbedding(KernelContext& context) {
  constexpr int kPerByte = 8 / kBits;
  ABSL_RETURN_IF_ERROR(context.CheckArity(kDtype ? 7 : 6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* weight, TensorOf(context, 0, "weight", kByteTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales,
                        TensorOf(context, 1, "weight_scales", kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* zero_points,
      OptionalTensorOf(context, 2, "weight_zero_points", DTypeSet{scales->dtype}));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_min, context.Int(3));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_max, context.Int(4));
  ABSL_RETURN_IF_ERROR(CheckPackedRange(kBits, quant_min, quant_max));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, TensorOf(context, 5, "indices", kIndexTypes));
  DType dtype = scales->dtype;
  if (kDtype) {
    ABSL_ASSIGN_OR_RETURN(dtype, context.DtypeOr(6, scales->dtype));
    if (!kFloatTypes.contains(dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dtype: expected a floating point type, got ", DTypeName(dtype)));
    }
  }
  Dims<CheckedInt> zero_dims;
  if (zero_points != nullptr) zero_dims = ToDims(zero_points->sizes);
  ABSL_ASSIGN_OR_RETURN(
      const GroupedRows<CheckedInt> rows,
      EmbeddingRows<CheckedInt>(ToDims(weight->sizes), ToDims(scales->sizes),
                                zero_points == nullptr ? nullptr : &zero_dims, kPerByte));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        EmbeddingShape<CheckedInt>(ToDims(indices->sizes), rows.width));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, shape));

  const int64_t width = rows.width.value(), group = width / rows.groups.value();
  const auto step_of = [](const TensorView& t, int d) { return d < t.rank() ? t.strides[d] : 0; };
  const RoundFn round = RoundingTo(scales->dtype);
  const Reader<int64_t> index(*indices), byte(*weight);
  const Reader<double> scale(*scales);
  const Writer<double> write(*out);
  Strides out_rows = out->strides;
  const int64_t out_step = out_rows.back();
  out_rows.erase(out_rows.size() - 1);
  for (StridedIterator<2> it(indices->sizes, {indices->strides, out_rows}); !it.done(); it.Next()) {
    const int64_t row = index(it.offset(0));
    if (row < 0 || row >= weight->sizes[0]) {
      return absl::OutOfRangeError(
          absl::StrCat("indices: ", row, " is outside a weight of ", weight->sizes[0], " rows"));
    }
    for (int64_t i = 0; i < width; ++i) {
      const int64_t packed = byte(row * weight->strides[0] + i / kPerByte * weight->strides[1]);
      double x = static_cast<double>(Unpack<kBits>(packed, i % kPerByte));
      if (zero_points != nullptr) {
        x = round(x - Reader<double>(*zero_points)(row * zero_points->strides[0] +
                                                   i / group * step_of(*zero_points, 1)));
      }
      x = round(x * scale(row * scales->strides[0] + i / group * step_of(*scales, 1)));
      write(it.offset(1) + i * out_step, x);
    }
  }
  return absl::OkStatus();
}

// input [m,k] times an int8 weight with scales: [k,n] with one scale per row, or for `kLinear`
// [n,k] with one or several per row. With `kOut` the last argument is written to as well.
template <bool kLinear, bool kOut>
absl::Status MixedProduct(KernelContext& context) {
  constexpr int kArguments = 4 + (kLinear ? 1 : 0) + (kOut ? 1 : 0);
  ABSL_RETURN_IF_ERROR(context.CheckArity(kArguments, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* weight, TensorOf(context, 1, "weight", DType::kInt8));
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales,
                        TensorOf(context, 2, "weight_scales", input->dtype));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_points,
                        OptionalTensorOf(context, 3, "weight_zero_points", DTypeSet{input->dtype}));
  DType dtype = input->dtype;
  if (kLinear) {
    ABSL_ASSIGN_OR_RETURN(dtype, context.DtypeOr(4, input->dtype));
  }
  if (!kFloatTypes.contains(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: expected a floating point type, got ", DTypeName(dtype)));
  }
  Dims<CheckedInt> zero_dims;
  if (zero_points != nullptr) zero_dims = ToDims(zero_points->sizes);
  ABSL_ASSIGN_OR_RETURN(const MixedShape<CheckedInt> shape,
                        MixedProductShape<CheckedInt>(
                            ToDims(input->sizes), ToDims(weight->sizes), ToDims(scales->sizes),
                            zero_points == nullptr ? nullptr : &zero_dims, kLinear));
  if (kOut) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* target,
                          TensorOf(context, kArguments - 1, "out", dtype));
    ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>("out", ToDims(target->sizes), shape.out));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, shape.out));
  if (out->numel() == 0) return absl::OkStatus();  // of however many rows
  const int64_t rows = out->sizes[0], columns = out->sizes[1], depth = input->sizes[1];
  // The last group of a row may be shorter than the others.
  const int64_t groups = shape.groups.value();
  const int64_t group = kLinear ? depth / groups + (depth % groups != 0 ? 1 : 0) : 1;

  const Reader<double> x(*input), w(*weight), scale(*scales);
  const Writer<double> write(*out);
  const RoundFn round = RoundingTo(input->dtype), round_sum = RoundingTo(dtype);
  const int64_t w_depth = weight->strides[kLinear ? 1 : 0];
  const int64_t w_column = weight->strides[kLinear ? 0 : 1];
  // The place of the parameter of column j and the group that begins at depth k.
  const auto parameter_at = [&](const TensorView& t, int64_t j, int64_t k) {
    if (!kLinear) return k * t.strides[0];
    return j * t.strides[0] + (t.rank() == 2 ? k / group * t.strides[1] : 0);
  };
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      // Each step is rounded, as ExecuTorch's kernels do it, whose results are the standard.
      double sum = 0;
      for (int64_t first = 0; first < depth; first += group) {
        const double s = scale(parameter_at(*scales, j, first));
        const double zero =
            zero_points == nullptr
                ? 0
                : Reader<double>(*zero_points)(parameter_at(*zero_points, j, first));
        double part = 0;
        for (int64_t k = first; k < std::min(first + group, depth); ++k) {
          const double value = w(k * w_depth + j * w_column) - zero;
          const double product =
              round(x(i * input->strides[0] + k * input->strides[1]) * round(value));
          part = round_sum(part + product);
        }
        sum = round_sum(sum + round_sum(part * s));
      }
      write(i * out->strides[0] + j * out->strides[1], sum);
    }
  }
  if (!kOut) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const TensorView* target, context.MutableTensor(kArguments - 1));
  return target->data == out->data ? absl::OkStatus() : CopyElements(*out, *target);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"quantized_decomposed.embedding_byte.default", "EmbeddingByte", kReference,
     &QuantizedEmbedding<8, false>},
    {"quantized_decomposed.embedding_byte.dtype", "EmbeddingByteDtype", kReference,
     &QuantizedEmbedding<8, true>},
    {"quantized_decomposed.embedding_4bit.default", "Embedding4bit", kReference,
     &QuantizedEmbedding<4, false>},
    {"quantized_decomposed.embedding_4bit.dtype", "Embedding4bitDtype", kReference,
     &QuantizedEmbedding<4, true>},
    {"quantized_decomposed.embedding_2bit.default", "Embedding2bit", kReference,
     &QuantizedEmbedding<2, false>},
    {"quantized_decomposed.embedding_2bit.dtype", "Embedding2bitDtype", kReference,
     &QuantizedEmbedding<2, true>},
    {"quantized_decomposed.mixed_mm.default", "MixedMm", kReference, &MixedProduct<false, false>},
    {"quantized_decomposed.mixed_mm.out", "MixedMmOut", kReference, &MixedProduct<false, true>},
    {"quantized_decomposed.mixed_linear.default", "MixedLinear", kReference,
     &MixedProduct<true, false>},
    {"quantized_decomposed.mixed_linear.out", "MixedLinearOut", kReference,
     &MixedProduct<true, true>},
};

}  // namespace

absl::Span<const Kernel> QuantizedWeightsKernels() { return kKernels; }

}  // namespace belay
