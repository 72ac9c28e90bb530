// Convolutions as GEMMs with packed filters, divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
#define BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/cache_lines.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/pixel_strips.h"
#include "backends/cpu/kernels/window_rows.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/bfloat16_gemm.h"
#include "runtime/kernels/packed/narrow_groups.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/short_gemm.h"

namespace belay::cpu {

// Elements of the row copy of a GEMM of T, for AMX or because rows would evict each other; 0 if it
// needs none. Each file with such GEMMs specializes it for its T.
template <class T>
CheckedInt RowCopySize(PatchWay way, const TapSizes& taps);

// Elements of ProductArgs::tile for pixels as rows.
template <class T>
CheckedInt PixelTileSize(const TapSizes& taps) {
  const auto row = static_cast<size_t>(taps.size);
  return static_cast<int64_t>(TileSize<T>(row, row));
}

// Working memory of a convolution: memory of the patches, then a row copy, a strip of results
// (pixel_strips.h), and widened operands of bfloat16 per thread.
template <class T>
struct ConvolutionMemory {
  ConvolutionMemory(const KernelContext& context, PatchWay way, const Sizes& images,
                    const VolumeWindow& window, CheckedInt strip = 0)
      : taps(TapsOf<T>(way, images[1], window)),
        patches(PatchScratch<T>::For(way, kRows, images, window)),
        patches_bytes(patches.bytes(context.num_threads())),
        copy(RowCopySize<T>(way, taps)),
        strip(strip),
        widened(WidenedOf(taps)),
        thread_bytes(copy_bytes() + widened * CheckedInt(int64_t{sizeof(float)})),
        bytes(patches_bytes + thread_bytes * context.num_threads()) {}

  // Return the row copy, the strip and the widened operands of thread `part` in `scratch`, which has
  // `bytes` bytes; null if none is needed.
  T* CopyOf(int part, std::byte* scratch) const {
    return copy.value() == 0 ? nullptr : reinterpret_cast<T*>(OfThread(part, scratch));
  }
  T* StripOf(int part, std::byte* scratch) const {
    return strip.value() == 0 ? nullptr
                              : reinterpret_cast<T*>(OfThread(part, scratch)) + copy.value();
  }
  float* WidenedOf(int part, std::byte* scratch) const {
    return widened.value() == 0
               ? nullptr
               : reinterpret_cast<float*>(OfThread(part, scratch) + copy_bytes().value());
  }

  // Maximum number of rows that a GEMM reads at once.
  static constexpr int64_t kRows = kGroupRows;

  TapSizes taps;
  PatchScratch<T> patches;
  CheckedInt patches_bytes;
  CheckedInt copy, strip;  // elements
  CheckedInt widened;      // floats
  CheckedInt thread_bytes, bytes;

 private:
  static CheckedInt WidenedOf(const TapSizes& taps) {
    if constexpr (!std::is_same_v<T, BFloat16>) return 0;
    return WidenedSize(taps.size, taps.count);
  }
  CheckedInt copy_bytes() const {
    return WholeLines((copy + strip) * CheckedInt(int64_t{sizeof(T)}));
  }
  std::byte* OfThread(int part, std::byte* scratch) const {
    return scratch + patches_bytes.value() + part * thread_bytes.value();
  }
};

// A convolution of images or volumes as convolution_calls.h describes it. Groups of bfloat16 are
// not narrow, and their number of channels is even.
template <class T>
struct ConvolutionArgs {
  const TensorView& input;    // PatchWayOf
  const TensorView& filters;  // packed
  VolumeWindow window;
  int64_t groups = 1;
  EpilogueOn<T> epilogue;
  // Not empty. Channels last; or contiguous, without epilogue.other, if T is float.
  const TensorView& out;

  bool transposed() const { return window.axes[2].transposed; }
  int64_t out_channels() const { return out.sizes[1]; }
};

// Runs a convolution: per phase, GEMMs whose rows are windows.
template <class T>
class Convolution {
 public:
  // `scratch` has memory.bytes bytes.
  Convolution(const KernelContext& context, const ConvolutionArgs<T>& args, PatchWay way,
              const PixelStrips& strips, const ConvolutionMemory<T>& memory, std::byte* scratch)
      : context_(context),
        args_(args),
        way_(way),
        strips_(strips),
        memory_(memory),
        scratch_(scratch),
        patches_(context, way, args.input, args.window, T(), memory.patches, scratch),
        out_(VolumeSizes(args.out.sizes)) {}

  void Run() {
    std::array<int64_t, 3> phases = {1, 1, 1};
    if (args_.transposed()) {
      for (size_t s = 0; s < 3; ++s) {
        phases[s] = std::min(args_.window.axes[s].stride, out_[s + 1]);
      }
    }
    Budget::Pace pace;
    const auto& [z, y, x] = args_.window.axes;
    for (int64_t i = 0; i < phases[0] * phases[1] * phases[2]; ++i) {
      if (pace.Stop(z.kernel + y.kernel + x.kernel)) return;
      RunPhase({i / phases[2] / phases[1], i / phases[2] % phases[1], i % phases[2]});
    }
  }

 private:
  using Axes = std::array<WindowSteps, 3>;

  // Computes the results of a phase: a GEMM whose rows of C are `stride` pixels apart.
  void RunPhase(const std::array<int64_t, 3>& phase) {
    const auto& window = args_.window.axes;
    const std::array<PhaseSteps, 3> steps = patches_.StepsOf(out_, phase);
    const Axes axes = AxesOf(steps);
    const int64_t filters = args_.out_channels(), groups = args_.groups;
    const int64_t group = memory_.taps.size / groups, n = filters / groups;
    ProductArgs<T> g;
    g.epilogue = args_.epilogue;
    g.groups = static_cast<size_t>(groups);
    g.n = static_cast<size_t>(n);
    g.k = static_cast<size_t>(group);
    g.taps = static_cast<size_t>(axes[0].taps * axes[1].taps * axes[2].taps);
    g.b = args_.filters.template as<const T>();
    if (g.taps == 0) {
      g.taps = 1;
      g.k = 0;
    } else if (args_.transposed()) {
      // Taps of the phases before this one.
      const auto before = [&](size_t s) { return window[s].taps_below(steps[s].first_tap); };
      const int64_t taps = before(0) * window[1].kernel * window[2].kernel +
                           axes[0].taps * (before(1) * window[2].kernel + axes[1].taps * before(2));
      g.b += taps * group * PackedTapFloats(groups, group, filters);
    }
    std::array<int64_t, 3> step = {1, 1, 1};
    if (args_.transposed()) step = {window[0].stride, window[1].stride, window[2].stride};
    // C's rows of one image, or of one depth, are `run_step` apart. Those of several images are, too,
    // if the stride divides the height and depths follow each other.
    const int64_t row = out_[3] * filters, plane = out_[2] * row;
    g.ldc = static_cast<size_t>(step[2] * filters);
    if (step[1] != 1 || step[2] != 1) {
      g.run = static_cast<size_t>(axes[2].count);
      g.run_step = static_cast<size_t>(step[1] * row);
    }
    const bool whole = step[0] == 1 && out_[2] % step[1] == 0;
    const int64_t pieces = whole ? 1 : out_[0] * axes[0].count;
    g.m =
        static_cast<size_t>((whole ? out_[0] * axes[0].count : 1) * axes[1].count * axes[2].count);
    const int64_t offset = phase[1] * row + phase[2] * filters;
    const auto piece_args = [&](int64_t piece) {
      const int64_t image = piece / axes[0].count, z = piece % axes[0].count;
      const int64_t at =
          whole ? offset : (image * out_[1] + z * step[0] + phase[0]) * plane + offset;
      ProductArgs<T> mine = g;
      mine.c = args_.out.template as<T>() + at;
      if (mine.epilogue.other != nullptr) mine.epilogue.other += at;
      return mine;
    };
    const auto rows = static_cast<int64_t>(g.m);
    if (pieces < 2 * context_.num_threads()) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        Multiply(piece_args(piece), axes, piece * rows);
      }
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

  // Whether row i of A is pixel i of the input, and rows have the copies that they need (TileSize).
  bool ReadsPixels(const ProductArgs<T>& g, const Axes& axes) const {
    const auto is_point = [](const WindowSteps& a) {
      return a.taps == 1 && a.first == 0 && a.stride == 1 && a.count == a.size;
    };
    return way_ == PatchWay::kRows ||
           (way_ == PatchWay::kTaps && args_.groups == 1 &&
            std::all_of(axes.begin(), axes.end(), is_point) && TileSize<T>(g.k, g.k) == 0);
  }

  // Whether each row of results is a GEMM of short sums over the padded copy of volumes: few channels
  // and filters, and rows of results of at least a tile, which are stored in place.
  bool HasShortRows(const ProductArgs<T>& g, const Axes& axes) const {
    return std::is_same_v<T, float> && args_.window.spatial == 3 && patches_.joins_rows() &&
           !strips_.used() && g.n <= size_t{kPanelColumns} && g.taps <= kMostShortTaps &&
           axes[2].count >= static_cast<int64_t>(kLeastShortRows);
  }

  // Computes C row by row. Precondition: HasShortRows.
  void MultiplyShortRows(const ProductArgs<T>& g, const Axes& axes) const {
    const auto& [az, ay, ax] = axes;
    const int64_t channels = args_.input.sizes[1];
    const int64_t rows = static_cast<int64_t>(g.m) / ax.count,
                  row = ax.count * args_.out_channels();
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
                            .lda = static_cast<size_t>(ax.stride * channels),
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
          taps[static_cast<size_t>(t)] = patches_.data() + from * ax.size * channels;
        }
        mine.c = g.c + r * row;
        mine.epilogue = g.epilogue;
        if (mine.epilogue.other != nullptr) mine.epilogue.other += r * row;
        ShortGemm(mine);
      }
    });
  }

  // Whether the groups are multiplied by NarrowGroupsRange.
  bool IsNarrow(const ProductArgs<T>& g) const {
    return std::is_same_v<T, float> && g.k != 0 &&
           IsNarrowGroup(args_.groups, static_cast<int64_t>(g.k), static_cast<int64_t>(g.n));
  }

  GemmSize SizeOf(const ProductArgs<T>& g) const {
    const bool narrow = IsNarrow(g);
    GemmSize size =
        GemmSizeOf(g, kTileRows, narrow ? kDepthwiseChannels : kPanelColumns, kGemmWork<T>);
    size.work *= static_cast<double>(args_.groups);
    size.columns =
        narrow ? args_.out_channels() : PackedGroupColumns(args_.groups, static_cast<int64_t>(g.n));
    return size;
  }

  // Computes C for rows of A that start at window `first_row`.
  void Multiply(const ProductArgs<T>& g, const Axes& axes, int64_t first_row) {
    if constexpr (std::is_same_v<T, float>) {
      if (HasShortRows(g, axes)) return MultiplyShortRows(g, axes);
    }
    const GemmSize size = SizeOf(g);
    const auto multiply = [&](int part, size_t row, size_t end_row, size_t column,
                              size_t end_column) {
      MultiplyPart(g, axes, first_row, part, row, end_row, column, end_column);
    };
    if (!strips_.used() || args_.groups == 1) return RunGemm(context_, size, multiply);
    RunRanges(context_, size.rows, size.row_step, size.work,
              [&](int part, int64_t first, int64_t last) {
                multiply(part, static_cast<size_t>(first), static_cast<size_t>(last), 0,
                         static_cast<size_t>(size.columns));
              });
  }

  // Computes a range of C in the working memory of thread `part`.
  void MultiplyPart(const ProductArgs<T>& g, const Axes& axes, int64_t first_row, int part,
                    size_t row, size_t end_row, size_t column, size_t end_column) const {
    ProductArgs<T> mine = g;
    std::optional<WindowRows<T>> rows;
    if (g.k != 0 && ReadsPixels(g, axes)) {
      mine.a = patches_.data() + first_row * static_cast<int64_t>(g.k);
      mine.lda = g.k;
      mine.tile = memory_.CopyOf(part, scratch_);
    } else if (g.k != 0) {
      rows = patches_.RowsOf(part, axes, first_row);
      mine.row_pointers = &WindowRows<T>::RowPointers;
      mine.source = &*rows;
      mine.pointers = rows->pointers();
      mine.zeros = rows->outside();
      mine.copy = memory_.CopyOf(part, scratch_);
    }
    mine.widened = memory_.WidenedOf(part, scratch_);
    if constexpr (std::is_same_v<T, float>) {
      const float* const a = mine.a;
      void (*range)(const PackedGemmArgs&, size_t, size_t, size_t, size_t) = &PackedGemmRange;
      if (IsNarrow(g)) range = &NarrowGroupsRange;
      strips_.Run(mine, row, end_row, column, end_column, range, memory_.StripOf(part, scratch_),
                  [&](PackedGemmArgs& strip, size_t first) {
                    if (rows.has_value()) {
                      rows->StartAt(first_row + static_cast<int64_t>(first));
                    } else if (a != nullptr) {
                      strip.a = a + first * strip.lda;
                    }
                  });
    } else {
      PackedGemmRange(mine, row, end_row, column, end_column);
    }
  }

  static constexpr size_t kMostShortTaps = 128;

  const KernelContext& context_;
  const ConvolutionArgs<T>& args_;
  const PatchWay way_;
  const PixelStrips& strips_;
  const ConvolutionMemory<T>& memory_;
  std::byte* const scratch_;
  const Patches<T> patches_;
  const std::array<int64_t, 4> out_;
};

// Computes a convolution. Needs the working memory that ConvolutionScratch returns.
template <class T>
absl::Status RunConvolution(const KernelContext& context, const ConvolutionArgs<T>& args) {
  const PatchWay way = PatchWayOf<T>(args.input, args.window, args.groups);
  const PixelStrips strips(args.out, args.filters.numel());
  const ConvolutionMemory<T> memory(context, way, args.input.sizes, args.window, strips.size());
  ABSL_ASSIGN_OR_RETURN(std::byte* const scratch, ScratchArray<std::byte>(context, memory.bytes));
  Convolution<T>(context, args, way, strips, memory, scratch).Run();
  return absl::OkStatus();
}

// Bytes for the most demanding of `ways` and kRows. The way depends on sizes, and layouts do not
// always distinguish them.
template <class T>
uint64_t ConvolutionScratch(const KernelContext& context, const Sizes& images,
                            const TensorView& filters, const VolumeWindow& window,
                            std::initializer_list<PatchWay> ways) {
  const CheckedInt strip = PixelStrips::SizeFor(context, filters.numel());
  const auto bytes = [&](PatchWay way) {
    return ScratchBytesOf<std::byte>(
        ConvolutionMemory<T>(context, way, images, window, strip).bytes);
  };
  uint64_t most = bytes(PatchWay::kRows);
  for (PatchWay way : ways) most = std::max(most, bytes(way));
  return most;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
