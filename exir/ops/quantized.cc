// Quantize and dequantize, per tensor, channel, row and group, and the choice of parameters.

#include <string_view>
#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/quantization.h"

namespace belay::exir {
namespace {

// Sets a result with the input's shape and layout.
absl::Status SetLike(MetaContext& context, DType dtype, const TensorMeta& input) {
  ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(dtype, input, MemoryFormat::kPreserve));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

// The result has the dtype of the call.
template <class Call>
absl::Status LikeInputMeta(MetaContext& context, const Call& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return SetLike(context, call.dtype, *call.input);
}

absl::Status FakeQuantPerChannelMeta(MetaContext& context,
                                     const FakeQuantPerChannelCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return SetLike(context, DType::kFloat32, *call.input);
}

template <class Call>
absl::Status PerGroupMeta(MetaContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const SymInt groups, call.Groups());
  // The input is reshaped to one row per group; this makes it contiguous unless a row is a group.
  if (groups.AsInt() == 1) return SetLike(context, call.dtype, *call.input);
  context.SetTensor(0, call.dtype, call.input->sizes);
  return absl::OkStatus();
}

absl::Status ChooseParametersMeta(MetaContext& context,
                                  const ChooseParametersCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  context.SetTensor(0, DType::kFloat64, {SymInt(1)});
  context.SetTensor(1, DType::kInt64, {SymInt(1)});
  return absl::OkStatus();
}

absl::Status ChoosePerTokenMeta(MetaContext& context,
                                const ChoosePerTokenCall<MetaArguments, true>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, call.Shape());
  const DType type = call.input->dtype == DType::kFloat16 ? DType::kFloat32 : call.input->dtype;
  context.SetTensor(0, type, shape);
  context.SetTensor(1, type, shape);
  return absl::OkStatus();
}

absl::Status ChoosePerTokenAsymmetricMeta(MetaContext& context,
                                          const ChoosePerTokenCall<MetaArguments, false>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, DType::kFloat64, shape);
  context.SetTensor(1, DType::kInt64, shape);
  return absl::OkStatus();
}

absl::Status ConvertElementTypeMeta(MetaContext& context,
                                    const ConvertElementTypeCall<MetaArguments>& call) {
  return SetLike(context, call.dtype, *call.input);
}

absl::Status QuantizedAddMeta(MetaContext& context, const QuantizedAddCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  if (call.out == nullptr) return SetLike(context, call.input->dtype, *call.input);
  context.SetOutput(0, *call.out);
  return absl::OkStatus();
}

template <class Call>
constexpr MetaFn kLikeInput = &MetaKernel<&LikeInputMeta<Call>>;
template <Given kGiven>
constexpr MetaFn kQuantizePerTensor = kLikeInput<QuantizePerTensorCall<MetaArguments, kGiven>>;
template <Given kGiven>
constexpr MetaFn kDequantizePerTensor = kLikeInput<DequantizePerTensorCall<MetaArguments, kGiven>>;

constexpr Tolerance kStep = {0, 1};  // of the quantized numbers
constexpr Tolerance kDequantized = {2e-6, 1e-7};

#define BELAY_QUANTIZED "quantized_decomposed::"
#define BELAY_RANGE "int quant_min, int quant_max, "

constexpr OpDef kRows[] = {
    {.schema = BELAY_QUANTIZED
     "quantize_per_tensor(Tensor input, float scale, int zero_point, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = kQuantizePerTensor<Given::kNumbers>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = kQuantizePerTensor<Given::kTensors>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, "
     "Tensor quant_max, ScalarType dtype) -> Tensor",
     .meta = kQuantizePerTensor<Given::kTensorsAndRange>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_tensor(Tensor input, float scale, int zero_point, " BELAY_RANGE
     "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = kDequantizePerTensor<Given::kNumbers>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " BELAY_RANGE
     "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = kDequantizePerTensor<Given::kTensors>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor "
     "quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = kDequantizePerTensor<Given::kTensorsAndRange>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = kLikeInput<QuantizePerChannelCall<MetaArguments>>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int "
     "axis, " BELAY_RANGE "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     .meta = kLikeInput<DequantizePerChannelCall<MetaArguments>>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
     "quant_min, int quant_max) -> Tensor",
     .meta = &MetaKernel<&FakeQuantPerChannelMeta>,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " BELAY_RANGE
     "ScalarType dtype) -> Tensor",
     .meta = kLikeInput<QuantizePerTokenCall<MetaArguments>>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " BELAY_RANGE
     "ScalarType dtype, ScalarType output_dtype) -> Tensor",
     .meta = kLikeInput<DequantizePerTokenCall<MetaArguments>>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, " BELAY_RANGE
     "ScalarType dtype, int group_size) -> Tensor",
     .meta = &MetaKernel<&PerGroupMeta<QuantizePerGroupCall<MetaArguments>>>,
     .traits = kQuantization | kQuantizes,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, " BELAY_RANGE
     "ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
     .meta = &MetaKernel<&PerGroupMeta<DequantizePerGroupCall<MetaArguments>>>,
     .traits = kQuantization | kDequantizes,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED "choose_qparams.tensor(Tensor input, " BELAY_RANGE
                               "float eps, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&ChooseParametersMeta>,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED "choose_qparams_symmetric.tensor(Tensor input, " BELAY_RANGE
                               "float eps, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&ChooseParametersMeta>,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&ChoosePerTokenMeta>,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&ChoosePerTokenAsymmetricMeta>,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema = BELAY_QUANTIZED
     "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, "
     "Tensor)",
     .meta = &MetaKernel<&ChoosePerTokenAsymmetricMeta>,
     .traits = kQuantization,
     .tolerance = kDequantized},
    {.schema =
         BELAY_QUANTIZED "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
     .meta = &MetaKernel<&ConvertElementTypeMeta>,
     .traits = kPointwise,
     .tolerance = {0, 0}},
    {.schema = BELAY_QUANTIZED
     "add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, "
     "float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int "
     "out_zero_point, int out_quant_min, int out_quant_max) -> Tensor",
     .meta = &MetaKernel<&QuantizedAddMeta>,
     .traits = kPointwise,
     .tolerance = kStep},
    {.schema = BELAY_QUANTIZED
     "add.out(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor "
     "b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int "
     "out_zero_point, int out_quant_min, int out_quant_max, *, Tensor(a!) out) -> Tensor(a!)",
     .meta = &MetaKernel<&QuantizedAddMeta>,
     .traits = kPointwise,
     .tolerance = kStep},
};

#undef BELAY_RANGE
#undef BELAY_QUANTIZED

}  // namespace

absl::Span<const OpDef> QuantizedOps() { return kRows; }

}  // namespace belay::exir
