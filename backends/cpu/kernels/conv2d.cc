// belay_cpu::conv2d and belay_cpu::depthwise_conv2d.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/few_channels.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/pixel_strips.h"
#include "backends/cpu/kernels/planar_convolution.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/depthwise.h"

namespace belay::cpu {

template <>
CheckedInt RowCopySize<float>(PatchWay way, const TapSizes& taps) {
  return way == PatchWay::kRows ? PixelTileSize<float>(taps) : CheckedInt(0);
}
namespace {

template <bool kDepthwise>
using Call = Conv2dCall<KernelArguments, kDepthwise>;

absl::Status Conv2d(KernelContext& context, const Call<false>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(CheckPixelLayout(*out, call.epilogue.other != nullptr));
  ABSL_ASSIGN_OR_RETURN(const EpilogueF32 epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  if (IsPlanarConvolution(*call.input, call.window, *out)) {
    return RunPlanarConvolution(context, *call.input, *call.weight, call.window, epilogue, *out);
  }
  if (IsOfFewChannels(*call.input, *call.weight, call.window, *out)) {
    return RunOfFewChannels(context, *call.input, *call.weight, call.window, epilogue, *out);
  }
  return RunConvolution<float>(context, {*call.input, *call.weight, VolumeWindowOf(call.window),
                                         /*groups=*/1, epilogue, *out});
}

// Rows of a contiguous result that are computed in working memory before they are transposed: a power
// of two.
int64_t StripRows(const TensorView& out) {
  const CheckedInt row = CheckedInt(out.sizes[1]) * out.sizes[3];
  const int64_t most = row.ok() ? kStripElements / std::max<int64_t>(row.value(), 1) : 1;
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(most, 1))));
}
// Floats of the working memory of a thread.
CheckedInt StripSize(const TensorView& out) {
  return CheckedInt(StripRows(out)) * out.sizes[1] * out.sizes[3];
}

// Computes a contiguous result of a depthwise convolution.
absl::Status RunStrips(const KernelContext& context, const DepthwiseArgs& g, double work,
                       const TensorView& out) {
  // Rows of a narrower image than the largest one are shorter, but a strip of them may be larger.
  const int64_t row_size = g.out_width * g.channels;
  const auto planned = static_cast<int64_t>(context.scratch().size() / sizeof(float)) /
                       context.num_threads() / std::max<int64_t>(row_size, 1);
  const auto most = std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(planned, 1)));
  const int64_t rows = std::min(StripRows(out), static_cast<int64_t>(most));
  ABSL_ASSIGN_OR_RETURN(
      float* const strips,
      ScratchArray<float>(context, CheckedInt(rows) * row_size * context.num_threads()));
  RunRanges(context, g.batch * g.out_height, 1, work, [&](int part, int64_t first, int64_t last) {
    DepthwiseArgs image = g;
    image.batch = 1;
    image.out = strips + part * rows * row_size;
    image.out_row_mask = rows - 1;
    Budget::Pace pace;
    while (first < last) {
      const int64_t n = first / g.out_height, y = first % g.out_height;
      const int64_t count = std::min({last - first, g.out_height - y, rows - y % rows});
      if (pace.Stop(count * row_size * g.kernel_height * g.kernel_width)) return;
      image.in = g.in + n * g.height * g.width * g.channels;
      DepthwiseRows(image, y, y + count);
      StorePixels(image.out + y % rows * row_size, first * g.out_width, count * g.out_width, 0,
                  g.channels, out);
      first += count;
    }
  });
  return absl::OkStatus();
}

absl::Status DepthwiseConv2d(KernelContext& context, const Call<true>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(CheckPixelLayout(*out, call.epilogue.other != nullptr));
  DepthwiseArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  static_cast<DepthwiseGeometry&>(g) = GeometryOf(call.input->sizes, out->sizes, call.window);
  g.in = call.input->as<const float>();
  g.weight = call.weight->as<const float>();
  g.out = out->as<float>();
  const double work = static_cast<double>(out->numel()) * static_cast<double>(call.window.taps());
  if (!IsChannelsLast(*out)) return RunStrips(context, g, work, *out);
  RunRows(context, g.batch * g.out_height, work,
          [&](int64_t first, int64_t last) { DepthwiseRows(g, first, last); });
  return absl::OkStatus();
}

uint64_t DepthwiseScratch(const KernelContext& context, const Call<true>&) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 4 || IsChannelsLast(**out)) return 0;
  return ScratchBytesOf<float>(StripSize(**out) * context.num_threads());
}

template <bool kDepthwise>
bool Accepts(const KernelContext& context, const Call<kDepthwise>& call) {
  return call.Shape().ok();
}

uint64_t Conv2dScratch(const KernelContext& context, const Call<false>& call) {
  return std::max({PlanarConvolutionScratch(context, *call.input, call.window),
                   FewChannelsScratch(context, *call.input, *call.weight, call.window),
                   ConvolutionScratch<float>(context, call.input->sizes, *call.weight,
                                             VolumeWindowOf(call.window),
                                             {PatchWay::kTaps, PatchWay::kPadded})});
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
    KernelRow<&DepthwiseConv2d, &Accepts<true>, &DepthwiseScratch>(
        "belay_cpu.depthwise_conv2d.default",
        "input weight bias other kernel_size stride padding dilation activation combine low high",
        "DepthwiseConv2dPacked", KernelEngine::kHighway, &kDepthwiseFacts),
};

}  // namespace

absl::Span<const Kernel> Conv2dKernels() { return kKernels; }

}  // namespace belay::cpu
