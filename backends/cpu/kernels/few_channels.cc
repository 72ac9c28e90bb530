#include "backends/cpu/kernels/few_channels.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "backends/cpu/kernels/pixel_strips.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/short_gemm.h"

namespace belay::cpu {
namespace {

constexpr int64_t kMostRuns = 128;                   // of terms, in a window
constexpr int64_t kMostWeights = int64_t{64} << 10;  // packed
// Results of more channels fill the tiles of PackedGemmRange, whose taps may be pixels in place.
// With at most kFewFilters and a vector of terms per tap, it multiplies vectors of terms instead.
constexpr int64_t kNarrow = kPanelColumns / 2, kFewFilters = 4, kVectorOfTerms = 16;
// With fewer pixels in a row of results, most tiles would be partial.
constexpr int64_t kLeastWidth = int64_t{kLeastShortRows};
// Fewer rows of results than this are divided into segments of at least this many pixels.
constexpr int64_t kFewRows = 8, kSegment = 256;
static_assert(kSegment >= kLeastWidth);
// Rows of contiguous results that are wider than a strip are divided, too: into segments of at most a
// strip, or of this many pixels.
constexpr int64_t kLeastSegment = 2 * kLeastWidth;

// Working memory of a thread in floats: padded copies of the image rows of a window, and a strip of
// results that are not channels last.
struct Memory {
  Memory(const TensorView& images, const Window& window, const TensorView& out)
      : row(CheckedInt(images.sizes[3]) + window.padding[1] + window.padding_after[1]),
        rows(IsPadded(window) ? row * window.kernel_size[0] * images.sizes[1] : CheckedInt(0)),
        strip(std::max(CheckedInt(kStripElements), CheckedInt(out.sizes[1]) * kLeastSegment)),
        total(rows + strip) {}

  static bool IsPadded(const Window& window) {
    return window.padding[1] != 0 || window.padding_after[1] != 0;
  }
  static int64_t out_row(const TensorView& out) {
    const CheckedInt row = CheckedInt(out.sizes[1]) * out.sizes[3];
    return row.ok() ? row.value() : INT64_MAX;
  }

  CheckedInt row;  // pixels of a copied row
  CheckedInt rows, strip, total;
};

// Prefetches floats that the next row of results reads.
void PrefetchToL2(const float* floats, int64_t count) {
  constexpr int64_t kLine = kLineBytes / sizeof(float);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(floats + i, 0, 2);
}

// The windows of a row of results.
class RowWindows {
 public:
  // `copies` has Memory::rows floats. Of the results only pixels [first, last) of a row are computed.
  RowWindows(const TensorView& images, const Window& window, int64_t row, float* copies,
             int64_t first, int64_t last)
      : images_(images),
        window_(window),
        planar_(!IsChannelsLast(images) || images.sizes[1] == 1),
        runs_(planar_ ? images.sizes[1] : 1),
        pixel_(planar_ ? 1 : images.sizes[1]),
        row_(row * pixel_),
        copies_(Memory::IsPadded(window) ? copies : nullptr) {
    held_.fill(-1);
    const int64_t width = images.sizes[3];
    const int64_t left = first * window.stride[1] - window.padding[1];
    const int64_t right = (last - 1) * window.stride[1] - window.padding[1] + window.kernel_size[1];
    copied_ = std::clamp<int64_t>(left, 0, width) * pixel_;
    end_copied_ = std::clamp<int64_t>(right, 0, width) * pixel_;
    if (copies_ == nullptr) return;
    // The padding; the rest is copied.
    const int64_t before = window.padding[1] * pixel_, after = before + width * pixel_;
    for (int64_t i = 0; i < runs_ * window.kernel_size[0]; ++i) {
      std::fill_n(copies_ + i * row_, before, 0.0f);
      std::fill(copies_ + i * row_ + after, copies_ + (i + 1) * row_, 0.0f);
    }
  }

  // Sets the operand A of row y of the results of an image, from pixel 0 on. Rows outside of the image
  // have no taps.
  void Find(int64_t image, int64_t y, ShortGemmArgs& g) {
    const int64_t height = images_.sizes[2], width = images_.sizes[3] * pixel_;
    g.taps = 0;
    for (int64_t j = 0; j < window_.kernel_size[0]; ++j) {
      const int64_t from = y * window_.stride[0] - window_.padding[0] + j * window_.dilation[0];
      if (from < 0 || from >= height) continue;
      // Consecutive image rows have slots of their own, and remain for the next row of results.
      const int64_t slot = window_.dilation[0] == 1 ? from % window_.kernel_size[0] : j;
      const bool is_held = held_[static_cast<size_t>(slot)] == image * height + from;
      held_[static_cast<size_t>(slot)] = image * height + from;
      for (int64_t c = 0; c < runs_; ++c) {
        const float* row =
            images_.as<const float>() + ((image * runs_ + c) * height + from) * width;
        if (!is_held && window_.stride[0] < height - from) {
          PrefetchToL2(row + window_.stride[0] * width + copied_, end_copied_ - copied_);
        }
        if (copies_ != nullptr) {
          float* const copy = copies_ + (slot * runs_ + c) * row_;
          if (!is_held) {
            std::copy(row + copied_, row + end_copied_,
                      copy + window_.padding[1] * pixel_ + copied_);
          }
          row = copy;
        }
        rows_[g.taps] = row;
        b_rows_[g.taps] = static_cast<size_t>(j * window_.kernel_size[1] * images_.sizes[1] + c);
        ++g.taps;
      }
    }
    g.k = static_cast<size_t>(window_.kernel_size[1] * pixel_);
    g.a = rows_.data();
    g.lda = static_cast<size_t>(window_.stride[1] * pixel_);
    g.b_rows = b_rows_.data();
    g.b_step = static_cast<size_t>(runs_);
  }

  // Moves A to pixel x of the row. Once after Find.
  void StartAt(int64_t x, const ShortGemmArgs& g) {
    for (size_t t = 0; t < g.taps; ++t) rows_[t] += x * window_.stride[1] * pixel_;
  }

 private:
  const TensorView& images_;
  const Window& window_;
  const bool planar_;
  const int64_t runs_;                   // per row of a window
  const int64_t pixel_;                  // floats between pixels of a run
  const int64_t row_;                    // floats of a copied row
  float* const copies_;                  // null if no row is padded
  int64_t copied_ = 0, end_copied_ = 0;  // floats of an image row that are read
  std::array<int64_t, kMostRuns> held_;  // by slot: the copied image row
  std::array<const float*, kMostRuns> rows_;
  std::array<size_t, kMostRuns> b_rows_;
};

int64_t TermsOf(const TensorView& images, const Window& window) {
  return window.taps() * images.sizes[1];
}

// Conditions on sizes that a call's layouts and number of pixels do not change.
bool HasFewTerms(const TensorView& images, const TensorView& filters, const Window& window,
                 int64_t out_channels) {
  const bool few = images.sizes[1] < kFewChannels;
  const bool by_terms =
      out_channels <= kFewFilters && window.kernel_size[1] * images.sizes[1] >= kVectorOfTerms;
  return (few || (out_channels <= kNarrow && window.taps() > 1)) && !by_terms &&
         RowsAreDense(window) && filters.numel() <= kMostWeights &&
         window.kernel_size[0] <= kMostRuns / std::max<int64_t>(few ? images.sizes[1] : 1, 1);
}

}  // namespace

bool IsOfFewChannels(const TensorView& images, const TensorView& filters, const Window& window,
                     const TensorView& out) {
  return HasFewTerms(images, filters, window, out.sizes[1]) && out.sizes[3] >= kLeastWidth &&
         (IsChannelsLast(images) || (images.sizes[1] < kFewChannels && images.is_contiguous()));
}

absl::Status RunOfFewChannels(const KernelContext& context, const TensorView& images,
                              const TensorView& filters, const Window& window,
                              const EpilogueF32& epilogue, const TensorView& out) {
  const Memory memory(images, window, out);
  ABSL_ASSIGN_OR_RETURN(float* const floats,
                        ScratchArray<float>(context, memory.total * context.num_threads()));
  const int64_t filters_count = out.sizes[1], height = out.sizes[2], row = Memory::out_row(out);
  const bool in_place = IsChannelsLast(out);
  const int64_t terms = TermsOf(images, window);
  const double work = static_cast<double>(out.numel()) * static_cast<double>(terms);
  // Images of a few rows, such as signals, and wide rows are divided into segments.
  const int64_t width = out.sizes[3], rows_count = out.sizes[0] * height;
  const int64_t widest = in_place ? width : std::max(kStripElements / filters_count, kLeastSegment);
  const int64_t segments = std::max(rows_count < kFewRows ? width / kSegment : int64_t{1},
                                    (width + widest - 1) / widest);
  const auto start = [&](int64_t segment) { return width * segment / segments; };
  RunRanges(context, rows_count * segments, 1, work, [&](int part, int64_t first, int64_t last) {
    float* const copies = floats + part * memory.total.value();
    float* const strip = copies + memory.rows.value();
    const bool one_row = first / segments == (last - 1) / segments;
    RowWindows rows(images, window, memory.row.value(), copies,
                    one_row ? start(first % segments) : 0,
                    one_row ? start((last - 1) % segments + 1) : width);
    ShortGemmArgs g;
    g.last_column = g.ldc = static_cast<size_t>(filters_count);
    g.b = filters.as<const float>();
    g.depth = static_cast<size_t>(terms);
    Budget::Pace pace;
    // Rows that are stored together: one segment, or whole rows.
    const int64_t strip_rows = std::max(kStripElements / row, int64_t{1});
    const int64_t most = segments > 1 ? 1 : in_place ? INT64_MAX : strip_rows;
    for (int64_t count; first < last; first += count) {
      count = std::min(most, last - first);
      const int64_t x = start(first % segments), pixels = start(first % segments + 1) - x;
      for (int64_t i = 0; i < count; ++i) {
        if (pace.Stop(pixels * filters_count * terms)) return;
        const int64_t y = (first + i) / segments, at = (y * width + x) * filters_count;
        rows.Find(y / height, y % height, g);
        rows.StartAt(x, g);
        g.m = static_cast<size_t>(pixels);
        g.c = in_place ? out.as<float>() + at : strip + i * row;
        g.epilogue = epilogue;
        if (g.epilogue.other != nullptr) g.epilogue.other += at;
        ShortGemm(g);
      }
      if (!in_place) {
        StorePixels(strip, first / segments * width + x, segments > 1 ? pixels : count * width, 0,
                    filters_count, out);
      }
    }
  });
  return absl::OkStatus();
}

uint64_t FewChannelsScratch(const KernelContext& context, const TensorView& images,
                            const TensorView& filters, const Window& window) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 4 || !HasFewTerms(images, filters, window, (*out)->sizes[1])) {
    return 0;
  }
  return ScratchBytesOf<float>(Memory(images, window, **out).total * context.num_threads());
}

}  // namespace belay::cpu
