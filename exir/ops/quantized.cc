// Quantization and its inverse, per tensor, channel, row and group, and the choice of parameters.

#include <string_view>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/quantized.h"
#include "runtime/kernel/shape_rules/same_shape.h"

namespace belay::exir {
namespace {

std::string_view NameOf(const MetaContext& context, int i) {
  return context.schema().arguments[i].name;
}

// A result of the input's shape and layout.
absl::Status SetLike(MetaContext& context, DType dtype, const TensorMeta& input) {
  ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(dtype, input, MemoryFormat::kPreserve));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

// quant_min and quant_max at `i`, within what `dtype` holds.
absl::Status CheckRangeAt(const MetaContext& context, int i, DType dtype) {
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_min, context.StaticInt(i));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_max, context.StaticInt(i + 1));
  return CheckQuantizedRange(dtype, quant_min, quant_max);
}

absl::StatusOr<DType> FloatTypeAt(const MetaContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(i, DType::kFloat32));
  if (kFloatTypes.contains(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(context, i), ": expected a floating point type, got ", DTypeName(dtype)));
}

// Argument 0, which has the quantized dtype that argument `i` names.
absl::StatusOr<const TensorMeta*> QuantizedInput(const MetaContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(i));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  return TensorOf(context, 0, dtype);
}

// ---- Per tensor

// How scale and zero point (and quant_min, quant_max) are given.
enum class Given { kNumbers, kTensors, kTensorsAndRange };

absl::Status CheckTensorParameters(const MetaContext& context, Given given) {
  const int last = given == Given::kNumbers ? 0 : given == Given::kTensors ? 2 : 4;
  for (int i = 1; i <= last; ++i) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* t, TensorOf(context, i, kRealTypes));
    ABSL_RETURN_IF_ERROR(CheckOneElement<SymInt>(NameOf(context, i), t->sizes));
  }
  return absl::OkStatus();
}

template <Given kGiven>
absl::Status QuantizePerTensorMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kQuantizableTypes));
  ABSL_RETURN_IF_ERROR(CheckTensorParameters(context, kGiven));
  if (kGiven == Given::kNumbers) {
    ABSL_ASSIGN_OR_RETURN(const double scale, context.Double(1));
    if (scale == 0) return absl::InvalidArgumentError("scale: expected a number other than 0");
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(kGiven == Given::kTensorsAndRange ? QuantizedBounds(dtype).status()
                                                         : CheckRangeAt(context, 3, dtype));
  return SetLike(context, dtype, *input);
}

template <Given kGiven>
absl::Status DequantizePerTensorMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, QuantizedInput(context, 5));
  ABSL_RETURN_IF_ERROR(CheckTensorParameters(context, kGiven));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 6));
  return SetLike(context, dtype, *input);
}

// ---- Per channel

absl::Status CheckChannelParameters(const MetaContext& context, const TensorMeta& input) {
  ABSL_ASSIGN_OR_RETURN(const int64_t axis_argument, context.StaticInt(3));
  ABSL_ASSIGN_OR_RETURN(const int axis, ChannelAxis<SymInt>(input.sizes, axis_argument));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* scales, TensorOf(context, 1, kFloatTypes));
  ABSL_RETURN_IF_ERROR(CheckChannelParameter<SymInt>("scales", scales->sizes, input.sizes, axis));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* zero_points, OptionalTensorOf(context, 2, kRealTypes));
  if (zero_points == nullptr) return absl::OkStatus();
  return CheckChannelParameter<SymInt>("zero_points", zero_points->sizes, input.sizes, axis);
}

absl::Status QuantizePerChannelMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kQuantizableTypes));
  ABSL_RETURN_IF_ERROR(CheckChannelParameters(context, *input));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(6));
  ABSL_RETURN_IF_ERROR(CheckRangeAt(context, 4, dtype));
  return SetLike(context, dtype, *input);
}

absl::Status DequantizePerChannelMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, QuantizedInput(context, 6));
  ABSL_RETURN_IF_ERROR(CheckChannelParameters(context, *input));
  ABSL_RETURN_IF_ERROR(CheckRangeAt(context, 4, input->dtype));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 7));
  return SetLike(context, dtype, *input);
}

absl::Status FakeQuantPerChannelMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, DType::kFloat32));
  ABSL_RETURN_IF_ERROR(CheckChannelParameters(context, *input));
  ABSL_RETURN_IF_ERROR(context.StaticInt(4).status());
  ABSL_RETURN_IF_ERROR(context.StaticInt(5).status());
  return SetLike(context, DType::kFloat32, *input);
}

// ---- Per row ("token") and per group

absl::Status CheckTokenParameters(const MetaContext& context, const TensorMeta& input, bool exact) {
  for (int i : {1, 2}) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* t,
                          TensorOf(context, i, i == 1 ? kFloatTypes : kRealTypes));
    ABSL_RETURN_IF_ERROR(CheckTokenParameter<SymInt>(NameOf(context, i), t->sizes, input.sizes));
    // Quantization wants as many numbers as there are rows.
    if (!exact) continue;
    const SymInt rows = ProductOf<SymInt>(SymDims(input.sizes).subspan(0, input.rank() - 1));
    if (KnownDifferent(t->NumElements(), rows)) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(context, i), ": shape ", FormatDims<SymInt>(t->sizes),
                       " has not one number for each of ", rows.ToString(), " rows"));
    }
  }
  return absl::OkStatus();
}

absl::Status QuantizePerTokenMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_RETURN_IF_ERROR(CheckTokenParameters(context, *input, true));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(CheckRangeAt(context, 3, dtype));
  return SetLike(context, dtype, *input);
}

absl::Status DequantizePerTokenMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kRealTypes));
  ABSL_RETURN_IF_ERROR(CheckTokenParameters(context, *input, false));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 6));
  return SetLike(context, dtype, *input);
}

// Checks the parameters and sets a result of `dtype`.
absl::Status SetGrouped(MetaContext& context, DType dtype, const TensorMeta& input) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* scales, TensorOf(context, 1, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* zero_points, OptionalTensorOf(context, 2, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t group_size, context.StaticInt(6));
  ABSL_ASSIGN_OR_RETURN(const SymInt groups,
                        GroupCount<SymInt>(input.sizes, scales->sizes, group_size));
  ABSL_RETURN_IF_ERROR(
      CheckGroupParameter<SymInt>("scales", scales->sizes, input.sizes[0], groups));
  if (zero_points != nullptr) {
    ABSL_RETURN_IF_ERROR(
        CheckGroupParameter<SymInt>("zero_points", zero_points->sizes, input.sizes[0], groups));
  }
  // The input is reshaped to rows of a group each, and so made contiguous unless a row is a group.
  if (groups.AsInt() == 1) return SetLike(context, dtype, input);
  context.SetTensor(0, dtype, input.sizes);
  return absl::OkStatus();
}

absl::Status QuantizePerGroupMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  return SetGrouped(context, dtype, *input);
}

absl::Status DequantizePerGroupMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 7));
  return SetGrouped(context, dtype, *input);
}

// ---- Choice of parameters

absl::Status ChooseParametersMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_min, context.StaticInt(1));
  ABSL_ASSIGN_OR_RETURN(const int64_t quant_max, context.StaticInt(2));
  ABSL_RETURN_IF_ERROR(context.Double(3).status());
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(4));
  ABSL_RETURN_IF_ERROR(CheckChosenRange(dtype, quant_min, quant_max));
  if (input->NumElements().AsInt() == 0) {
    return absl::InvalidArgumentError("input: expected elements, got none");
  }
  context.SetTensor(0, DType::kFloat64, {SymInt(1)});
  context.SetTensor(1, DType::kInt64, {SymInt(1)});
  return absl::OkStatus();
}

absl::Status ChoosePerTokenMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(1));
  if (dtype != DType::kInt8) {
    return absl::InvalidArgumentError(absl::StrCat("dtype: expected int8, got ", DTypeName(dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, TokenShape<SymInt>(input->sizes));
  const DType type = input->dtype == DType::kFloat16 ? DType::kFloat32 : input->dtype;
  context.SetTensor(0, type, shape);
  context.SetTensor(1, type, shape);
  return absl::OkStatus();
}

absl::Status ChoosePerTokenAsymmetricMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_RETURN_IF_ERROR(context.Dtype(1).status());
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, TokenShape<SymInt>(input->sizes));
  context.SetTensor(0, DType::kFloat64, shape);
  context.SetTensor(1, DType::kInt64, shape);
  return absl::OkStatus();
}

// ---- The rest

absl::Status ConvertElementTypeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(1));
  return SetLike(context, dtype, *input);
}

absl::Status QuantizedAddMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kQuantizedTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* b, TensorOf(context, 5, a->dtype));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("b", b->sizes, a->sizes));
  for (int i : {1, 6, 10}) {
    ABSL_RETURN_IF_ERROR(context.Double(i).status());
    ABSL_RETURN_IF_ERROR(context.StaticInt(i + 1).status());
    ABSL_RETURN_IF_ERROR(CheckRangeAt(context, i + 2, a->dtype));
  }
  if (context.num_arguments() < 15) return SetLike(context, a->dtype, *a);
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* out, TensorOf(context, 14, a->dtype));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("out", out->sizes, a->sizes));
  context.SetOutput(0, *out);
  return absl::OkStatus();
}

constexpr Tolerance kStep = {0, 1};  // of the quantized numbers
constexpr Tolerance kDequantized = {2e-6, 1e-7};

#define BELAY_QUANTIZED "quantized_decomposed::"
#define BELAY_RANGE "int quant_min, int quant_max, "

constexpr OpDef kRows[] = {
    {.schema = BELAY_QUANTIZED
     "quantize_per_tensor(Tensor input, float scale, int zero_point, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = &QuantizePerTensorMeta<Given::kNumbers>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = &QuantizePerTensorMeta<Given::kTensors>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, "
     "Tensor quant_max, ScalarType dtype) -> Tensor",
     .meta = &QuantizePerTensorMeta<Given::kTensorsAndRange>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_tensor(Tensor input, float scale, int zero_point, " BELAY_RANGE
     "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = &DequantizePerTensorMeta<Given::kNumbers>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " BELAY_RANGE
     "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = &DequantizePerTensorMeta<Given::kTensors>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor "
     "quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = &DequantizePerTensorMeta<Given::kTensorsAndRange>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = &QuantizePerChannelMeta,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int "
     "axis, " BELAY_RANGE "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = &DequantizePerChannelMeta,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
     "quant_min, int quant_max) -> Tensor",
     .meta = &FakeQuantPerChannelMeta,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = &QuantizePerTokenMeta,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " BELAY_RANGE
     "ScalarType dtype, ScalarType output_dtype) -> Tensor",
     .meta = &DequantizePerTokenMeta,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, " BELAY_RANGE
     "ScalarType dtype, int group_size) -> Tensor",
     .meta = &QuantizePerGroupMeta,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, " BELAY_RANGE
     "ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
     .meta = &DequantizePerGroupMeta,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED "choose_qparams.tensor(Tensor input, " BELAY_RANGE
                               "float eps, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &ChooseParametersMeta,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED "choose_qparams_symmetric.tensor(Tensor input, " BELAY_RANGE
                               "float eps, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &ChooseParametersMeta,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &ChoosePerTokenMeta,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &ChoosePerTokenAsymmetricMeta,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, "
     "Tensor)",
     .meta = &ChoosePerTokenAsymmetricMeta,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema =
         BELAY_QUANTIZED "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
     .meta = &ConvertElementTypeMeta,
     .traits = kPointwise,
     .tolerance = {0, 0}},
    {.schema = BELAY_QUANTIZED
     "add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, "
     "float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int "
     "out_zero_point, int out_quant_min, int out_quant_max) -> Tensor",
     .meta = &QuantizedAddMeta,
     .traits = kPointwise,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "add.out(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor "
     "b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int "
     "out_zero_point, int out_quant_min, int out_quant_max, *, Tensor(a!) out) -> Tensor(a!)",
     .meta = &QuantizedAddMeta,
     .traits = kPointwise,
     .tolerance = kStep},
};

#undef BELAY_RANGE
#undef BELAY_QUANTIZED

}  // namespace

absl::Span<const OpDef> QuantizedOps() { return kRows; }

}  // namespace belay::exir
