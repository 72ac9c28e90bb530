#include "runtime/kernels/call/quantized_weights.h"

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/quantized.h"
#include "runtime/kernel/shape_rules/quantized_weights.h"
#include "runtime/kernel/shape_rules/same_shape.h"
#include "runtime/kernels/call/operands.h"

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

}  // namespace belay
