#include "backends/cpu/ops/cpu_ops.h"

#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/chain_calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/dynamic_calls.h"
#include "backends/cpu/embedding_calls.h"
#include "backends/cpu/pointwise_calls.h"
#include "backends/cpu/quantized_calls.h"
#include "backends/cpu/token_calls.h"
#include "backends/cpu/weight_only_calls.h"
#include "exir/op_definition/meta_context.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::MetaArguments;
using exir::MetaContext;
using exir::MetaKernel;
using exir::OpDef;
using exir::SymInt;

constexpr std::string_view kNamespace = "belay_cpu";

// Meta kernel of linear layers and of operators that keep their input's shape.
template <class Call, DType kResult = DType::kFloat32>
absl::Status RowsMeta(MetaContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, kResult, std::move(shape));
  return absl::OkStatus();
}

// Meta kernel of floating-point convolutions and chains of them.
template <class Call, DType kResult = DType::kFloat32>
absl::Status Conv2dMeta(MetaContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetOutput(0, exir::DenseInFormat(kResult, std::move(shape), /*channels_last=*/true));
  return absl::OkStatus();
}

absl::Status QuantizedLinearMeta(MetaContext& context,
                                 const QuantizedLinearCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.epilogue.ResultType(), std::move(shape));
  return absl::OkStatus();
}

template <class Call>
absl::Status QuantizedConv2dMeta(MetaContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetOutput(0, exir::DenseInFormat(call.epilogue.ResultType(), std::move(shape),
                                           /*channels_last=*/true));
  return absl::OkStatus();
}

absl::Status QuantizedAddMeta(MetaContext& context, const QuantizedAddCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  context.SetOutput(0, exir::DenseInFormat(DType::kUint8, call.a->sizes, call.a->rank() == 4));
  return absl::OkStatus();
}

absl::Status PackedEmbeddingMeta(MetaContext& context,
                                 const PackedEmbeddingCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.layout->result, std::move(shape));
  return absl::OkStatus();
}

absl::Status LookupMeta(MetaContext& context, const LookupCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(exir::TensorMeta result,
                        exir::ResultLike(DType::kUint8, *call.input, MemoryFormat::kPreserve));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

absl::Status MaxPool2dMeta(MetaContext& context, const MaxPool2dCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetOutput(
      0, exir::DenseInFormat(call.input->dtype, std::move(shape), /*channels_last=*/true));
  return absl::OkStatus();
}

absl::Status AttentionMeta(MetaContext& context, const AttentionCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, DType::kFloat32, std::move(shape));
  return absl::OkStatus();
}

absl::Status PointwiseMeta(MetaContext& context, const PointwiseGroupCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  const absl::Span<const exir::TensorMeta* const> inputs(call.inputs.data(),
                                                         static_cast<size_t>(call.num_inputs));
  context.SetOutput(0, exir::PointwiseResult(call.ResultType(), std::move(shape), inputs));
  return absl::OkStatus();
}

constexpr std::string_view kTypes = "input:A weight:A bias:A other:A ->:A A={f32}";

constexpr std::string_view kBFloat16Types = "input:A weight:A bias:B other:A ->:A A={bf16} B={f32}";

constexpr std::string_view kQuantizedTypes =
    "input:A weight:B scales:C weight_sums:D bias:C ->:E "
    "A={u8} B={i8} C={f32} D={i32} E={f32,u8}";
constexpr exir::Tolerance kQuantizedTolerance = {1e-5, 1};  // one quantization step

#define BELAY_CPU_QUANTIZED_EPILOGUE                                                  \
  "int input_zero_point, str activation, float low, float high, float? inner_scale, " \
  "int[] inner_range, float? output_scale, int[] output_range) -> Tensor"

constexpr OpDef kRows[] = {
    {.schema = "belay_cpu::linear(Tensor input, Tensor weight, Tensor? bias, Tensor? other, "
               "int out_features, str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&RowsMeta<LinearCall<MetaArguments>>>,
     .dtypes = kTypes,
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::weight_only_linear(Tensor input, Tensor weight, Tensor? scales, "
               "Tensor? zeros, Tensor? bias, Tensor? other, int out_features, str format, "
               "int group, str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&RowsMeta<WeightOnlyLinearCall<MetaArguments>>>,
     .dtypes = "input:A weight:B scales:A zeros:A bias:A other:A ->:A A={f32} B={i8,i32,bf16}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::dynamic_quantized_linear(Tensor input, Tensor? input_scales, "
               "Tensor? input_zeros, Tensor weight, Tensor scales, Tensor weight_sums, "
               "Tensor? bias, Tensor? other, int out_features, str format, int group, "
               "str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&RowsMeta<DynamicQuantizedLinearCall<MetaArguments>>>,
     .dtypes = "input:A input_scales:B input_zeros:C weight:D scales:E weight_sums:F bias:G "
               "other:G ->:G A={i8,u8,f32} B={f32,f64} C={i8,i32,i64} D={i8,i32} E={f32,bf16} "
               "F={i32} G={f32}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::conv2d(Tensor input, Tensor weight, Tensor? bias, Tensor? other, "
               "int out_channels, int[] kernel_size, int[] stride, int[] padding, int[] dilation, "
               "str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<Conv2dCall<MetaArguments, false>>>,
     .dtypes = kTypes,
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::convolution(Tensor input, Tensor weight, Tensor? bias, Tensor? other, "
               "int out_channels, int groups, bool transposed, int[] kernel_size, int[] stride, "
               "int[] padding, int[] output_padding, int[] dilation, str activation, str combine, "
               "float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<GeneralConvolutionCall<MetaArguments>>>,
     .dtypes = kTypes,
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::winograd_conv2d(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int out_channels, int[] kernel_size, int[] stride, int[] padding, "
               "int[] dilation, str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<WinogradConv2dCall<MetaArguments>>>,
     .dtypes = kTypes,
     .tolerance = {1e-3, 1e-4}},
    {.schema = "belay_cpu::winograd_convolution(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int out_channels, int groups, bool transposed, int[] kernel_size, "
               "int[] stride, int[] padding, int[] output_padding, int[] dilation, str activation, "
               "str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<WinogradConvolutionCall<MetaArguments>>>,
     .dtypes = kTypes,
     .tolerance = {1e-3, 1e-4}},
    {.schema = "belay_cpu::depthwise_conv2d(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int[] kernel_size, int[] stride, int[] padding, int[] dilation, "
               "str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<Conv2dCall<MetaArguments, true>>>,
     .dtypes = kTypes,
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::bfloat16_linear(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int out_features, str activation, str combine, float low, "
               "float high) -> Tensor",
     .meta = &MetaKernel<&RowsMeta<BFloat16LinearCall<MetaArguments>, DType::kBFloat16>>,
     .dtypes = kBFloat16Types,
     .tolerance = {8e-3, 1e-6}},
    {.schema = "belay_cpu::bfloat16_conv2d(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int out_channels, int[] kernel_size, int[] stride, int[] padding, "
               "int[] dilation, str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<BFloat16Conv2dCall<MetaArguments>, DType::kBFloat16>>,
     .dtypes = kBFloat16Types,
     .tolerance = {8e-3, 1e-6}},
    {.schema = "belay_cpu::bfloat16_depthwise_conv2d(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int[] kernel_size, int[] stride, int[] padding, int[] dilation, "
               "str activation, str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<BFloat16DepthwiseConv2dCall<MetaArguments>, DType::kBFloat16>>,
     .dtypes = "input:A weight:B bias:B other:A ->:A A={bf16} B={f32}",
     .tolerance = {8e-3, 1e-6}},
    {.schema = "belay_cpu::bfloat16_convolution(Tensor input, Tensor weight, Tensor? bias, "
               "Tensor? other, int out_channels, int groups, bool transposed, int[] kernel_size, "
               "int[] stride, int[] padding, int[] output_padding, int[] dilation, str activation, "
               "str combine, float low, float high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<BFloat16ConvolutionCall<MetaArguments>, DType::kBFloat16>>,
     .dtypes = kBFloat16Types,
     .tolerance = {8e-3, 1e-6}},
    {.schema = "belay_cpu::conv2d_chain(Tensor input, Tensor[] weights, Tensor?[] biases, "
               "Tensor? other, int[] out_channels, int[] kernel_size, int[] stride, int[] padding, "
               "int[] dilation, str activations, str combine, float[] low, float[] high) -> Tensor",
     .meta = &MetaKernel<&Conv2dMeta<Conv2dChainCall<MetaArguments>>>,
     .dtypes = "input:A weights:A biases:A other:A ->:A A={f32}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::attention(Tensor query, Tensor key, Tensor value, Tensor? mask, "
               "float scale, bool is_causal, bool nan_rows) -> Tensor",
     .meta = &MetaKernel<&AttentionMeta>,
     .dtypes = "query:A key:K value:K mask:B ->:A A={f32} K={f32,bf16,f16} B={f32,b8}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::rms_norm(Tensor input, Tensor? weight, float eps) -> Tensor",
     .meta = &MetaKernel<&RowsMeta<RmsNormCall<MetaArguments>>>,
     .dtypes = "input:A weight:A ->:A A={f32}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::rotary_embedding(Tensor input, Tensor cosine, Tensor sine) -> Tensor",
     .meta = &MetaKernel<&RowsMeta<RotaryEmbeddingCall<MetaArguments>>>,
     .dtypes = "input:A cosine:A sine:A ->:A A={f32}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::quantized_linear(Tensor input, Tensor weight, Tensor scales, "
               "Tensor weight_sums, Tensor? bias, int out_features, " BELAY_CPU_QUANTIZED_EPILOGUE,
     .meta = &MetaKernel<&QuantizedLinearMeta>,
     .dtypes = kQuantizedTypes,
     .tolerance = kQuantizedTolerance},
    {.schema = "belay_cpu::quantized_conv2d(Tensor input, Tensor weight, Tensor scales, "
               "Tensor weight_sums, Tensor? bias, int out_channels, int[] kernel_size, "
               "int[] stride, int[] padding, int[] dilation, " BELAY_CPU_QUANTIZED_EPILOGUE,
     .meta = &MetaKernel<&QuantizedConv2dMeta<QuantizedConv2dCall<MetaArguments, false>>>,
     .dtypes = kQuantizedTypes,
     .tolerance = kQuantizedTolerance},
    {.schema = "belay_cpu::quantized_depthwise_conv2d(Tensor input, Tensor weight, Tensor scales, "
               "Tensor weight_sums, Tensor? bias, int[] kernel_size, int[] stride, int[] padding, "
               "int[] dilation, " BELAY_CPU_QUANTIZED_EPILOGUE,
     .meta = &MetaKernel<&QuantizedConv2dMeta<QuantizedConv2dCall<MetaArguments, true>>>,
     .dtypes = kQuantizedTypes,
     .tolerance = kQuantizedTolerance},
    {.schema = "belay_cpu::quantized_grouped_conv2d(Tensor input, Tensor weight, Tensor scales, "
               "Tensor weight_sums, Tensor? bias, int out_channels, int groups, int[] kernel_size, "
               "int[] stride, int[] padding, int[] dilation, " BELAY_CPU_QUANTIZED_EPILOGUE,
     .meta = &MetaKernel<&QuantizedConv2dMeta<QuantizedGroupedConv2dCall<MetaArguments>>>,
     .dtypes = kQuantizedTypes,
     .tolerance = kQuantizedTolerance},
    {.schema = "belay_cpu::quantized_add(Tensor a, Tensor b, float a_scale, int a_zero_point, "
               "float b_scale, int b_zero_point, float output_scale, int[] output_range) "
               "-> Tensor",
     .meta = &MetaKernel<&QuantizedAddMeta>,
     .dtypes = "a:A b:A ->:A A={u8}",
     .tolerance = kQuantizedTolerance},
    {.schema = "belay_cpu::max_pool2d(Tensor input, int[] kernel_size, int[] stride, "
               "int[] padding, int[] dilation) -> Tensor",
     .meta = &MetaKernel<&MaxPool2dMeta>,
     .dtypes = "input:A ->:A A={f32,bf16,u8}",
     .tolerance = {0, 0}},
    {.schema = "belay_cpu::pointwise(Tensor[] inputs, str ops, int[] operands, float[] scalars) "
               "-> Tensor",
     .meta = &MetaKernel<&PointwiseMeta>,
     .dtypes = "inputs:A ->:B A={f32,bf16,b8,i8,u8} B={f32,bf16,u8}",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "belay_cpu::packed_embedding(Tensor weight, Tensor? scales, Tensor? zeros, "
               "Tensor indices, int rows, int features, str layout, int group) -> Tensor",
     .meta = &MetaKernel<&PackedEmbeddingMeta>,
     .dtypes = "weight:A scales:B zeros:B indices:C ->:D A={f32,bf16,i8,i32} B={f32} C={i32,i64} "
               "D={f32,bf16}",
     .tolerance = {0, 0}},
    {.schema = "belay_cpu::lookup(Tensor input, Tensor table) -> Tensor",
     .meta = &MetaKernel<&LookupMeta>,
     .dtypes = "input:A table:A ->:A A={u8}",
     .tolerance = {0, 0}},
};

#undef BELAY_CPU_QUANTIZED_EPILOGUE

const exir::OpRegistry& CpuOps() {
  static const exir::OpRegistry& ops = *[] {
    absl::StatusOr<std::unique_ptr<exir::OpRegistry>> made =
        exir::OpRegistry::Create({CpuOpDefs()});
    ABSL_CHECK(made.ok());
    (*made)->AllowBackendNamespace(kNamespace);
    return made->release();
  }();
  return ops;
}

}  // namespace

absl::Span<const OpDef> CpuOpDefs() { return kRows; }

absl::Status AddCpuOps(exir::OpRegistry& ops) {
  ops.AllowBackendNamespace(kNamespace);
  for (const OpDef& row : kRows) ABSL_RETURN_IF_ERROR(ops.Define(row).status());
  return absl::OkStatus();
}

const exir::OpOverload* CpuOp(std::string_view op) {
  absl::StatusOr<const exir::OpOverload*> found =
      CpuOps().LookupIn(exir::Dialect::kBackend, kNamespace, op);
  ABSL_CHECK(found.ok());
  return *found;
}

bool IsCpuOp(const exir::OpOverload& target, std::string_view op) {
  return target.ns() == kNamespace && target.op() == op;
}

bool HasEpilogue(const exir::OpOverload& target) {
  return target.ns() == kNamespace && target.ArgumentIndex("activation").has_value();
}

bool IsQuantized(const exir::OpOverload& target) {
  return target.ns() == kNamespace && target.ArgumentIndex("output_scale").has_value();
}

bool IsOverImages(const exir::OpOverload& target) {
  return target.ns() == kNamespace && target.ArgumentIndex("kernel_size").has_value();
}

}  // namespace belay::cpu
