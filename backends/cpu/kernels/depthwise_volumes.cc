#include "backends/cpu/kernels/depthwise_volumes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "runtime/core/budget.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/depthwise.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

using Call = GeneralConvolutionCall<KernelArguments>;

// Rows of results that all planes of the window add to before the next ones: they stay in the cache.
// Even, since two rows share their input.
constexpr int64_t kRowsAtOnce = 8;

bool IsPoint(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0 && axis.padding_after == 0;
}

// `y` and `x` are the window's axes of the images.
DepthwiseArgs ImagesOf(const WindowAxis& y, const WindowAxis& x) {
  DepthwiseArgs g;
  g.kernel_height = y.kernel;
  g.kernel_width = x.kernel;
  g.stride_y = y.stride;
  g.stride_x = x.stride;
  g.padding_y = y.padding;
  g.padding_x = x.padding;
  g.dilation_y = y.dilation;
  g.dilation_x = x.dilation;
  return g;
}

// Computes rows [first, last) of plane z of the results of one image. `g` has the first plane of the input
// and of the results, and the weight of the first plane of the window.
void AccumulatePlanes(const DepthwiseArgs& g, const WindowAxis& axis, int64_t depth, int64_t z,
                      int64_t first, int64_t last) {
  const int64_t base = z * axis.stride - axis.padding;
  // The window's planes inside: [begin, end).
  const int64_t begin = base >= 0 ? 0 : (-base + axis.dilation - 1) / axis.dilation;
  const int64_t end =
      base >= depth ? 0 : std::min<int64_t>(axis.kernel, (depth - 1 - base) / axis.dilation + 1);
  const int64_t plane = g.height * g.width * g.channels;
  const int64_t out_plane = z * g.out_height * g.out_width * g.channels;
  DepthwiseArgs step = g;
  step.out = g.out + out_plane;
  if (step.epilogue.other != nullptr) step.epilogue.other += out_plane;
  if (begin >= end) {
    step.padding_y =
        g.out_height * g.stride_y + g.kernel_height * g.dilation_y;  // no row is inside
    return DepthwiseRows(step, first, last);
  }
  for (int64_t d = begin; d < end; ++d) {
    step.in = g.in + (base + d * axis.dilation) * plane;
    step.weight = g.weight + d * g.kernel_height * g.kernel_width * kDepthwiseChannels;
    if (d + 1 < end) {
      step.epilogue.activation = Activation::kNone;
      step.epilogue.low = -std::numeric_limits<float>::infinity();
      step.epilogue.high = std::numeric_limits<float>::infinity();
    } else {
      step.epilogue.activation = g.epilogue.activation;
      step.epilogue.low = g.epilogue.low;
      step.epilogue.high = g.epilogue.high;
    }
    DepthwiseRows(step, first, last);
    step.epilogue.bias = nullptr;
    step.epilogue.other = step.out;
  }
}

}  // namespace

bool IsDepthwiseVolume(const Call& call, const EpilogueF32& epilogue, const TensorView& out) {
  const int64_t channels = call.input->sizes[1];
  return !call.transposed && call.groups == channels && call.out_channels == channels &&
         channels > 1 && HasChannelsInnermost(out) &&
         !(epilogue.other != nullptr && epilogue.multiply);
}

void RunDepthwiseVolumes(const KernelContext& context, const Call& call,
                         const EpilogueF32& epilogue, const TensorView& out) {
  const std::array<int64_t, 4> in = VolumeSizes(call.input->sizes), to = VolumeSizes(out.sizes);
  const auto& [az, ay, ax] = call.window.axes;
  const int64_t channels = call.out_channels;
  const bool columns = IsPoint(ay) && IsPoint(ax);
  DepthwiseArgs g = columns ? ImagesOf(az, ax) : ImagesOf(ay, ax);
  g.batch = columns ? in[0] : 1;
  g.channels = channels;
  g.height = columns ? in[1] : in[2];
  g.width = columns ? in[2] * in[3] : in[3];
  g.out_height = columns ? to[1] : to[2];
  g.out_width = columns ? to[2] * to[3] : to[3];
  g.in = call.input->as<const float>();
  g.weight = call.weight->as<const float>();
  g.weight_taps = call.window.taps().value();
  g.out = out.as<float>();
  g.epilogue = epilogue;
  const double work = static_cast<double>(out.numel()) * static_cast<double>(g.weight_taps);
  const int64_t row_work = g.out_width * channels * g.kernel_height * g.kernel_width;
  if (columns) {
    return RunRanges(context, g.batch * g.out_height, /*step=*/1, work,
                     [&](int, int64_t first, int64_t last) {
                       Budget::Pace pace;
                       for (int64_t row = first; row < last && !pace.Stop(row_work); ++row) {
                         DepthwiseRows(g, row, row + 1);
                       }
                     });
  }
  const int64_t blocks = (g.out_height + kRowsAtOnce - 1) / kRowsAtOnce;
  RunRanges(
      context, in[0] * to[1] * blocks, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
        Budget::Pace pace;
        for (int64_t i = first; i < last && !pace.Stop(row_work * kRowsAtOnce * az.kernel); ++i) {
          const int64_t row = i % blocks * kRowsAtOnce, z = i / blocks % to[1],
                        image = i / blocks / to[1];
          DepthwiseArgs mine = g;
          mine.in += image * in[1] * g.height * g.width * channels;
          const int64_t at = image * to[1] * g.out_height * g.out_width * channels;
          mine.out += at;
          if (mine.epilogue.other != nullptr) mine.epilogue.other += at;
          AccumulatePlanes(mine, az, in[1], z, row, std::min(row + kRowsAtOnce, g.out_height));
        }
      });
}

}  // namespace belay::cpu
