#include "backends/cpu/kernels/pixel_convolution.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/narrow_groups.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/pixel_gemm.h"

namespace belay::cpu {
namespace {

constexpr int64_t kPixel = int64_t{kPixelFloats};
static_assert(kPixel == kNarrowGroup);
constexpr int64_t kLeastFilters = kPixel / 2 + 1;  // with fewer, lanes would be unused
constexpr int64_t kLeastChannels = 8;              // of a single group
constexpr int64_t kLeastWidth = 14;                // with less, copies take too much of the time
constexpr int64_t kMostTaps = 128;                 // of blocks of 16 channels
// Floats of a copy, a part of the L2 cache, if two lines of results need no more.
constexpr int64_t kCopyFloats = 32 << 10;

// The copy of a thread: padded image rows of [block of 16 channels, phase, pixels, 16]. Pixel p of phase
// f is pixel p * stride + f of the padded row, so that neighboring results read neighboring pixels.
struct PixelCopy {
  int64_t blocks;     // of channels
  int64_t lines = 2;  // of results that are computed from a copy; one more if it is the last one
  CheckedInt pixels = 0;  // of a phase
  CheckedInt row = 0;     // floats
  CheckedInt plane = 0;   // floats of the rows of a plane of the window
  CheckedInt floats = 0;

  // `channels` is that of a group, `height` that of the results.
  PixelCopy(const Sizes& images, int64_t channels, const VolumeWindow& w, int64_t height)
      : blocks((channels + kPixel - 1) / kPixel) {
    const auto& [z, y, x] = w.axes;
    const CheckedInt padded = CheckedInt(VolumeSizes(images)[3]) + x.padding + x.padding_after;
    pixels = FloorDiv(padded + (x.stride - 1), x.stride);
    row = pixels * x.stride * (blocks * kPixel);
    const CheckedInt reach = CheckedInt(y.kernel - 1) * y.dilation;
    const auto plane_of = [&](int64_t count) {
      const CheckedInt last = std::min(count + height % 2, height) - 1;
      return (last * y.stride + reach + 1) * row;
    };
    while (lines < height) {
      const CheckedInt more = plane_of(lines + 2) * z.kernel;
      if (!more.ok() || more.value() > kCopyFloats) break;
      lines += 2;
    }
    plane = plane_of(lines);
    floats = plane * z.kernel;
  }
};

}  // namespace

bool IsPixelConvolution(const TensorView& images, const VolumeWindow& w, int64_t groups,
                        const TensorView& out) {
  const int64_t k = images.sizes[1] / groups, n = out.sizes[1] / groups;
  const auto& [z, y, x] = w.axes;
  const CheckedInt taps = w.taps() * ((k + kPixel - 1) / kPixel);
  const std::array<int64_t, 4> sizes = VolumeSizes(out.sizes);
  return HasPixelGemm() && HasChannelsInnermost(images) && HasChannelsInnermost(out) &&
         n >= kLeastFilters && n <= kPixel && k >= (groups == 1 ? kLeastChannels : 1) &&
         !IsNarrowGroup(groups, k, n) && w.taps().ok() && w.taps().value() > 1 && taps.ok() &&
         taps.value() <= kMostTaps && y.stride <= y.kernel && x.stride <= x.kernel &&
         sizes[2] >= int64_t{kLeastPixelLines} && sizes[3] >= kLeastWidth;
}

absl::Status RunPixelConvolution(const KernelContext& context, const TensorView& images,
                                 const TensorView& filters, const VolumeWindow& w, int64_t groups,
                                 const EpilogueF32& epilogue, const TensorView& out) {
  const auto& [z, y, x] = w.axes;
  const auto [batch, in_depth, in_height, width] = VolumeSizes(images.sizes);
  const std::array<int64_t, 4> sizes = VolumeSizes(out.sizes);
  const int64_t depth = sizes[1], height = sizes[2];
  const int64_t channels = images.sizes[1], filters_count = out.sizes[1];
  const int64_t k = channels / groups, n = filters_count / groups;
  const PixelCopy copy(images.sizes, k, w, height);
  ABSL_ASSIGN_OR_RETURN(float* const copies,
                        ScratchArray<float>(context, copy.floats * context.num_threads()));
  const int64_t row = copy.row.value(), plane = copy.plane.value();
  const int64_t phase_floats = copy.pixels.value() * kPixel, block_floats = phase_floats * x.stride;
  const int64_t line_floats = sizes[3] * filters_count, terms = w.taps().value() * k;
  const int64_t blocks = std::max<int64_t>((height + copy.lines - 2) / copy.lines, 1);
  const int64_t units = batch * depth * blocks * groups;
  const double work = static_cast<double>(out.numel()) * static_cast<double>(terms);
  RunRanges(context, units, 1, work, [&](int part, int64_t first, int64_t last) {
    float* const mine = copies + part * copy.floats.value();
    std::fill_n(mine, copy.floats.value(), 0.0f);
    std::array<PixelTap, kMostTaps> taps;
    PixelGemmArgs g = {.pixels = static_cast<size_t>(sizes[3]),
                       .columns = static_cast<size_t>(n),
                       .taps = taps.data(),
                       .a_line = static_cast<size_t>(y.stride * row),
                       .ldc = static_cast<size_t>(filters_count),
                       .c_line = static_cast<size_t>(line_floats)};
    for (int64_t t = 0; t < z.kernel * y.kernel * x.kernel; ++t) {
      const int64_t column = t % x.kernel * x.dilation;
      const float* const tap = mine + t / x.kernel / y.kernel * plane +
                               t / x.kernel % y.kernel * y.dilation * row +
                               column % x.stride * phase_floats + column / x.stride * kPixel;
      for (int64_t block = 0; block < copy.blocks; ++block) {
        taps[g.num_taps++] = {.a = tap + block * block_floats,
                              .k = static_cast<size_t>(std::min(kPixel, k - block * kPixel))};
      }
    }
    Budget::Pace pace;
    for (int64_t unit = first; unit < last; ++unit) {
      const int64_t group = unit % groups, number = unit / groups % blocks;
      const int64_t image_plane = unit / groups / blocks;
      const int64_t line = number * copy.lines;
      const int64_t lines = number + 1 < blocks ? copy.lines : height - line;
      if (pace.Stop(copy.floats.value())) return;
      const int64_t rows = (lines - 1) * y.stride + (y.kernel - 1) * y.dilation + 1;
      for (int64_t i = 0; i < z.kernel * rows; ++i) {
        float* const to = mine + i / rows * plane + i % rows * row;
        const int64_t from_z = image_plane % depth * z.stride - z.padding + i / rows * z.dilation;
        const int64_t from_y = line * y.stride - y.padding + i % rows;
        if (from_z < 0 || from_z >= in_depth || from_y < 0 || from_y >= in_height) {
          std::fill_n(to, row, 0.0f);
          continue;
        }
        const int64_t from = (image_plane / depth * in_depth + from_z) * in_height + from_y;
        const float* const source = images.as<const float>() + from * width * channels + group * k;
        for (int64_t first_x = 0; first_x < std::min(x.stride, width); ++first_x) {
          const int64_t column = first_x + x.padding;
          float* const pixels = to + column % x.stride * phase_floats + column / x.stride * kPixel;
          for (int64_t block = 0; block < copy.blocks; ++block) {
            CopyPixels(source + first_x * channels + block * kPixel,
                       static_cast<size_t>(x.stride * channels),
                       static_cast<size_t>((width - first_x - 1) / x.stride + 1),
                       static_cast<size_t>(std::min(kPixel, k - block * kPixel)),
                       pixels + block * block_floats);
          }
        }
      }
      const int64_t at = (image_plane * height + line) * line_floats + group * n;
      g.lines = static_cast<size_t>(lines);
      g.b =
          filters.as<const float>() + group / 2 * kPanelColumns * terms + group % 2 * kNarrowGroup;
      g.c = out.as<float>() + at;
      g.epilogue = epilogue;
      if (epilogue.bias != nullptr) g.epilogue.bias += group * n;
      if (epilogue.other != nullptr) g.epilogue.other += at;
      PixelGemm(g);
    }
  });
  return absl::OkStatus();
}

uint64_t PixelConvolutionScratch(const KernelContext& context, const TensorView& images,
                                 const VolumeWindow& w, int64_t groups) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != images.rank() || (*out)->rank() < 4 ||
      !IsPixelConvolution(images, w, groups, **out)) {
    return 0;
  }
  // Smaller images may have larger copies: of more lines, or of one line more if their number is odd.
  const int64_t height = VolumeSizes((*out)->sizes)[2] | 1;
  const CheckedInt floats = PixelCopy(images.sizes, images.sizes[1] / groups, w, height).floats;
  const CheckedInt most = floats.ok() ? CheckedInt(std::max(floats.value(), kCopyFloats)) : floats;
  return ScratchBytesOf<float>(most * context.num_threads());
}

}  // namespace belay::cpu
