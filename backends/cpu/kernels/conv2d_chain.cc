// belay_cpu::conv2d_chain: computes a few rows of the last result at a time, and the rows of
// earlier results that these need. The last rows of each intermediate result are kept in a ring
// buffer, so that a stage's input is still in the L2 cache. Rows are computed twice only at thread
// boundaries.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/chain_calls.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/patches.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/depthwise.h"
#include "runtime/kernels/packed/packed_gemm.h"

namespace belay::cpu {
namespace {

using Call = Conv2dChainCall<KernelArguments>;
using CallStage = ChainStage<KernelArguments>;

// Images that a stage reads or writes.
struct Images {
  int64_t channels = 0, height = 0, width = 0;
  int64_t row() const { return width * channels; }  // floats
  Sizes SizesOf(int64_t batch) const { return {batch, channels, height, width}; }

  static Images Of(const Dims<CheckedInt>& shape) {
    return {shape[1].value(), shape[2].value(), shape[3].value()};
  }
};

// Rows of its result that a stage computes at a time: an even number, which suits depthwise
// convolutions, and more if a 1x1 convolution would have too few GEMM rows.
int64_t RowsAtOnce(const CallStage& stage, int64_t width) {
  constexpr int64_t kWide = 48;
  return stage.depthwise() || width >= kWide ? 2 : 4;
}

// Input rows [first, end) that rows of a stage's result depend on; some may be outside of the
// image.
struct RowRange {
  int64_t first, end;
};
RowRange InputRows(const Window& w, int64_t first, int64_t end) {
  const int64_t reach = (w.kernel_size[0] - 1) * w.dilation[0];
  return {first * w.stride[0] - w.padding[0], (end - 1) * w.stride[0] - w.padding[0] + reach + 1};
}

// A stage with the sizes of a call.
struct Stage {
  const CallStage* call = nullptr;
  Images in, out;
  int64_t rows_at_once = 0;
  int64_t depth = 0;     // multiply-adds per element
  int64_t in_mask = -1;  // row y of the input is at y & in_mask
  EpilogueF32 epilogue;  // set when it runs
  // Per-thread working memory: a ring buffer of input rows, except for the chain's own input, and
  // memory of the GEMM.
  CheckedInt ring = 0, tile = 0;  // floats

  Stage() = default;
  Stage(const CallStage& call, const Images& in, const Images& out, bool is_first)
      : call(&call),
        in(in),
        out(out),
        rows_at_once(RowsAtOnce(call, out.width)),
        depth(call.window.taps() * (call.depthwise() ? 1 : in.channels)) {
    if (!is_first) {
      const RowRange needed = InputRows(call.window, 0, rows_at_once);
      const auto rows = static_cast<uint64_t>(std::min(needed.end - needed.first, in.height));
      in_mask = static_cast<int64_t>(std::bit_ceil(rows)) - 1;
      ring = CheckedInt(in_mask + 1) * in.width * in.channels;
    }
    if (!call.depthwise()) {
      const auto row = static_cast<size_t>(in.channels);
      tile = static_cast<int64_t>(TileSize(row, row));
    }
  }
};

struct Chain {
  int64_t batch = 0;
  int count = 0;
  std::array<Stage, kMaxChainStages> stages;
  Dims<CheckedInt> shape;       // of the last result
  CheckedInt thread_bytes = 0;  // of working memory
  double work = 0;              // multiply-adds

  Stage& last() { return stages[static_cast<size_t>(count - 1)]; }

  // Returns the errors of call.Shape(). Leaves epilogues unset.
  static absl::StatusOr<Chain> Of(const Call& call) {
    Chain chain;
    chain.count = call.count;
    Dims<CheckedInt>& images = chain.shape;
    images = Dims<CheckedInt>(KernelArguments::SizesOf(call.input));
    CheckedInt floats = 0;
    for (int k = 0; k < call.count; ++k) {
      ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> result, call.StageShape(k, images));
      chain.batch = result[0].value();
      Stage& stage = chain.stages[static_cast<size_t>(k)];
      stage = Stage(call.stages[static_cast<size_t>(k)], Images::Of(images), Images::Of(result),
                    k == 0);
      floats = floats + stage.ring + stage.tile;
      chain.work += static_cast<double>(chain.batch) * static_cast<double>(stage.out.height) *
                    static_cast<double>(stage.out.width) * static_cast<double>(stage.out.channels) *
                    static_cast<double>(stage.depth);
      images = result;
    }
    constexpr int64_t kLine = 64;
    const CheckedInt bytes = floats * static_cast<int64_t>(sizeof(float));
    chain.thread_bytes = FloorDiv(bytes + CheckedInt(kLine - 1), CheckedInt(kLine)) * kLine;
    return chain;
  }
};

// Executes one thread's part of a chain.
class ChainWorker {
 public:
  // `memory` has chain.thread_bytes bytes.
  ChainWorker(const Chain& chain, const float* input, float* output, std::byte* memory)
      : chain_(chain), input_(input), output_(output) {
    auto* floats = reinterpret_cast<float*>(memory);
    for (int k = 0; k < chain.count; ++k) {
      rings_[At(k)] = floats;
      tiles_[At(k)] = floats + StageAt(k).ring.value();
      floats = tiles_[At(k)] + StageAt(k).tile.value();
    }
  }

  // Computes rows [first, end) of the last result, counted over all images. Stops early if the
  // budget is exhausted.
  void Run(int64_t first, int64_t end) {
    const int last = chain_.count - 1;
    const int64_t height = StageAt(last).out.height;
    while (first < end && !pace_.stopped()) {
      image_ = first / height;
      const int64_t from = first % height, to = std::min(height, from + end - first);
      done_[At(last)] = from;
      for (int k = last; k > 0; --k) {
        const int64_t needed =
            InputRows(StageAt(k).call->window, done_[At(k)], done_[At(k)] + 1).first;
        done_[At(k - 1)] = std::clamp(needed, int64_t{0}, StageAt(k).in.height);
      }
      Produce(last, to);
      first += to - from;
    }
  }

 private:
  static size_t At(int k) { return static_cast<size_t>(k); }
  const Stage& StageAt(int k) const { return chain_.stages[At(k)]; }

  // Computes the rows of stage k's result below `end` that are not done yet.
  void Produce(int k, int64_t end) {
    const Stage& stage = StageAt(k);
    for (int64_t& done = done_[At(k)]; done < end;) {
      const int64_t rows = std::min(stage.rows_at_once, end - done);
      if (k > 0) {
        const int64_t needed = InputRows(stage.call->window, done, done + rows).end;
        Produce(k - 1, std::min(needed, stage.in.height));
      }
      if (pace_.Stop(rows * stage.out.row() * stage.depth)) return;
      Compute(k, done, rows);
      done += rows;
    }
  }

  const float* InputOf(int k) const {
    const Images& in = StageAt(0).in;
    return k > 0 ? rings_[At(k)] : input_ + image_ * in.height * in.row();
  }

  // Computes rows [y, y + rows) of stage k's result. The required input rows are available.
  void Compute(int k, int64_t y, int64_t rows) {
    const Stage& stage = StageAt(k);
    const bool is_last = k == chain_.count - 1;
    const int64_t out_mask = is_last ? -1 : StageAt(k + 1).in_mask;
    const int64_t image = is_last ? image_ * stage.out.height * stage.out.row() : 0;
    float* out = is_last ? output_ + image : rings_[At(k + 1)];
    EpilogueF32 epilogue = stage.epilogue;
    if (epilogue.other != nullptr) epilogue.other += image;
    if (stage.call->depthwise()) {
      DepthwiseArgs g = {GeometryOf(stage.in.SizesOf(1), stage.out.SizesOf(1), stage.call->window)};
      g.in = InputOf(k);
      g.weight = stage.call->weight->as<const float>();
      g.out = out;
      g.epilogue = epilogue;
      g.in_row_mask = stage.in_mask;
      g.out_row_mask = out_mask;
      return DepthwiseRows(g, y, y + rows);
    }
    PackedGemmArgs g;
    g.n = static_cast<size_t>(stage.out.channels);
    g.k = static_cast<size_t>(stage.in.channels);
    g.lda = g.k;
    g.ldc = g.n;
    g.b = stage.call->weight->as<const float>();
    if (stage.tile.value() != 0) g.tile = tiles_[At(k)];
    // Runs of rows that are contiguous in both buffers.
    const auto together = [](int64_t mask, int64_t y) {
      return mask < 0 ? INT64_MAX : mask + 1 - (y & mask);
    };
    for (const int64_t end = y + rows; y < end; y += rows) {
      rows = std::min({end - y, together(stage.in_mask, y), together(out_mask, y)});
      const int64_t place = (y & out_mask) * stage.out.row();
      g.m = static_cast<size_t>(rows * stage.out.width);
      g.a = InputOf(k) + (y & stage.in_mask) * stage.in.row();
      g.c = out + place;
      g.epilogue = epilogue;
      if (epilogue.other != nullptr) g.epilogue.other = epilogue.other + place;
      PackedGemm(g);
    }
  }

  const Chain& chain_;
  const float* input_;
  float* output_;
  int64_t image_ = 0;
  Budget::Pace pace_;
  // Indexed by stage.
  std::array<int64_t, kMaxChainStages> done_ = {};  // rows of its result below this are done
  std::array<float*, kMaxChainStages> rings_ = {}, tiles_ = {};
};

absl::Status Conv2dChain(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(Chain chain, Chain::Of(call));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, chain.shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  for (int k = 0; k < chain.count; ++k) {
    Stage& stage = chain.stages[static_cast<size_t>(k)];
    ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *stage.call->weight));
    ABSL_ASSIGN_OR_RETURN(stage.epilogue, EpilogueOf(stage.call->epilogue, *out));
  }
  if (out->numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(
      std::byte * memory,
      ScratchArray<std::byte>(context, chain.thread_bytes * context.num_threads()));
  const int64_t rows = chain.batch * chain.last().out.height;
  RunRanges(context, rows, /*step=*/1, chain.work, [&](int part, int64_t first, int64_t last) {
    ChainWorker worker(chain, call.input->as<const float>(), out->as<float>(),
                       memory + part * chain.thread_bytes.value());
    worker.Run(first, last);
  });
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const absl::StatusOr<Chain> chain = Chain::Of(call);
  if (!chain.ok()) return 0;
  return ScratchBytesOf<std::byte>(chain->thread_bytes * context.num_threads());
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kChain, 0, 1},
                                  .flops = {FlopRule::Kind::kChain, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&Conv2dChain, &Accepts, &ScratchBytes>(
        "belay_cpu.conv2d_chain.default",
        "input weights biases other out_channels kernel_size stride padding dilation activations "
        "combine low high",
        "Conv2dChainPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> Conv2dChainKernels() { return kKernels; }

}  // namespace belay::cpu
