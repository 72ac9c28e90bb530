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
#include "runtime/kernels/reference/quantized_weights.h"
#include "runtime/kernels/reference/rounding.h"

namespace belay {
namespace {

constexpr DTypeSet kByteTypes = {DType::kInt8, DType::kUint8};
constexpr DTypeSet kIndexTypes = {DType::kInt32, DType::kInt64};

absl::Status CheckResultDType(DType dtype) {
  if (kFloatTypes.contains(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("dtype: expected a floating point type, got ", DTypeName(dtype)));
}

}  // namespace

absl::Status QuantizedEmbeddingCall::CheckRow(int64_t row) const {
  if (row >= 0 && row < weight->sizes[0]) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("indices: ", row, " is outside a weight of ", weight->sizes[0], " rows"));
}

absl::StatusOr<QuantizedEmbeddingCall> ReadQuantizedEmbedding(KernelContext& context, int bits,
                                                              bool has_dtype) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(has_dtype ? 7 : 6, 1));
  QuantizedEmbeddingCall call;
  ABSL_ASSIGN_OR_RETURN(call.weight, TensorOf(context, 0, "weight", kByteTypes));
  ABSL_ASSIGN_OR_RETURN(call.scales, TensorOf(context, 1, "weight_scales", kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(call.zero_points, OptionalTensorOf(context, 2, "weight_zero_points",
                                                           DTypeSet{call.scales->dtype}));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_min, context.Int(3));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_max, context.Int(4));
  ABSL_RETURN_IF_ERROR(CheckPackedRange(bits, quant_min, quant_max));
  ABSL_ASSIGN_OR_RETURN(call.indices, TensorOf(context, 5, "indices", kIndexTypes));
  DType dtype = call.scales->dtype;
  if (has_dtype) {
    ABSL_ASSIGN_OR_RETURN(dtype, context.DtypeOr(6, call.scales->dtype));
    ABSL_RETURN_IF_ERROR(CheckResultDType(dtype));
  }
  Dims<CheckedInt> zero_dims;
  if (call.zero_points != nullptr) zero_dims = ToDims(call.zero_points->sizes);
  ABSL_ASSIGN_OR_RETURN(
      const GroupedRows<CheckedInt> rows,
      EmbeddingRows<CheckedInt>(ToDims(call.weight->sizes), ToDims(call.scales->sizes),
                                call.zero_points == nullptr ? nullptr : &zero_dims, 8 / bits));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        EmbeddingShape<CheckedInt>(ToDims(call.indices->sizes), rows.width));
  ABSL_ASSIGN_OR_RETURN(call.out, OutputOf(context, 0, dtype, shape));
  call.width = rows.width.value();
  call.group = call.width / rows.groups.value();
  return call;
}

absl::StatusOr<MixedProductCall> ReadMixedProduct(KernelContext& context, bool linear,
                                                  bool has_out) {
  const int arguments = 4 + (linear ? 1 : 0) + (has_out ? 1 : 0);
  ABSL_RETURN_IF_ERROR(context.CheckArity(arguments, 1));
  MixedProductCall call;
  call.linear = linear;
  ABSL_ASSIGN_OR_RETURN(call.input, TensorOf(context, 0, "input", kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(call.weight, TensorOf(context, 1, "weight", DType::kInt8));
  ABSL_ASSIGN_OR_RETURN(call.scales, TensorOf(context, 2, "weight_scales", call.input->dtype));
  ABSL_ASSIGN_OR_RETURN(call.zero_points, OptionalTensorOf(context, 3, "weight_zero_points",
                                                           DTypeSet{call.input->dtype}));
  DType dtype = call.input->dtype;
  if (linear) {
    ABSL_ASSIGN_OR_RETURN(dtype, context.DtypeOr(4, call.input->dtype));
  }
  ABSL_RETURN_IF_ERROR(CheckResultDType(dtype));
  Dims<CheckedInt> zero_dims;
  if (call.zero_points != nullptr) zero_dims = ToDims(call.zero_points->sizes);
  ABSL_ASSIGN_OR_RETURN(
      const MixedShape<CheckedInt> shape,
      MixedProductShape<CheckedInt>(ToDims(call.input->sizes), ToDims(call.weight->sizes),
                                    ToDims(call.scales->sizes),
                                    call.zero_points == nullptr ? nullptr : &zero_dims, linear));
  if (has_out) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* target, TensorOf(context, arguments - 1, "out", dtype));
    ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>("out", ToDims(target->sizes), shape.out));
  }
  ABSL_ASSIGN_OR_RETURN(call.out, OutputOf(context, 0, dtype, shape.out));
  if (linear) {
    const int64_t depth = call.input->sizes[1], groups = shape.groups.value();
    call.group = depth / groups + (depth % groups != 0 ? 1 : 0);
  }
  return call;
}

absl::Status FinishMixedProduct(KernelContext& context, const MixedProductCall& call,
                                bool has_out) {
  if (!has_out) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const TensorView* target,
                        context.MutableTensor(context.num_arguments() - 1));
  return target->data == call.out->data ? absl::OkStatus() : CopyElements(*call.out, *target);
}

namespace {

template <int kBits, bool kDtype>
absl::Status QuantizedEmbedding(KernelContext& context) {
  constexpr int kPerByte = 8 / kBits;
  ABSL_ASSIGN_OR_RETURN(const QuantizedEmbeddingCall call,
                        ReadQuantizedEmbedding(context, kBits, kDtype));
  const TensorView &weight = *call.weight, &scales = *call.scales, &out = *call.out;
  const RoundFn round = RoundingTo(scales.dtype);
  const Reader<int64_t> index(*call.indices), byte(weight);
  const Reader<double> scale(scales);
  const Writer<double> write(out);
  Strides out_rows = out.strides;
  const int64_t out_step = out_rows.back();
  out_rows.erase(out_rows.size() - 1);
  for (StridedIterator<2> it(call.indices->sizes, {call.indices->strides, out_rows}); !it.done();
       it.Next()) {
    const int64_t row = index(it.offset(0));
    ABSL_RETURN_IF_ERROR(call.CheckRow(row));
    for (int64_t i = 0; i < call.width; ++i) {
      const int64_t packed = byte(row * weight.strides[0] + i / kPerByte * weight.strides[1]);
      double x = static_cast<double>(UnpackElement<kBits>(packed, static_cast<int>(i % kPerByte)));
      if (call.zero_points != nullptr) {
        x = round(x -
                  Reader<double>(*call.zero_points)(call.ParameterAt(*call.zero_points, row, i)));
      }
      x = round(x * scale(call.ParameterAt(scales, row, i)));
      write(it.offset(1) + i * out_step, x);
    }
  }
  return absl::OkStatus();
}

template <bool kLinear, bool kOut>
absl::Status MixedProduct(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const MixedProductCall call, ReadMixedProduct(context, kLinear, kOut));
  const TensorView &input = *call.input, &out = *call.out;
  if (out.numel() == 0) return absl::OkStatus();  // of however many rows
  const int64_t depth = input.sizes[1];
  const Reader<double> x(input), w(*call.weight), scale(*call.scales);
  const Writer<double> write(out);
  const RoundFn round = RoundingTo(input.dtype), round_sum = RoundingTo(out.dtype);
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    for (int64_t j = 0; j < out.sizes[1]; ++j) {
      // Each step is rounded, as ExecuTorch's kernels do it, whose results are the standard.
      double sum = 0;
      for (int64_t first = 0; first < depth; first += call.group) {
        const double s = scale(call.ParameterAt(*call.scales, j, first));
        const double zero =
            call.zero_points == nullptr
                ? 0
                : Reader<double>(*call.zero_points)(call.ParameterAt(*call.zero_points, j, first));
        double part = 0;
        for (int64_t k = first; k < std::min(first + call.group, depth); ++k) {
          const double value = w(k * call.depth_stride() + j * call.column_stride()) - zero;
          const double product =
              round(x(i * input.strides[0] + k * input.strides[1]) * round(value));
          part = round_sum(part + product);
        }
        sum = round_sum(sum + round_sum(part * s));
      }
      write(i * out.strides[0] + j * out.strides[1], sum);
    }
  }
  return FinishMixedProduct(context, call, kOut);
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
