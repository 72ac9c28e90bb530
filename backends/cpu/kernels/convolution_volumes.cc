// belay_cpu::convolution: grouped, transposed and over volumes.
#include <algorithm>
#include <cstdint>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/depthwise_volumes.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/pixel_convolution.h"
#include "backends/cpu/kernels/pixel_strips.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"

namespace belay::cpu {
namespace {

using Call = GeneralConvolutionCall<KernelArguments>;

absl::Status Convolve(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(CheckPixelLayout(*out, call.transposed || call.epilogue.other != nullptr));
  ABSL_ASSIGN_OR_RETURN(const EpilogueF32 epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  if (!call.transposed && IsPixelConvolution(*call.input, call.window, call.groups, *out)) {
    return RunPixelConvolution(context, *call.input, *call.weight, call.window, call.groups,
                               epilogue, *out);
  }
  if (IsDepthwiseVolume(call, epilogue, *out)) {
    RunDepthwiseVolumes(context, call, epilogue, *out);
    return absl::OkStatus();
  }
  return RunConvolution<float>(
      context, {*call.input, *call.weight, call.window, call.groups, epilogue, *out});
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  if (!call.Shape().ok()) return 0;
  const bool copies = call.groups == 1 && !call.transposed && call.input->sizes[1] < kFewChannels;
  const uint64_t bytes =
      ConvolutionScratch<float>(context, call.input->sizes, *call.weight, call.window,
                                {copies ? PatchWay::kPadded : PatchWay::kTaps});
  if (call.transposed) return bytes;
  return std::max(bytes, PixelConvolutionScratch(context, *call.input, call.window, call.groups));
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kConvolution},
                                  .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&Convolve, &Accepts, &ScratchBytes>(
        "belay_cpu.convolution.default",
        "input weight bias other out_channels groups transposed kernel_size stride padding "
        "output_padding dilation activation combine low high",
        "ConvolutionPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> ConvolutionKernels() { return kKernels; }

}  // namespace belay::cpu
