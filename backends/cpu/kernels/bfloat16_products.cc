// belay_cpu::bfloat16_linear, bfloat16_conv2d, bfloat16_convolution and bfloat16_depthwise_conv2d.
#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/bfloat16_depthwise.h"
#include "runtime/kernels/packed/bfloat16_gemm.h"

namespace belay::cpu {

template <>
CheckedInt RowCopySize<BFloat16>(PatchWay way, const TapSizes& taps) {
  return way == PatchWay::kRows ? PixelTileSize<BFloat16>(taps)
                                : BFloat16CopySize(taps.size, taps.count);
}
namespace {

using LinearArguments = BFloat16LinearCall<KernelArguments>;
using Conv2dArguments = BFloat16Conv2dCall<KernelArguments>;
using ConvolutionArguments = BFloat16ConvolutionCall<KernelArguments>;
using DepthwiseArguments = BFloat16DepthwiseConv2dCall<KernelArguments>;

int64_t FeaturesOf(const LinearArguments& call) {
  return call.input->sizes[call.input->rank() - 1];
}

absl::Status Linear(KernelContext& context, const LinearArguments& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("input", *call.input));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kBFloat16, shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  ABSL_ASSIGN_OR_RETURN(const auto epilogue, EpilogueOf<BFloat16>(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  return RunRowProduct(context, LinearProduct(*call.input, *call.weight, epilogue, *out));
}

uint64_t LinearScratch(const KernelContext& context, const LinearArguments& call) {
  return RowProductScratch<BFloat16>(context, FeaturesOf(call));
}

absl::Status Conv2d(KernelContext& context, const Conv2dArguments& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  if (call.input->sizes[1] >= kFewChannels) {
    ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kBFloat16, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  ABSL_ASSIGN_OR_RETURN(const auto epilogue, EpilogueOf<BFloat16>(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  return RunConvolution<BFloat16>(context, {*call.input, *call.weight, VolumeWindowOf(call.window),
                                            /*groups=*/1, epilogue, *out});
}

uint64_t Conv2dScratch(const KernelContext& context, const Conv2dArguments& call) {
  return ConvolutionScratch<BFloat16>(context, call.input->sizes, *call.weight,
                                      VolumeWindowOf(call.window),
                                      {PatchWay::kTaps, PatchWay::kPadded});
}

absl::Status Convolve(KernelContext& context, const ConvolutionArguments& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kBFloat16, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  ABSL_ASSIGN_OR_RETURN(const auto epilogue, EpilogueOf<BFloat16>(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  return RunConvolution<BFloat16>(
      context, {*call.input, *call.weight, call.window, call.groups, epilogue, *out});
}

uint64_t ConvolutionScratchBytes(const KernelContext& context, const ConvolutionArguments& call) {
  if (!call.Shape().ok()) return 0;
  const bool copies = call.groups == 1 && !call.transposed && call.input->sizes[1] < kFewChannels;
  return ConvolutionScratch<BFloat16>(context, call.input->sizes, *call.weight, call.window,
                                      {copies ? PatchWay::kPadded : PatchWay::kTaps});
}

absl::Status DepthwiseConv2d(KernelContext& context, const DepthwiseArguments& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kBFloat16, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  BFloat16DepthwiseArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf<BFloat16>(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  static_cast<DepthwiseGeometry&>(g) = GeometryOf(call.input->sizes, out->sizes, call.window);
  g.in = call.input->as<const BFloat16>();
  g.weight = call.weight->as<const float>();
  g.out = out->as<BFloat16>();
  const double work = static_cast<double>(out->numel()) * static_cast<double>(call.window.taps());
  RunRows(context, g.batch * g.out_height, work,
          [&](int64_t first, int64_t last) { DepthwiseRows(g, first, last); });
  return absl::OkStatus();
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return call.Shape().ok();
}

constexpr OperatorFacts kLinearFacts = {.work = {WorkRule::Kind::kMatmul, 0, 1},
                                        .flops = {FlopRule::Kind::kMatmul, "input"}};
constexpr OperatorFacts kConv2dFacts = {.work = {WorkRule::Kind::kConvolution},
                                        .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr OperatorFacts kDepthwiseFacts = {.work = {WorkRule::Kind::kConvolution},
                                           .flops = {FlopRule::Kind::kDepthwise, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&Linear, &Accepts<LinearArguments>, &LinearScratch>(
        "belay_cpu.bfloat16_linear.default",
        "input weight bias other out_features activation combine low high", "BFloat16LinearPacked",
        KernelEngine::kHighway, &kLinearFacts),
    KernelRow<&Conv2d, &Accepts<Conv2dArguments>, &Conv2dScratch>(
        "belay_cpu.bfloat16_conv2d.default",
        "input weight bias other out_channels kernel_size stride padding dilation activation "
        "combine low high",
        "BFloat16Conv2dPacked", KernelEngine::kHighway, &kConv2dFacts),
    KernelRow<&Convolve, &Accepts<ConvolutionArguments>, &ConvolutionScratchBytes>(
        "belay_cpu.bfloat16_convolution.default",
        "input weight bias other out_channels groups transposed kernel_size stride padding "
        "output_padding dilation activation combine low high",
        "BFloat16ConvolutionPacked", KernelEngine::kHighway, &kConv2dFacts),
    KernelRow<&DepthwiseConv2d, &Accepts<DepthwiseArguments>>(
        "belay_cpu.bfloat16_depthwise_conv2d.default",
        "input weight bias other kernel_size stride padding dilation activation combine low high",
        "BFloat16DepthwiseConv2dPacked", KernelEngine::kHighway, &kDepthwiseFacts),
};

}  // namespace

absl::Span<const Kernel> BFloat16ProductKernels() { return kKernels; }

}  // namespace belay::cpu
