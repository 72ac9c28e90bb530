// belay_cpu::winograd_conv2d.
#include "runtime/kernels/packed/winograd.h"

#include <algorithm>

#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay::cpu {
namespace {

using Call = WinogradConv2dCall<KernelArguments>;

// The convolution and the number of tiles that are processed at once.
struct Plan {
  WinogradArgs args;
  int64_t chunk = 0;
  CheckedInt scratch;  // floats
};

// Plans for a result of this shape, whose element count fits into int64.
Plan PlanOf(const Call& call, const Dims<CheckedInt>& shape) {
  Plan plan;
  WinogradArgs& g = plan.args;
  const Sizes& in = call.input->sizes;
  g.batch = in[0];
  g.channels = in[1];
  g.height = in[2];
  g.width = in[3];
  g.out_channels = call.out_channels;
  g.out_height = shape[2].value();
  g.out_width = shape[3].value();
  g.padding_y = call.window.padding[0];
  g.padding_x = call.window.padding[1];
  plan.chunk = std::min(g.tiles(), WinogradChunkTiles(g.channels, g.out_channels));
  plan.scratch = WinogradScratchSize(g.channels, g.out_channels, plan.chunk);
  return plan;
}

absl::Status WinogradConv2d(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  ABSL_ASSIGN_OR_RETURN(const EpilogueF32 epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  Plan plan = PlanOf(call, shape);
  ABSL_ASSIGN_OR_RETURN(float* const scratch, ScratchArray<float>(context, plan.scratch));
  WinogradArgs& g = plan.args;
  g.in = call.input->as<const float>();
  g.weight = call.weight->as<const float>();
  g.out = out->as<float>();
  g.epilogue = epilogue;
  Budget::Pace pace;
  for (int64_t first = 0; first < g.tiles(); first += plan.chunk) {
    const int64_t count = std::min(plan.chunk, g.tiles() - first);
    const WinogradChunk chunk(g, first, count, scratch);
    const double elements = static_cast<double>(count) * kWinogradProducts;
    const auto channels = static_cast<double>(g.channels);
    const auto out_channels = static_cast<double>(g.out_channels);
    if (pace.Stop(static_cast<int64_t>(
            std::min(elements * (channels + out_channels) * kElementWork, 0x1p40)))) {
      return absl::OkStatus();
    }
    RunRanges(context, count, 1, elements * channels * kElementWork,
              [&](int, int64_t begin, int64_t end) { chunk.TransformPixels(begin, end); });
    RunRanges(context, kWinogradProducts, 1, elements * channels * out_channels,
              [&](int, int64_t begin, int64_t end) { chunk.Multiply(begin, end); });
    RunRanges(context, count, 1, elements * out_channels * kElementWork,
              [&](int, int64_t begin, int64_t end) { chunk.TransformSums(begin, end); });
  }
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const absl::StatusOr<Dims<CheckedInt>> shape = call.Shape();
  if (!shape.ok()) return 0;
  CheckedInt results = 1;
  for (const CheckedInt& size : *shape) results = results * size;
  if (!results.ok()) return UINT64_MAX;
  return ScratchBytesOf<float>(PlanOf(call, *shape).scratch);
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kConvolution},
                                  .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&WinogradConv2d, &Accepts, &ScratchBytes>(
        "belay_cpu.winograd_conv2d.default",
        "input weight bias other out_channels kernel_size stride padding dilation activation "
        "combine low high",
        "Conv2dWinograd", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> WinogradConv2dKernels() { return kKernels; }

}  // namespace belay::cpu
