// belay_cpu::conv2d and belay_cpu::depthwise_conv2d.
#include <algorithm>

#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/kernels/ranges.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/elements/channels_last.h"
#include "runtime/kernels/packed/depthwise.h"

namespace belay::cpu {
namespace {

template <bool kDepthwise>
using Call = Conv2dCall<KernelArguments, kDepthwise>;

// Below so many channels a tap has too few floats to be worth a loop of its own.
constexpr int64_t kFewChannels = 8;

absl::Status ExpectChannelsLast(std::string_view name, const TensorView& t) {
  if (IsChannelsLast(t)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected dense images, channels last, got ", t.ToString()));
}

// How rows of patches are read.
enum class Way {
  kRows,  // 1x1: the pixels are the rows
  kTaps,  // pieces of pixels in place
  kCopy,  // patches are copied, a tile at a time
};

Way WayOf(const Call<false>& call) {
  const Window& w = call.window;
  if (!IsChannelsLast(*call.input)) return Way::kCopy;
  if (w.taps() == 1 && w.stride == std::array<int64_t, 2>{1, 1} &&
      w.padding == std::array<int64_t, 2>{0, 0} &&
      w.padding_after == std::array<int64_t, 2>{0, 0}) {
    return Way::kRows;
  }
  return call.input->sizes[1] < kFewChannels ? Way::kCopy : Way::kTaps;
}

struct Patches {
  const TensorView* image;
  const Window* window;
  int64_t out_height, out_width;
  const float* zeros;  // a pixel outside; kTaps
  float* tile;         // kCopy: kTileRows patches
  // kCopy: where the elements of a patch lie from its first one on.
  int64_t* offsets;
};

// Calls visit(row, image, y, x) for each of the rows, with the place of the patch's first tap.
template <class Visit>
void ForEachPatch(const Patches& p, size_t first, size_t count, const Visit& visit) {
  int64_t x = static_cast<int64_t>(first) % p.out_width;
  int64_t rest = static_cast<int64_t>(first) / p.out_width;
  int64_t y = rest % p.out_height;
  int64_t image = rest / p.out_height;
  for (size_t i = 0; i < count; ++i) {
    visit(i, image, y * p.window->stride[0] - p.window->padding[0],
          x * p.window->stride[1] - p.window->padding[1]);
    if (++x < p.out_width) continue;
    x = 0;
    if (++y < p.out_height) continue;
    y = 0;
    ++image;
  }
}

void PointIntoImage(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                    const float** pointers) {
  const Patches& p = *static_cast<const Patches*>(source);
  const TensorView& in = *p.image;
  const Window& w = *p.window;
  const float* data = in.as<const float>();
  const int64_t channels = in.sizes[1], height = in.sizes[2], width = in.sizes[3];
  const auto first_tap = static_cast<int64_t>(tap);
  ForEachPatch(p, first, count, [&](size_t i, int64_t image, int64_t y0, int64_t x0) {
    const float** to = pointers + i;
    int64_t j = first_tap / w.kernel_size[1], k = first_tap % w.kernel_size[1];
    for (size_t t = 0; t < taps; ++t, to += count) {
      const int64_t y = y0 + j * w.dilation[0], x = x0 + k * w.dilation[1];
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      *to = inside ? data + ((image * height + y) * width + x) * channels : p.zeros;
      if (++k < w.kernel_size[1]) continue;
      k = 0;
      ++j;
    }
  });
}

void FindOffsets(const Patches& p) {
  const TensorView& in = *p.image;
  const Window& w = *p.window;
  int64_t* to = p.offsets;
  for (int64_t j = 0; j < w.kernel_size[0]; ++j) {
    for (int64_t k = 0; k < w.kernel_size[1]; ++k) {
      for (int64_t c = 0; c < in.sizes[1]; ++c) {
        *to++ = j * w.dilation[0] * in.strides[2] + k * w.dilation[1] * in.strides[3] +
                c * in.strides[1];
      }
    }
  }
}

// One tap, the whole patch.
void CopyPatches(const void* source, size_t first, size_t count, size_t, size_t,
                 const float** pointers) {
  const Patches& p = *static_cast<const Patches*>(source);
  const TensorView& in = *p.image;
  const Window& w = *p.window;
  const int64_t channels = in.sizes[1], height = in.sizes[2], width = in.sizes[3];
  const int64_t reach_y = (w.kernel_size[0] - 1) * w.dilation[0];
  const int64_t reach_x = (w.kernel_size[1] - 1) * w.dilation[1];
  const int64_t size = w.taps() * channels;
  float* to = p.tile;
  ForEachPatch(p, first, count, [&](size_t i, int64_t image, int64_t y0, int64_t x0) {
    pointers[i] = to;
    const float* data = in.as<const float>() + image * in.strides[0];
    if (y0 >= 0 && y0 + reach_y < height && x0 >= 0 && x0 + reach_x < width) {
      const float* first_element = data + y0 * in.strides[2] + x0 * in.strides[3];
      for (int64_t e = 0; e < size; ++e) to[e] = first_element[p.offsets[e]];
      to += size;
      return;
    }
    for (int64_t j = 0; j < w.kernel_size[0]; ++j) {
      const int64_t y = y0 + j * w.dilation[0];
      for (int64_t k = 0; k < w.kernel_size[1]; ++k, to += channels) {
        const int64_t x = x0 + k * w.dilation[1];
        if (y < 0 || y >= height || x < 0 || x >= width) {
          std::fill(to, to + channels, 0.0f);
          continue;
        }
        const float* from = data + y * in.strides[2] + x * in.strides[3];
        for (int64_t c = 0; c < channels; ++c) to[c] = from[c * in.strides[1]];
      }
    }
  });
}

// Working memory: the pointers, offsets, then what the pointers point to.
struct Scratch {
  CheckedInt pointers = 0, floats = 0, offsets = 0;
  // Of one thread: whole cache lines.
  CheckedInt bytes() const {
    constexpr int64_t kLine = 64;
    const CheckedInt bytes = pointers * CheckedInt(int64_t{sizeof(const float*)}) +
                             offsets * CheckedInt(int64_t{sizeof(int64_t)}) +
                             floats * CheckedInt(int64_t{sizeof(float)});
    return FloorDiv(bytes + CheckedInt(kLine - 1), CheckedInt(kLine)) * CheckedInt(kLine);
  }
};

Scratch ScratchFor(Way way, int64_t channels, const Window& window) {
  constexpr int64_t kRows = kTileRows;
  switch (way) {
    case Way::kRows:
      return {.floats = static_cast<int64_t>(
                  TileFloats(static_cast<size_t>(channels), static_cast<size_t>(channels)))};
    case Way::kTaps:
      return {.pointers = CheckedInt(int64_t{kGroupRows}) * window.taps(), .floats = channels};
    case Way::kCopy:
      return {.pointers = kRows,
              .floats = CheckedInt(kRows) * window.taps() * channels,
              .offsets = CheckedInt(window.taps()) * channels};
  }
  return {};
}

absl::Status Conv2d(KernelContext& context, const Call<false>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  PackedGemmArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  const TensorView& in = *call.input;
  const int64_t channels = in.sizes[1];
  const Way way = WayOf(call);
  const Scratch needs = ScratchFor(way, channels, call.window);
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch,
                        ScratchArray<std::byte>(context, needs.bytes() * context.num_threads()));
  g.n = static_cast<size_t>(call.out_channels);
  g.m = static_cast<size_t>(out->numel()) / g.n;
  g.k = static_cast<size_t>(channels);
  g.b = call.weight->as<const float>();
  g.c = out->as<float>();
  g.ldc = g.n;
  switch (way) {
    case Way::kRows:
      g.a = in.as<const float>();
      g.lda = g.k;
      break;
    case Way::kTaps:
      g.taps = static_cast<size_t>(call.window.taps());
      g.row_pointers = &PointIntoImage;
      break;
    case Way::kCopy:
      g.k *= static_cast<size_t>(call.window.taps());
      g.row_pointers = &CopyPatches;
      g.one_tile = true;
      break;
  }
  RunProduct(context, g, [&](int part, PackedGemmArgs mine, const auto& run) {
    std::byte* memory = scratch + part * needs.bytes().value();
    mine.pointers = reinterpret_cast<const float**>(memory);
    memory += static_cast<size_t>(needs.pointers.value()) * sizeof(const float*);
    int64_t* offsets = reinterpret_cast<int64_t*>(memory);
    memory += static_cast<size_t>(needs.offsets.value()) * sizeof(int64_t);
    float* floats = reinterpret_cast<float*>(memory);
    const Patches patches = {.image = &in,
                             .window = &call.window,
                             .out_height = out->sizes[2],
                             .out_width = out->sizes[3],
                             .zeros = floats,
                             .tile = floats,
                             .offsets = offsets};
    if (way == Way::kRows && needs.floats.value() != 0) mine.tile = floats;
    if (way == Way::kTaps) std::fill(floats, floats + channels, 0.0f);
    if (way == Way::kCopy) FindOffsets(patches);
    mine.source = &patches;
    run(mine);
  });
  return absl::OkStatus();
}

absl::Status DepthwiseConv2d(KernelContext& context, const Call<true>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  DepthwiseArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  const Window& w = call.window;
  g.batch = out->sizes[0];
  g.channels = out->sizes[1];
  g.height = call.input->sizes[2];
  g.width = call.input->sizes[3];
  g.out_height = out->sizes[2];
  g.out_width = out->sizes[3];
  g.kernel_height = w.kernel_size[0];
  g.kernel_width = w.kernel_size[1];
  g.stride_y = w.stride[0];
  g.stride_x = w.stride[1];
  g.padding_y = w.padding[0];
  g.padding_x = w.padding[1];
  g.dilation_y = w.dilation[0];
  g.dilation_x = w.dilation[1];
  g.in = call.input->as<const float>();
  g.weight = call.weight->as<const float>();
  g.out = out->as<float>();
  const double work = static_cast<double>(out->numel()) * static_cast<double>(w.taps());
  RunRanges(context, g.batch * g.out_height, 1, work,
            [&](int, int64_t first, int64_t last) { DepthwiseRows(g, first, last); });
  return absl::OkStatus();
}

template <bool kDepthwise>
bool Accepts(const KernelContext& context, const Call<kDepthwise>& call) {
  return call.Shape().ok();
}

// Of the way that takes most: which one it is depends on sizes, in layouts that look alike.
uint64_t Conv2dScratch(const KernelContext& context, const Call<false>& call) {
  const int64_t channels = call.input->sizes[1];
  uint64_t most = 0;
  for (Way way : {Way::kRows, Way::kTaps, Way::kCopy}) {
    most = std::max(most, ScratchBytesOf<std::byte>(ScratchFor(way, channels, call.window).bytes() *
                                                    context.num_threads()));
  }
  return most;
}

constexpr Kernel kKernels[] = {
    KernelRow<&Conv2d, &Accepts<false>, &Conv2dScratch>(
        "belay_cpu.conv2d.default",
        "input weight bias other out_channels kernel_size stride padding dilation activation "
        "combine low high",
        "Conv2dPacked", KernelEngine::kHighway),
    KernelRow<&DepthwiseConv2d, &Accepts<true>>(
        "belay_cpu.depthwise_conv2d.default",
        "input weight bias other kernel_size stride padding dilation activation combine low high",
        "DepthwiseConv2dPacked", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> Conv2dKernels() { return kKernels; }

}  // namespace belay::cpu
