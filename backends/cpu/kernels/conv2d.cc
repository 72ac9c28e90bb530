// belay_cpu::conv2d and belay_cpu::depthwise_conv2d.
#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/depthwise.h"

namespace belay::cpu {

template <>
CheckedInt RowCopySize<float>(const TapSizes&) {
  return 0;
}
namespace {

template <bool kDepthwise>
using Call = Conv2dCall<KernelArguments, kDepthwise>;

absl::Status Conv2d(KernelContext& context, const Call<false>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  ABSL_ASSIGN_OR_RETURN(const EpilogueF32 epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  return RunConvolution(context, *call.input, *call.weight, call.window, epilogue, *out);
}

absl::Status DepthwiseConv2d(KernelContext& context, const Call<true>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  DepthwiseArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  static_cast<DepthwiseGeometry&>(g) = GeometryOf(call.input->sizes, out->sizes, call.window);
  g.in = call.input->as<const float>();
  g.weight = call.weight->as<const float>();
  g.out = out->as<float>();
  const double work = static_cast<double>(out->numel()) * static_cast<double>(call.window.taps());
  RunRows(context, g.batch * g.out_height, work,
          [&](int64_t first, int64_t last) { DepthwiseRows(g, first, last); });
  return absl::OkStatus();
}

template <bool kDepthwise>
bool Accepts(const KernelContext& context, const Call<kDepthwise>& call) {
  return call.Shape().ok();
}

uint64_t Conv2dScratch(const KernelContext& context, const Call<false>& call) {
  return ConvolutionScratch<float>(context, call.input->sizes, call.window,
                                   {PatchWay::kTaps, PatchWay::kPadded});
}

constexpr OperatorFacts kConv2dFacts = {.work = {WorkRule::Kind::kConvolution},
                                        .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr OperatorFacts kDepthwiseFacts = {.work = {WorkRule::Kind::kConvolution},
                                           .flops = {FlopRule::Kind::kDepthwise, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&Conv2d, &Accepts<false>, &Conv2dScratch>(
        "belay_cpu.conv2d.default",
        "input weight bias other out_channels kernel_size stride padding dilation activation "
        "combine low high",
        "Conv2dPacked", KernelEngine::kHighway, &kConv2dFacts),
    KernelRow<&DepthwiseConv2d, &Accepts<true>>(
        "belay_cpu.depthwise_conv2d.default",
        "input weight bias other kernel_size stride padding dilation activation combine low high",
        "DepthwiseConv2dPacked", KernelEngine::kHighway, &kDepthwiseFacts),
};

}  // namespace

absl::Span<const Kernel> Conv2dKernels() { return kKernels; }

}  // namespace belay::cpu
