// convolution with one, two or three spatial dimensions, plain and transposed.
#include <algorithm>
#include <optional>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/convolution.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/conv/winograd_strips.h"
#include "runtime/kernels/element_copy/add_row.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/operands/inside_range.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/depthwise.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// Plan of a depthwise convolution over channels last copies: kDepthwiseChannels channels and some
// rows of results at a time, which stay in the cache. Sizes in floats.
struct DepthwiseStrips {
  // Whether copies are faster than planes, whose rows are often shorter than two vectors.
  static bool Uses(const ConvGeometry& g) {
    return g.depthwise() && g.filters == g.channels && g.channels >= kDepthwiseChannels &&
           g.size[0] == 1 && g.kernel[0] == 1 && g.out[0] == 1 && g.padding[0] == 0 &&
           g.plane() > 0;
  }
  explicit DepthwiseStrips(const ConvGeometry& g)
      : weights(PackedDepthwiseSize(g.channels, g.taps()).value_or(-1)),
        window(CheckedInt(g.kernel[1] - 1) * g.dilation[1] + 1) {
    // Does not decrease with the sizes of the image, as planned memory requires.
    constexpr int64_t kStripFloats = int64_t{32} << 10;
    const CheckedInt all_rows = Floats(g, g.out[1]), one_row = Floats(g, 1);
    const bool all = all_rows.ok() && all_rows.value() <= kStripFloats;
    strip = all ? all_rows : one_row;
    if (!all && one_row.ok()) strip = std::max(one_row.value(), kStripFloats);
    // window * width + (rows - 1) * stride * width + rows * out_width <= strip / kDepthwiseChannels
    const CheckedInt step = CheckedInt(g.stride[1]) * g.size[2] + g.out[2];
    const CheckedInt most =
        FloorDiv(FloorDiv(strip, kDepthwiseChannels) - (window - g.stride[1]) * g.size[2], step);
    rows = all ? g.out[1] : std::clamp(most.value(), int64_t{1}, std::max(g.out[1], int64_t{1}));
  }
  CheckedInt total(int threads) const { return weights + strip * threads; }

  CheckedInt weights, window;  // `window`: rows of the image that a row of results reads
  CheckedInt strip;            // per thread: rows of the image, then of the results
  int64_t rows;                // of results

 private:
  // The floats of a strip with `count` rows of results.
  CheckedInt Floats(const ConvGeometry& g, int64_t count) const {
    CheckedInt in_rows = window + CheckedInt(count - 1) * g.stride[1];
    if (!in_rows.ok() || in_rows.value() > g.size[1]) in_rows = g.size[1];
    return (in_rows * g.size[2] + CheckedInt(count) * g.out[2]) * kDepthwiseChannels;
  }
};

void DepthwiseChannelsLast(const KernelContext& context, const ConvGeometry& g,
                           const DepthwiseStrips& parts, const float* input, const float* weight,
                           const float* bias, float* out, float* scratch) {
  float* const strips = scratch + parts.weights.value();
  PackDepthwise(weight, g.channels, g.taps(), g.taps(), 1, scratch);
  DepthwiseArgs args;
  static_cast<DepthwiseGeometry&>(args) = {.batch = 1,
                                           .channels = kDepthwiseChannels,
                                           .height = g.size[1],
                                           .width = g.size[2],
                                           .out_height = g.out[1],
                                           .out_width = g.out[2],
                                           .kernel_height = g.kernel[1],
                                           .kernel_width = g.kernel[2],
                                           .stride_y = g.stride[1],
                                           .stride_x = g.stride[2],
                                           .padding_y = g.padding[1],
                                           .padding_x = g.padding[2],
                                           .dilation_y = g.dilation[1],
                                           .dilation_x = g.dilation[2]};
  // Channels [0, count) of `pixels` pixels, in memory of [c, h, w] and of [h, w, c].
  const auto view = [](const float* data, int64_t count, int64_t pixels, Strides strides) {
    TensorView view;
    view.sizes = {count, pixels};
    view.strides = strides;
    view.data = const_cast<float*>(data);
    return view;
  };
  const int64_t panels = (g.channels + kDepthwiseChannels - 1) / kDepthwiseChannels;
  const int64_t pieces = (g.out[1] + parts.rows - 1) / parts.rows;
  const int64_t work = parts.rows * g.out[2] * kDepthwiseChannels * g.taps();
  const int64_t count = g.batch * panels * pieces;
  RunRanges(
      context, count, 1, static_cast<double>(count) * static_cast<double>(work),
      [&](int part, int64_t first, int64_t last) {
        DepthwiseArgs mine = args;
        float* const image = strips + part * parts.strip.value();
        Budget::Pace pace;
        for (int64_t i = first; i < last && !pace.Stop(work); ++i) {
          const int64_t panel = i / pieces % panels, n = i / pieces / panels;
          const int64_t channel = panel * kDepthwiseChannels;
          const int64_t y = i % pieces * parts.rows;
          mine.channels = std::min(g.channels - channel, kDepthwiseChannels);
          mine.out_height = std::min(g.out[1] - y, parts.rows);
          // Rows of the image that the strip reads; at least one, which may be below it.
          const int64_t top = y * g.stride[1] - g.padding[1];
          const int64_t end = top + (mine.out_height - 1) * g.stride[1] + parts.window.value();
          const int64_t from = std::clamp(top, int64_t{0}, g.size[1] - 1);
          mine.height = std::clamp(end, from + 1, g.size[1]) - from;
          mine.padding_y = from - top;
          const int64_t pixels = mine.height * g.size[2], out_pixels = mine.out_height * g.out[2];
          float* const results = image + pixels * mine.channels;
          const int64_t plane = n * g.channels + channel;
          CopyConvertible(view(input + plane * g.plane() + from * g.size[2], mine.channels, pixels,
                               {g.plane(), 1}),
                          view(image, mine.channels, pixels, {1, mine.channels}));
          mine.in = image;
          mine.weight = scratch + channel * g.taps();
          mine.out = results;
          mine.epilogue.bias = bias == nullptr ? nullptr : bias + channel;
          DepthwiseRows(mine, 0, mine.out_height);
          CopyConvertible(view(results, mine.channels, out_pixels, {1, mine.channels}),
                          view(out + plane * g.out_plane() + y * g.out[2], mine.channels,
                               out_pixels, {g.out_plane(), 1}));
        }
      });
}

void Depthwise(const KernelContext& context, const ConvGeometry& g, const float* input,
               const float* weight, const float* bias, float* out) {
  const int64_t per_channel = g.filters / g.channels, planes = g.batch * g.filters;
  const double work = static_cast<double>(planes) * static_cast<double>(g.out_plane()) *
                      static_cast<double>(g.taps());
  RunRanges(context, planes, 1, work, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t n = i / g.filters, f = i % g.filters;
      DepthwisePlaneF32(g, input + (n * g.channels + f / per_channel) * g.plane(),
                        weight + f * g.taps(), bias == nullptr ? 0.0f : bias[f],
                        out + i * g.out_plane());
    }
  });
}

void Dense(const KernelContext& context, const ConvGeometry& g, const float* input,
           const float* weight, const float* bias, float* out, float* scratch) {
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      const float* image = input + (n * g.channels + group * g.group_channels()) * g.plane();
      const PatchSource patches{&g, image};
      PackedGemmArgs args;
      args.m = static_cast<size_t>(g.group_filters());
      args.n = static_cast<size_t>(g.out_plane());
      args.k = static_cast<size_t>(g.patch());
      args.a = weight + group * g.group_filters() * g.patch();
      args.lda = args.k;
      if (g.pointwise()) {
        args.b = image;
        args.ldb = static_cast<size_t>(g.plane());
      } else {
        args.pack = &PackPatches;
        args.pack_source = &patches;
      }
      args.c = out + (n * g.filters + group * g.group_filters()) * g.out_plane();
      args.ldc = args.n;
      args.row_bias = bias == nullptr ? nullptr : bias + group * g.group_filters();
      args.panels = scratch;
      Gemm(context, args);
    }
  }
}

// Accumulates the products of one kernel position into the results. The products are one plane of
// the image's sizes per filter.
void ScatterTap(const ConvGeometry& g, const float* products, const int64_t* k, float* out) {
  const int64_t shift_x = g.shift(2, k[2]);
  const InsideRange inside = Inside(g.stride[2], shift_x, g.out[2], g.size[2]);
  for (int64_t z = 0; z < g.size[0]; ++z) {
    const int64_t out_z = z * g.stride[0] + g.shift(0, k[0]);
    if (out_z < 0 || out_z >= g.out[0]) continue;
    for (int64_t y = 0; y < g.size[1]; ++y) {
      const int64_t out_y = y * g.stride[1] + g.shift(1, k[1]);
      if (out_y < 0 || out_y >= g.out[1]) continue;
      const float* from = products + (z * g.size[1] + y) * g.size[2];
      float* to = out + (out_z * g.out[1] + out_y) * g.out[2];
      AddRow(from + inside.first, inside.last - inside.first, g.stride[2],
             to + inside.first * g.stride[2] + shift_x);
    }
  }
}

// Scratch memory of a transposed convolution, in floats.
struct TransposedScratch {
  uint64_t panels, channels, plane;
  int64_t rows;  // of one GEMM: kernel positions of filters

  TransposedScratch(const KernelContext& context, const ConvGeometry& g)
      : panels(PanelsSize(static_cast<size_t>(g.group_channels()), static_cast<size_t>(g.plane())) *
               static_cast<uint64_t>(context.num_threads())) {
    // Many rows share packed panels; their products should stay in the L2 cache.
    constexpr int64_t kMostProducts = int64_t{1} << 18, kLeastRows = 16;
    const int64_t all = TransposedRows(g), least = std::max(g.group_filters(), kLeastRows);
    rows = std::min(all, std::max(least, kMostProducts / std::max<int64_t>(g.plane(), 1)));
    channels = static_cast<uint64_t>(g.group_channels());
    plane = static_cast<uint64_t>(g.plane());
  }
  uint64_t matrix() const { return static_cast<uint64_t>(rows) * channels; }
  uint64_t total() const { return panels + static_cast<uint64_t>(rows) * (channels + plane); }
  // Takes fewer rows at once if more do not fit into `floats`: a smaller image prefers more rows
  // than the largest one, for which memory was planned. One row needs no more than then.
  void Fit(uint64_t floats) {
    const uint64_t of_rows = floats < panels ? 0 : floats - panels;
    const uint64_t most = of_rows / std::max<uint64_t>(channels + plane, 1);
    rows = static_cast<int64_t>(
        std::max<uint64_t>(std::min<uint64_t>(most, static_cast<uint64_t>(rows)), 1));
  }
  // Wraps if the weight is too large for int64.
  static int64_t TransposedRows(const ConvGeometry& g) {
    return static_cast<int64_t>(static_cast<uint64_t>(g.group_filters()) *
                                static_cast<uint64_t>(g.taps()));
  }
};

// GEMMs of [filters * kernel positions, channels] x [channels, image elements], some rows at a time.
void Transposed(const KernelContext& context, const ConvGeometry& g, const TransposedScratch& parts,
                const float* input, const float* weight, const float* bias, float* out,
                float* scratch) {
  float* matrix = scratch + parts.panels;
  float* products = matrix + parts.matrix();
  const int64_t filters = g.group_filters(), channels = g.group_channels(), taps = g.taps(),
                rows = TransposedScratch::TransposedRows(g);
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      float* result = out + (n * g.filters + group * filters) * g.out_plane();
      for (int64_t f = 0; f < filters; ++f) {
        std::fill_n(result + f * g.out_plane(), g.out_plane(),
                    bias == nullptr ? 0.0f : bias[group * filters + f]);
      }
      const float* w = weight + group * channels * rows;
      for (int64_t first = 0; first < rows; first += parts.rows) {
        const int64_t last = std::min(first + parts.rows, rows);
        TensorView from;  // rows of the transposed weight
        from.sizes = {last - first, channels};
        from.strides = {1, rows};
        from.data = const_cast<float*>(w + first);
        CopyConvertible(from, TensorView::Contiguous(DType::kFloat32, from.sizes, matrix));
        PackedGemmArgs args;
        args.m = static_cast<size_t>(last - first);
        args.n = static_cast<size_t>(g.plane());
        args.k = static_cast<size_t>(channels);
        args.a = matrix;
        args.lda = args.k;
        args.b = input + (n * g.channels + group * channels) * g.plane();
        args.ldb = args.n;
        args.c = products;
        args.ldc = args.n;
        args.panels = scratch;
        Gemm(context, args);
        if (Budget::Stop()) return;
        // Each filter accumulates its kernel positions in order.
        const int64_t first_filter = first / taps, last_filter = (last + taps - 1) / taps;
        const double work =
            kElementWork * static_cast<double>(last - first) * static_cast<double>(g.plane());
        RunRanges(context, last_filter - first_filter, 1, work,
                  [&](int, int64_t begin, int64_t end) {
                    for (int64_t f = first_filter + begin; f < first_filter + end; ++f) {
                      const int64_t from_row = std::max(first, f * taps);
                      const int64_t to_row = std::min(last, (f + 1) * taps);
                      for (int64_t row = from_row; row < to_row; ++row) {
                        const int64_t tap = row - f * taps;
                        const int64_t k[3] = {tap / (g.kernel[1] * g.kernel[2]),
                                              tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
                        ScatterTap(g, products + (row - first) * g.plane(), k,
                                   result + f * g.out_plane());
                      }
                    }
                  });
      }
    }
  }
}

// Every position that a loop computes must fit, for all strides and paddings that a file may have.
absl::Status CheckReach(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    const CheckedInt reach = CheckedInt(std::max(g.out[d], g.size[d])) * g.stride[d] +
                             CheckedInt(g.kernel[d]) * g.dilation[d] + g.padding[d] +
                             std::max(g.out[d], g.size[d]);
    if (!(reach + reach).ok()) {
      return absl::InvalidArgumentError("convolution: stride, padding or dilation is too large");
    }
  }
  return absl::OkStatus();
}

ConvGeometry GeometryOf(const TensorView& input, const TensorView& weight, const TensorView& out,
                        const ConvolutionParams& p) {
  ConvGeometry g;
  g.batch = input.sizes[0];
  g.channels = input.sizes[1];
  g.filters = out.sizes[1];
  g.groups = p.groups;
  const int spatial = input.rank() - 2;
  for (int s = 0; s < spatial; ++s) {
    const int d = 3 - spatial + s;
    g.size[d] = input.sizes[2 + s];
    g.kernel[d] = weight.sizes[2 + s];
    g.out[d] = out.sizes[2 + s];
    g.stride[d] = p.stride[s];
    g.padding[d] = p.padding[s];
    g.dilation[d] = p.dilation[s];
  }
  return g;
}

// The convolution without the kernel positions that read only padding, as those of a dilation that
// is larger than the image. `first` gets the first position of each dimension that stays.
ConvGeometry WithoutUnreadTaps(const ConvGeometry& g, int64_t* first) {
  ConvGeometry rest = g;
  for (int d = 0; d < 3; ++d) {
    const auto reads = [&](int64_t k) {
      const InsideRange inside = Inside(g.stride[d], g.shift(d, k), g.size[d], g.out[d]);
      return inside.first < inside.last;
    };
    int64_t begin = 0, end = g.kernel[d];
    while (end - begin > 1 && !reads(begin)) ++begin;
    while (end - begin > 1 && !reads(end - 1)) --end;
    first[d] = begin;
    rest.kernel[d] = end - begin;
    rest.padding[d] = g.padding[d] - begin * g.dilation[d];
  }
  return rest;
}
// Floats of the weights of the remaining positions; 0 if all remain.
CheckedInt RestOfWeights(const ConvGeometry& g, const ConvGeometry& rest) {
  return rest.taps() == g.taps() ? CheckedInt(0) : CheckedInt(g.filters) * rest.patch();
}
void CopyRestOfWeights(const ConvGeometry& g, const ConvGeometry& rest, const int64_t* first,
                       const float* weight, float* to) {
  TensorView from;
  from.sizes = {g.filters * g.group_channels(), rest.kernel[0], rest.kernel[1], rest.kernel[2]};
  from.strides = {g.taps(), g.kernel[1] * g.kernel[2], g.kernel[2], 1};
  const int64_t offset = (first[0] * g.kernel[1] + first[1]) * g.kernel[2] + first[2];
  from.data = const_cast<float*>(weight + offset);
  CopyConvertible(from, TensorView::Contiguous(DType::kFloat32, from.sizes, to));
}

// Scratch memory: that of the convolution, then copies of operands that are not row-major float32.
uint64_t CopyOf(const TensorView* t) {
  return t == nullptr || IsRowMajorF32(*t) ? 0 : static_cast<uint64_t>(t->numel());
}
uint64_t CopiesOf(const ConvolutionCall<KernelArguments>& call, const TensorView& out) {
  return CopyOf(call.input) + CopyOf(call.weight) + CopyOf(call.bias) + CopyOf(&out);
}
std::optional<WinogradStrips> WinogradFor(const KernelContext& context, const ConvGeometry& g,
                                          bool transposed) {
  return transposed ? std::nullopt : WinogradStrips::For(g, context.num_threads());
}
uint64_t OwnScratch(const KernelContext& context, const ConvGeometry& g, bool transposed) {
  if (transposed) return TransposedScratch(context, g).total();
  if (DepthwiseStrips::Uses(g)) {
    constexpr uint64_t kTooLarge = UINT64_MAX / 8;  // in bytes, it is still a number
    const CheckedInt total = DepthwiseStrips(g).total(context.num_threads());
    return total.ok() ? static_cast<uint64_t>(total.value()) : kTooLarge;
  }
  return PanelsSize(static_cast<size_t>(g.patch()), static_cast<size_t>(g.out_plane())) *
         static_cast<uint64_t>(context.num_threads());
}

// Returns a tensor as row-major floats: its data, or a copy at `room`, which is advanced.
const float* FloatsOf(const TensorView* t, float*& room) {
  if (t == nullptr) return nullptr;
  if (IsRowMajorF32(*t)) return t->as<const float>();
  float* const copy = room;
  room += t->numel();
  CopyConvertible(*t, TensorView::Contiguous(DType::kFloat32, t->sizes, copy));
  return copy;
}

absl::Status Convolution(KernelContext& context, const ConvolutionCall<KernelArguments>& call) {
  const auto& [input, weight, bias, p] = call;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const ConvGeometry g = GeometryOf(*input, *weight, *out, p);
  ABSL_RETURN_IF_ERROR(CheckReach(g));
  const uint64_t planned = context.scratch().size() / sizeof(float);
  if (const auto winograd = WinogradFor(context, g, p.transposed)) {
    const uint64_t own = static_cast<uint64_t>(winograd->scratch().value());
    // Without room if memory was planned for a larger image that is convolved otherwise.
    const uint64_t total = own + CopyOf(weight) + CopyOf(bias);
    if (total <= planned) {
      ABSL_ASSIGN_OR_RETURN(float* scratch,
                            ScratchArray<float>(context, static_cast<int64_t>(total)));
      float* room = scratch + own;
      const float* const w = FloatsOf(weight, room);
      const float* const b = FloatsOf(bias, room);
      winograd->Run(context, *input, w, b, *out, scratch);
      return absl::OkStatus();
    }
  }
  const uint64_t copies = CopiesOf(call, *out);
  const uint64_t room_of_call = planned < copies ? 0 : planned - copies;
  uint64_t own = OwnScratch(context, g, p.transposed);
  std::optional<TransposedScratch> transposed;
  bool channels_last = false;
  if (p.transposed) {
    transposed.emplace(context, g);
    transposed->Fit(room_of_call);
    own = transposed->total();
  } else if (DepthwiseStrips::Uses(g)) {
    // Weights of dynamic sizes may be depthwise, although those that memory was planned for are not.
    channels_last = own <= room_of_call;
    if (!channels_last) own = 0;
  }
  int64_t first_taps[3];
  ConvGeometry rest = WithoutUnreadTaps(g, first_taps);
  CheckedInt rest_of_weights = RestOfWeights(g, rest);
  // Without room if memory was planned for a larger image, which reads more positions.
  if (p.transposed || g.depthwise() || !rest_of_weights.ok() ||
      static_cast<uint64_t>(rest_of_weights.value()) + own > room_of_call) {
    rest = g;
    rest_of_weights = 0;
  }
  const uint64_t total = own + copies + static_cast<uint64_t>(rest_of_weights.value());
  ABSL_ASSIGN_OR_RETURN(float* scratch, ScratchArray<float>(context, static_cast<int64_t>(total)));
  float* room = scratch + own;
  const float* const in = FloatsOf(input, room);
  const float* w = FloatsOf(weight, room);
  const float* const b = FloatsOf(bias, room);
  if (rest_of_weights.value() > 0) {
    CopyRestOfWeights(g, rest, first_taps, w, room);
    w = room;
    room += rest_of_weights.value();
  }
  const bool direct = IsRowMajorF32(*out);
  float* to = direct ? out->as<float>() : room;
  if (transposed.has_value()) {
    Transposed(context, g, *transposed, in, w, b, to, scratch);
  } else if (channels_last) {
    DepthwiseChannelsLast(context, g, DepthwiseStrips(g), in, w, b, to, scratch);
  } else if (g.depthwise()) {
    Depthwise(context, g, in, w, b, to);
  } else {
    Dense(context, rest, in, w, b, to, scratch);
  }
  if (!direct) CopyConvertible(TensorView::Contiguous(DType::kFloat32, out->sizes, to), *out);
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const ConvolutionCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  const int rank = call.input->rank();
  return kTypes.contains(call.input->dtype) && call.weight->rank() == rank && out.ok() &&
         (*out)->rank() == rank;
}

uint64_t ScratchBytes(const KernelContext& context, const ConvolutionCall<KernelArguments>& call) {
  if (!Accepts(context, call)) return 0;
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  const auto& [input, weight, bias, p] = call;
  const ConvGeometry g = GeometryOf(*input, *weight, **out, p);
  uint64_t floats = OwnScratch(context, g, p.transposed) + CopiesOf(call, **out);
  if (!p.transposed && !g.depthwise() && CheckReach(g).ok()) {
    int64_t first_taps[3];
    const CheckedInt rest = RestOfWeights(g, WithoutUnreadTaps(g, first_taps));
    if (rest.ok()) floats += static_cast<uint64_t>(rest.value());
  }
  if (const auto winograd = WinogradFor(context, g, p.transposed)) {
    const auto own = static_cast<uint64_t>(winograd->scratch().value());
    floats = std::max(floats, own + CopyOf(weight) + CopyOf(bias));
  }
  return floats * sizeof(float);
}

constexpr Kernel kKernels[] = {
    KernelRow<&Convolution, &Accepts, &ScratchBytes>(
        "aten.convolution.default",
        "input weight bias stride padding dilation transposed output_padding groups",
        "ConvolutionSimd", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> ConvHighwayKernels() { return kKernels; }

}  // namespace belay
