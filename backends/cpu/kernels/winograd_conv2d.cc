// belay_cpu::winograd_conv2d and belay_cpu::winograd_convolution.
#include "runtime/kernels/packed/winograd.h"

#include <algorithm>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay::cpu {
namespace {

using ImageCall = WinogradConv2dCall<KernelArguments>;
using VolumeCall = WinogradConvolutionCall<KernelArguments>;

// The sizes and the window of a call.
WinogradArgs ArgsOf(const ImageCall& call, const Dims<CheckedInt>& shape) {
  WinogradArgs g;
  g.padding_y = call.window.padding[0];
  g.padding_x = call.window.padding[1];
  return g;
}
WinogradArgs ArgsOf(const VolumeCall& call, const Dims<CheckedInt>& shape) {
  const auto& axes = call.window.axes;
  WinogradArgs g;
  g.depth = call.input->sizes[2];
  g.out_depth = shape[2].value();
  g.kernel_depth = axes[0].kernel;
  g.stride_z = axes[0].stride;
  g.padding_z = axes[0].padding;
  g.dilation_z = axes[0].dilation;
  g.padding_y = axes[1].padding;
  g.padding_x = axes[2].padding;
  return g;
}

// The convolution, and its division into chunks of tiles that differ in size by at most one tile.
struct Plan {
  WinogradArgs args;
  int64_t chunks = 0;
  // Whether all threads process each chunk together, since there are too few tiles to divide.
  bool divides_chunks = false;
  CheckedInt scratch;  // floats per chunk that is processed at a time

  CheckedInt memory(int threads) const { return divides_chunks ? scratch : scratch * threads; }
  int64_t FirstTile(int64_t chunk) const { return args.tiles() * chunk / chunks; }
};

// Rows of results per thread from which each thread processes chunks of its own. It then reads all
// filters.
constexpr int64_t kRowsOfThread = 48;

// Plans for a result of this shape, whose element count fits into int64.
template <class Call>
Plan PlanOf(const Call& call, const Dims<CheckedInt>& shape, int threads) {
  Plan plan;
  WinogradArgs& g = plan.args = ArgsOf(call, shape);
  const Sizes& in = call.input->sizes;
  const int last = in.size() - 1;
  g.tile = call.tile();
  g.batch = in[0];
  g.channels = in[1];
  g.height = in[last - 1];
  g.width = in[last];
  g.out_channels = call.out_channels;
  g.out_height = shape[last - 1].value();
  g.out_width = shape[last].value();
  const int64_t tiles = std::max<int64_t>(g.tiles(), 1), most = WinogradChunkTiles(g);
  plan.chunks = (tiles - 1) / most + 1;
  plan.divides_chunks = tiles * g.out_depth < kRowsOfThread * threads;
  // Whole rounds of all threads. No chunk has fewer than four rows, which would give other bits.
  if (!plan.divides_chunks) plan.chunks = (plan.chunks - 1) / threads * threads + threads;
  plan.scratch = WinogradScratchSize(g, (tiles - 1) / plan.chunks + 1);
  return plan;
}

// Computes chunk `i`. run(count, work, body) calls body(begin, end) for ranges of [0, count) that cost
// `work` multiply-adds together.
template <class Run>
void RunChunk(const Plan& plan, int64_t i, float* scratch, Budget::Pace& pace, const Run& run) {
  const WinogradArgs& g = plan.args;
  const int64_t first = plan.FirstTile(i), count = plan.FirstTile(i + 1) - first;
  const int64_t products = WinogradProducts(g.tile);
  const WinogradChunk chunk(g, first, count, scratch);
  const auto elements = static_cast<double>(count * products);
  const double pixels = elements * static_cast<double>(g.depth * g.channels);
  const double sums = elements * static_cast<double>(g.out_depth * g.out_channels);
  if (pace.Stop(static_cast<int64_t>(std::min((pixels + sums) * kElementWork, 0x1p40)))) return;
  run(count, pixels * kElementWork,
      [&](int64_t begin, int64_t end) { chunk.TransformPixels(begin, end); });
  run(products, sums * static_cast<double>(g.kernel_depth * g.channels),
      [&](int64_t begin, int64_t end) { chunk.Multiply(begin, end); });
  run(count, sums * kElementWork,
      [&](int64_t begin, int64_t end) { chunk.TransformSums(begin, end); });
}

void RunChunks(const KernelContext& context, const Plan& plan, float* scratch) {
  if (plan.divides_chunks) {
    Budget::Pace pace;
    for (int64_t i = 0; i < plan.chunks && !pace.stopped(); ++i) {
      RunChunk(plan, i, scratch, pace, [&](int64_t count, double work, auto body) {
        RunRanges(context, count, 1, work,
                  [&](int, int64_t begin, int64_t end) { body(begin, end); });
      });
    }
    return;
  }
  const WinogradArgs& g = plan.args;
  const double work = static_cast<double>(g.tiles() * WinogradProducts(g.tile)) *
                      static_cast<double>(g.kernel_depth * g.channels) *
                      static_cast<double>(g.out_depth * g.out_channels);
  RunRanges(context, plan.chunks, 1, work, [&](int part, int64_t begin, int64_t end) {
    float* const mine = scratch + part * plan.scratch.value();
    Budget::Pace pace;
    for (int64_t i = begin; i < end && !pace.stopped(); ++i) {
      RunChunk(plan, i, mine, pace,
               [](int64_t count, double, auto body) { body(int64_t{0}, count); });
    }
  });
}

template <class Call>
absl::Status Convolve(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  ABSL_ASSIGN_OR_RETURN(const EpilogueF32 epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  Plan plan = PlanOf(call, shape, context.num_threads());
  ABSL_ASSIGN_OR_RETURN(float* const scratch,
                        ScratchArray<float>(context, plan.memory(context.num_threads())));
  WinogradArgs& g = plan.args;
  g.in = call.input->template as<const float>();
  g.weight = call.weight->template as<const float>();
  g.out = out->as<float>();
  g.epilogue = epilogue;
  RunChunks(context, plan, scratch);
  return absl::OkStatus();
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return call.Shape().ok();
}

template <class Call>
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const absl::StatusOr<Dims<CheckedInt>> shape = call.Shape();
  if (!shape.ok()) return 0;
  CheckedInt results = 1;
  for (const CheckedInt& size : *shape) results = results * size;
  if (!results.ok()) return UINT64_MAX;
  const int threads = context.num_threads();
  return ScratchBytesOf<float>(PlanOf(call, *shape, threads).memory(threads));
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kConvolution},
                                  .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&Convolve<ImageCall>, &Accepts<ImageCall>, &ScratchBytes<ImageCall>>(
        "belay_cpu.winograd_conv2d.default",
        "input weight bias other out_channels kernel_size stride padding dilation activation "
        "combine low high",
        "Conv2dWinograd", KernelEngine::kHighway, &kFacts),
    KernelRow<&Convolve<VolumeCall>, &Accepts<VolumeCall>, &ScratchBytes<VolumeCall>>(
        "belay_cpu.winograd_convolution.default",
        "input weight bias other out_channels groups transposed kernel_size stride padding "
        "output_padding dilation activation combine low high",
        "ConvolutionWinograd", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> WinogradConv2dKernels() { return kKernels; }

}  // namespace belay::cpu
