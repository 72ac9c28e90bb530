// belay_cpu::convolution: grouped, transposed and over volumes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/depthwise_volumes.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/pixel_convolution.h"
#include "backends/cpu/kernels/pixel_strips.h"
#include "backends/cpu/kernels/window_rows.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/narrow_groups.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/short_gemm.h"

namespace belay::cpu {
namespace {

using Call = GeneralConvolutionCall<KernelArguments>;

// The memory of a call: a padded copy of volumes with few channels, and the memory of each thread. In
// the copy a whole row of a window is one tap.
struct Memory {
  CheckedInt copy = 0;  // floats
  WindowRowsMemory rows;
  CheckedInt strip;  // floats per thread
  CheckedInt bytes = 0;

  // `strip` is PixelStrips::size() of the result.
  Memory(const Call& call, CheckedInt strip, int threads) : strip(strip) {
    const Sizes& in = call.input->sizes;
    const auto& axes = call.window.axes;
    CheckedInt taps = call.window.most_taps();
    if (CopiesInput(call)) {
      const std::array<int64_t, 4> sizes = VolumeSizes(in);
      copy = CheckedInt(sizes[0]) * CheckedInt(in[1]);
      for (size_t s = 0; s < 3; ++s) {
        copy = copy * (CheckedInt(sizes[s + 1]) + axes[s].padding + axes[s].padding_after);
      }
      copy = FloorDiv(copy + CheckedInt(15), CheckedInt(16)) * CheckedInt(16);
      taps = CheckedInt(axes[0].kernel) * CheckedInt(axes[1].kernel);
    }
    rows = WindowRowsMemory::For(kGroupRows, taps, in[1]);
    bytes = copy * CheckedInt(int64_t{sizeof(float)}) + thread_bytes() * threads;
  }

  // Per thread: the memory of the rows, then the strip.
  CheckedInt thread_bytes() const {
    return rows.bytes() + strip * CheckedInt(int64_t{sizeof(float)});
  }

  static bool CopiesInput(const Call& call) {
    return !call.transposed && call.groups == 1 && call.input->sizes[1] < kFewChannels &&
           call.window.axes[2].dilation == 1;
  }
};

constexpr size_t kMostShortTaps = 128;

class Convolution {
 public:
  Convolution(const KernelContext& context, const Call& call, const EpilogueF32& epilogue,
              const TensorView& out, const Memory& memory, std::byte* scratch)
      : context_(context),
        call_(call),
        epilogue_(epilogue),
        memory_(memory),
        scratch_(scratch + memory.copy.value() * int64_t{sizeof(float)}),
        in_(VolumeSizes(call.input->sizes)),
        out_(VolumeSizes(out.sizes)),
        channels_(call.input->sizes[1]),
        data_(call.input->as<const float>()),
        strips_(out, call.weight->numel()),
        c_(out.as<float>()) {
    if (Memory::CopiesInput(call)) Pad(reinterpret_cast<float*>(scratch));
  }

  void Run() {
    const auto& axes = call_.window.axes;
    std::array<int64_t, 3> phases;
    for (size_t s = 0; s < 3; ++s) {
      phases[s] = call_.transposed ? std::min(axes[s].stride, out_[s + 1]) : 1;
    }
    Budget::Pace pace;
    for (int64_t z = 0; z < phases[0]; ++z) {
      for (int64_t y = 0; y < phases[1]; ++y) {
        for (int64_t x = 0; x < phases[2]; ++x) {
          if (pace.Stop(axes[0].kernel + axes[1].kernel + axes[2].kernel)) return;
          RunPhase({z, y, x});
        }
      }
    }
  }

 private:
  // Computes the results of a phase: a GEMM whose rows of C are `stride` pixels apart.
  void RunPhase(const std::array<int64_t, 3>& phase) {
    const auto& window = call_.window.axes;
    std::array<WindowSteps, 3> axes;
    std::array<int64_t, 3> tap;
    for (size_t s = 0; s < 3; ++s) {
      const PhaseSteps steps = PhaseSteps::Of(window[s], in_[s + 1], out_[s + 1], phase[s]);
      axes[s] = steps.steps;
      tap[s] = steps.first_tap;
    }
    const int64_t group = channels_ / call_.groups, n = call_.out_channels / call_.groups;
    PackedGemmArgs g;
    g.epilogue = epilogue_;
    g.groups = static_cast<size_t>(call_.groups);
    g.n = static_cast<size_t>(n);
    g.k = static_cast<size_t>(group);
    if (Memory::CopiesInput(call_)) {
      g.k = static_cast<size_t>(axes[2].taps * channels_);
      axes[2].taps = 1;
      for (WindowSteps& a : axes) a.first = 0;
    }
    g.taps = static_cast<size_t>(axes[0].taps * axes[1].taps * axes[2].taps);
    g.b = call_.weight->as<const float>();
    if (g.taps == 0) {
      g.taps = 1;
      g.k = 0;
    } else if (call_.transposed) {
      // Taps of the phases before this one.
      const int64_t before = window[0].taps_below(tap[0]) * window[1].kernel * window[2].kernel +
                             axes[0].taps * (window[1].taps_below(tap[1]) * window[2].kernel +
                                             axes[1].taps * window[2].taps_below(tap[2]));
      g.b += before * group * PackedTapFloats(call_.groups, group, call_.out_channels);
    }
    std::array<int64_t, 3> step = {1, 1, 1};
    if (call_.transposed) step = {window[0].stride, window[1].stride, window[2].stride};
    // C's rows of one image, or of one depth, are `run_step` apart. Those of several images are, too,
    // if the stride divides the height and depths follow each other.
    const int64_t row = out_[3] * call_.out_channels, plane = out_[2] * row;
    g.ldc = static_cast<size_t>(step[2] * call_.out_channels);
    const bool dense = step[1] == 1 && step[2] == 1;
    if (!dense) {
      g.run = static_cast<size_t>(axes[2].count);
      g.run_step = static_cast<size_t>(step[1] * row);
    }
    const bool whole = step[0] == 1 && out_[2] % step[1] == 0;
    const int64_t pieces = whole ? 1 : in_[0] * axes[0].count;
    g.m = static_cast<size_t>((whole ? in_[0] * axes[0].count : 1) * axes[1].count * axes[2].count);
    const int64_t offset = phase[1] * row + phase[2] * call_.out_channels;
    const auto piece_args = [&](int64_t piece) {
      const int64_t image = piece / axes[0].count, z = piece % axes[0].count;
      const int64_t at =
          whole ? offset : (image * out_[1] + z * step[0] + phase[0]) * plane + offset;
      PackedGemmArgs mine = g;
      mine.c = c_ + at;
      if (mine.epilogue.other != nullptr) mine.epilogue.other += at;
      return mine;
    };
    const auto rows = static_cast<int64_t>(g.m);
    if (pieces < 2 * context_.num_threads()) {
      for (int64_t piece = 0; piece < pieces; ++piece)
        Multiply(piece_args(piece), axes, piece * rows);
      return;
    }
    // Many pieces: each is computed by one thread.
    const GemmSize size = SizeOf(g);
    RunRanges(context_, pieces, 1, size.work * static_cast<double>(pieces),
              [&](int part, int64_t first, int64_t last) {
                for (int64_t piece = first; piece < last; ++piece) {
                  MultiplyPart(piece_args(piece), axes, piece * rows, part, 0, g.m, 0,
                               static_cast<size_t>(size.columns));
                }
              });
  }

  // Whether row i of A is pixel i of the input, and rows need no copies (TileSize).
  bool ReadsPixels(const PackedGemmArgs& g, const std::array<WindowSteps, 3>& axes) const {
    const auto is_point = [](const WindowSteps& a) {
      return a.taps == 1 && a.first == 0 && a.stride == 1 && a.count == a.size;
    };
    return call_.groups == 1 && g.k == static_cast<size_t>(channels_) &&
           std::all_of(axes.begin(), axes.end(), is_point) && TileSize(g.k, g.k) == 0;
  }

  // Whether each row of results is a GEMM of short sums over the padded copy: few channels and
  // filters, and rows of results of at least a tile, which are stored in place.
  bool HasShortRows(const PackedGemmArgs& g, const std::array<WindowSteps, 3>& axes) const {
    return Memory::CopiesInput(call_) && !strips_.used() && g.n <= size_t{kPanelColumns} &&
           g.taps <= kMostShortTaps && axes[2].count >= static_cast<int64_t>(kLeastShortRows);
  }

  // Computes C row by row. Precondition: HasShortRows.
  void MultiplyShortRows(const PackedGemmArgs& g, const std::array<WindowSteps, 3>& axes) {
    const auto& [az, ay, ax] = axes;
    const int64_t rows = static_cast<int64_t>(g.m) / ax.count, row = ax.count * call_.out_channels;
    const int64_t terms = static_cast<int64_t>(g.taps * g.k);
    std::array<size_t, kMostShortTaps> b_rows;
    for (size_t t = 0; t < g.taps; ++t) b_rows[t] = t * g.k;
    const double work = static_cast<double>(rows * row) * static_cast<double>(terms);
    RunRanges(context_, rows, 1, work, [&](int, int64_t first, int64_t last) {
      std::array<const float*, kMostShortTaps> taps;
      ShortGemmArgs mine = {.m = static_cast<size_t>(ax.count),
                            .last_column = g.n,
                            .taps = g.taps,
                            .k = g.k,
                            .a = taps.data(),
                            .lda = static_cast<size_t>(ax.stride * channels_),
                            .b = g.b,
                            .b_rows = b_rows.data(),
                            .depth = g.taps * g.k,
                            .ldc = g.ldc};
      Budget::Pace pace;
      for (int64_t r = first; r < last && !pace.Stop(row * terms); ++r) {
        const int64_t y = r % ay.count, z = r / ay.count % az.count;
        const int64_t plane = r / ay.count / az.count * az.size + z * az.stride;
        for (int64_t t = 0; t < az.taps * ay.taps; ++t) {
          const int64_t from =
              (plane + t / ay.taps * az.step) * ay.size + y * ay.stride + t % ay.taps * ay.step;
          taps[static_cast<size_t>(t)] = data_ + from * in_[3] * channels_;
        }
        mine.c = g.c + r * row;
        mine.epilogue = g.epilogue;
        if (mine.epilogue.other != nullptr) mine.epilogue.other += r * row;
        ShortGemm(mine);
      }
    });
  }

  // Whether the groups are multiplied by NarrowGroupsRange.
  bool IsNarrow(const PackedGemmArgs& g) const {
    return g.k != 0 &&
           IsNarrowGroup(call_.groups, static_cast<int64_t>(g.k), static_cast<int64_t>(g.n));
  }

  GemmSize SizeOf(const PackedGemmArgs& g) const {
    const bool narrow = IsNarrow(g);
    GemmSize size = GemmSizeOf(g, kTileRows, narrow ? kDepthwiseChannels : kPanelColumns);
    size.work *= static_cast<double>(call_.groups);
    size.columns =
        narrow ? call_.out_channels : PackedGroupColumns(call_.groups, static_cast<int64_t>(g.n));
    return size;
  }

  // Computes C for rows of A that start at window `first_row`.
  void Multiply(const PackedGemmArgs& g, const std::array<WindowSteps, 3>& axes,
                int64_t first_row) {
    if (HasShortRows(g, axes)) return MultiplyShortRows(g, axes);
    const GemmSize size = SizeOf(g);
    const auto multiply = [&](int part, size_t row, size_t end_row, size_t column,
                              size_t end_column) {
      MultiplyPart(g, axes, first_row, part, row, end_row, column, end_column);
    };
    if (!strips_.used() || call_.groups == 1) return RunGemm(context_, size, multiply);
    RunRanges(context_, size.rows, size.row_step, size.work,
              [&](int part, int64_t first, int64_t last) {
                multiply(part, static_cast<size_t>(first), static_cast<size_t>(last), 0,
                         static_cast<size_t>(size.columns));
              });
  }

  // Computes a range of C in the working memory of thread `part`.
  void MultiplyPart(const PackedGemmArgs& g, const std::array<WindowSteps, 3>& axes,
                    int64_t first_row, int part, size_t row, size_t end_row, size_t column,
                    size_t end_column) const {
    std::byte* const scratch = scratch_ + part * memory_.thread_bytes().value();
    float* const strip = reinterpret_cast<float*>(scratch + memory_.rows.bytes().value());
    if (g.k == 0) {
      return strips_.Run(g, row, end_row, column, end_column, PackedGemmRange, strip,
                         [](PackedGemmArgs&, size_t) {});
    }
    PackedGemmArgs mine = g;
    if (ReadsPixels(g, axes)) {
      mine.a = data_ + first_row * channels_;
      mine.lda = g.k;
      return strips_.Run(
          mine, row, end_row, column, end_column, PackedGemmRange, strip,
          [&](PackedGemmArgs& part, size_t first) { part.a = mine.a + first * mine.lda; });
    }
    WindowRows rows(data_, channels_, axes, first_row, memory_.rows, scratch);
    mine.row_pointers = &WindowRows::RowPointers;
    mine.source = &rows;
    mine.pointers = rows.pointers();
    mine.zeros = rows.zeros();
    strips_.Run(mine, row, end_row, column, end_column,
                IsNarrow(g) ? NarrowGroupsRange : PackedGemmRange, strip,
                [&](PackedGemmArgs&, size_t first) {
                  rows.StartAt(first_row + static_cast<int64_t>(first));
                });
  }

  // Copies the input with its padding. All later reads use the copy.
  void Pad(float* copy) {
    const auto& axes = call_.window.axes;
    std::array<int64_t, 4> padded = in_;
    for (size_t s = 0; s < 3; ++s) padded[s + 1] += axes[s].padding + axes[s].padding_after;
    const int64_t rows = padded[0] * padded[1] * padded[2], width = padded[3] * channels_;
    const int64_t left = axes[2].padding * channels_, inner = in_[3] * channels_;
    RunRanges(context_, rows, 1, static_cast<double>(rows) * static_cast<double>(width),
              [&](int, int64_t first, int64_t last) {
                for (int64_t r = first; r < last; ++r) {
                  const int64_t y = r % padded[2] - axes[1].padding;
                  const int64_t z = r / padded[2] % padded[1] - axes[0].padding;
                  const int64_t image = r / padded[2] / padded[1];
                  float* to = copy + r * width;
                  if (y < 0 || y >= in_[2] || z < 0 || z >= in_[1]) {
                    std::fill_n(to, width, 0.0f);
                    continue;
                  }
                  std::fill_n(to, left, 0.0f);
                  std::copy_n(data_ + ((image * in_[1] + z) * in_[2] + y) * inner, inner,
                              to + left);
                  std::fill(to + left + inner, to + width, 0.0f);
                }
              });
    in_ = padded;
    data_ = copy;
  }

  const KernelContext& context_;
  const Call& call_;
  const EpilogueF32& epilogue_;
  const Memory& memory_;
  std::byte* scratch_;  // of the threads
  std::array<int64_t, 4> in_, out_;
  int64_t channels_;
  const float* data_;
  PixelStrips strips_;
  float* c_;
};

absl::Status RunConvolution(KernelContext& context, const Call& call) {
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
  const Memory memory(call, PixelStrips(*out, call.weight->numel()).size(), context.num_threads());
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch, ScratchArray<std::byte>(context, memory.bytes));
  Convolution(context, call, epilogue, *out, memory, scratch).Run();
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  if (!call.Shape().ok()) return 0;
  const uint64_t bytes = ScratchBytesOf<std::byte>(
      Memory(call, PixelStrips::SizeFor(context, call.weight->numel()), context.num_threads())
          .bytes);
  if (call.transposed) return bytes;
  return std::max(bytes, PixelConvolutionScratch(context, *call.input, call.window, call.groups));
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kConvolution},
                                  .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&RunConvolution, &Accepts, &ScratchBytes>(
        "belay_cpu.convolution.default",
        "input weight bias other out_channels groups transposed kernel_size stride padding "
        "output_padding dilation activation combine low high",
        "ConvolutionPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> ConvolutionKernels() { return kKernels; }

}  // namespace belay::cpu
