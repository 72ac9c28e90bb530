#include <algorithm>
#include <limits>
#include <string_view>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/pool.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/pool/float_images.h"
#include "runtime/kernels/pool/pool.h"
#include "runtime/kernels/pool/pool_sums.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

template <class Call>
uint64_t ImagesScratch(const KernelContext& context, const Call& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok()) return 0;
  return BytesOfCopies(*call.self, **out);
}

// The kernels compute positions in 32 bits: every position of a window must fit.
bool Fits(const TensorView& input, const PoolParams& p, int spatial) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 4;
  const int rank = input.rank();
  for (int d = 1; d <= spatial; ++d) {
    const int at = spatial - d;
    const CheckedInt reach = CheckedInt(input.sizes[rank - d]) +
                             p.kernel[at] * CheckedInt(p.dilation[at]) + p.padding[at] +
                             CheckedInt(64) * p.stride[at];
    if (!(reach < kMost)) return false;
  }
  CheckedInt positions = 1;
  for (int d = 1; d <= spatial; ++d) positions = positions * input.sizes[rank - d];
  return positions < kMost;
}

// Returns the shape of the result. kInvalidArgument also if positions do not fit (Fits).
template <int kSpatial, class Call>
absl::StatusOr<Dims<CheckedInt>> ShapeOf(const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  if (!Fits(*call.self, call.params, kSpatial))
    return absl::InvalidArgumentError("pooling: the image or the window is too large");
  return shape;
}

// A call with three dimensions (depth, height, width). Missing dimensions have size 1.
struct Geometry {
  int64_t size[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};
Geometry GeometryOf(const TensorView& input, const PoolParams& params, const TensorView& out) {
  Geometry g;
  const int rank = out.rank(), spatial = params.kernel.size();
  for (int d = 1; d <= spatial; ++d) {
    const int from = spatial - d, to = 3 - d;
    g.size[to] = input.sizes[rank - d];
    g.out[to] = out.sizes[rank - d];
    g.kernel[to] = params.kernel[from];
    g.stride[to] = params.stride[from];
    g.padding[to] = params.padding[from];
    g.dilation[to] = params.dilation[from];
  }
  return g;
}

// A row of outputs without its position.
PoolRow RowOf(const Geometry& g) {
  PoolRow row;
  row.depth = g.size[0];
  row.height = g.size[1];
  row.width = g.size[2];
  row.kernel_depth = g.kernel[0];
  row.plane_dilation = g.dilation[0];
  row.kernel_height = g.kernel[1];
  row.row_dilation = g.dilation[1];
  row.kernel_width = g.kernel[2];
  row.stride = g.stride[2];
  row.padding = g.padding[2];
  row.dilation = g.dilation[2];
  row.outputs = g.out[2];
  return row;
}

// Multiply-adds of `outputs` windows; windows may be larger than the image.
int64_t WorkOf(int64_t outputs, const Geometry& g) {
  const CheckedInt work =
      CheckedInt(outputs) * g.kernel[0] * CheckedInt(g.kernel[1]) * CheckedInt(g.kernel[2]);
  return work.ok() ? work.value() : std::numeric_limits<int64_t>::max();
}

// Padded copies of volumes (PoolRow::padded_pitch) with more elements are not made: few of their
// windows cross an edge.
constexpr int64_t kMostPadded = int64_t{1} << 16;

// Whether dimension d has only windows with an element of the volume.
bool HasOnlyFullWindows(const Geometry& g, int d) {
  const CheckedInt last = CheckedInt(g.out[d] - 1) * g.stride[d] - g.padding[d];
  return g.dilation[d] == 1 && 2 * g.padding[d] <= g.kernel[d] && last.ok() &&
         last.value() < g.size[d];
}

// Elements from row to row of a padded copy; 0 if windows do not cross edges, or if PoolRow does
// not support it.
CheckedInt PaddedPitch(const Geometry& g) {
  const CheckedInt end = CheckedInt(g.out[2] - 1) * g.stride[2] + g.kernel[2];
  const bool crosses = g.padding[2] > 0 || g.out[2] < 16 || (end.ok() && end.value() > g.size[2]);
  if (!crosses || g.stride[2] > 2 || !HasOnlyFullWindows(g, 0) || !HasOnlyFullWindows(g, 1) ||
      !HasOnlyFullWindows(g, 2)) {
    return 0;
  }
  const int64_t whole_vectors = (g.out[2] + 15) / 16 * 16;
  return CheckedInt(whole_vectors) * g.stride[2] + g.kernel[2];
}
CheckedInt PaddedSize(const Geometry& g) {
  const CheckedInt pitch = PaddedPitch(g);
  const CheckedInt size = pitch * g.size[0] * CheckedInt(g.size[1]);
  return pitch.ok() && pitch.value() == 0 ? CheckedInt(0) : size + g.padding[2] + kPoolSlack;
}

// Bytes of a row and of the padded copies of all threads.
CheckedInt RowBuffersSize(const Geometry& g, int threads) {
  const CheckedInt padded = PaddedSize(g);
  const int64_t most = padded.ok() ? std::min(padded.value(), kMostPadded) : kMostPadded;
  return (CheckedInt(most) * threads + g.out[2]) * static_cast<int64_t>(sizeof(float));
}

template <int kSpatial, class Call>
uint64_t PoolScratch(const KernelContext& context, const Call& call) {
  const uint64_t images = ImagesScratch(context, call);
  const absl::StatusOr<Dims<CheckedInt>> shape = ShapeOf<kSpatial>(call);
  if (!shape.ok()) return images;
  const absl::StatusOr<Sizes> sizes = ToSizes(*shape);
  if (!sizes.ok()) return images;
  TensorView out;
  out.sizes = *sizes;
  return ScratchBytesOf<std::byte>(
      CheckedInt(static_cast<int64_t>(images)) +
      RowBuffersSize(GeometryOf(*call.self, call.params, out), context.num_threads()));
}

// Working memory to pool row-major images.
class RowBuffers {
 public:
  // `before` bytes of the scratch memory, a multiple of 4, are skipped.
  static absl::StatusOr<RowBuffers> Create(const KernelContext& context, const Geometry& g,
                                           uint64_t before) {
    RowBuffers buffers;
    const CheckedInt padded = PaddedSize(g);
    const CheckedInt copies = padded * context.num_threads();
    const CheckedInt others = CheckedInt(static_cast<int64_t>(before / sizeof(float))) + g.out[2];
    const auto room = static_cast<int64_t>(context.scratch().size() / sizeof(float));
    // Without room if memory was planned for a larger image, whose windows do not cross edges.
    if (padded.ok() && padded.value() > 0 && padded.value() <= kMostPadded &&
        copies + others <= room) {
      buffers.pitch_ = PaddedPitch(g).value();
      buffers.padded_ = padded.value();
    }
    const CheckedInt floats = CheckedInt(buffers.padded_) * context.num_threads() + g.out[2];
    ABSL_ASSIGN_OR_RETURN(
        std::byte* const bytes,
        ScratchArray<std::byte>(context, CheckedInt(static_cast<int64_t>(before)) +
                                             floats * static_cast<int64_t>(sizeof(float))));
    buffers.row_ = reinterpret_cast<float*>(bytes + before);
    buffers.copies_ = buffers.row_ + g.out[2];
    return buffers;
  }

  // PoolRow::padded_pitch.
  int64_t pitch() const { return pitch_; }
  // The padded copy of a volume, for a thread.
  float* padded(int part) const { return copies_ + part * padded_; }
  int64_t padded_size() const { return padded_; }
  // One element per output of a row.
  float* row() const { return row_; }

 private:
  float *row_ = nullptr, *copies_ = nullptr;
  int64_t pitch_ = 0, padded_ = 0;
};

// Calls fn(row, z, offset of the row's first output) for every row of outputs, on several threads.
// `neutral` is the element of padding.
template <class Fn>
void ForEachRow(const KernelContext& context, const Geometry& g, const float* images,
                const TensorView& out, const RowBuffers& buffers, float neutral, const Fn& fn) {
  if (out.numel() == 0) return;
  const int64_t rows = g.out[0] * g.out[1], count = out.numel() / (rows * g.out[2]);
  const int64_t lines = g.size[0] * g.size[1], pitch = buffers.pitch();
  const int64_t units = WorkOf(2 * g.out[2], g);
  RunRanges(context, count, 1, static_cast<double>(units) * static_cast<double>(rows * count),
            [&](int part, int64_t first, int64_t last) {
              PoolRow row = RowOf(g);
              row.padded_pitch = pitch;
              float* const padded = buffers.padded(part);
              std::fill_n(padded, buffers.padded_size(), neutral);
              const int64_t copied = std::min(g.size[2], pitch - g.padding[2]);
              Budget::Pace pace;
              int64_t at = first * rows * g.out[2];
              for (int64_t n = first; n < last; ++n) {
                row.volume = images + n * lines * g.size[2];
                if (pitch != 0) {
                  const float* from = row.volume;
                  float* to = padded + g.padding[2];
                  row.volume = to;
                  for (int64_t i = 0; i < lines; ++i, from += g.size[2], to += pitch) {
                    std::copy_n(from, copied, to);
                  }
                }
                for (int64_t z = 0; z < g.out[0]; ++z) {
                  row.first_plane = z * g.stride[0] - g.padding[0];
                  for (int64_t y = 0; y < g.out[1]; ++y, at += g.out[2]) {
                    if (pace.Stop(units)) return;
                    row.first_row = y * g.stride[1] - g.padding[1];
                    fn(row, z, at);
                  }
                }
              }
            });
}

template <int kSpatial>
absl::Status MaxPool(KernelContext& context, const MaxPoolCall<KernelArguments, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, ShapeOf<kSpatial>(call));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.self->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, OutputOf(context, 1, DType::kInt64, shape));
  if (!index->is_contiguous())
    return absl::InternalError("the layout changed after the kernel was chosen");
  ABSL_ASSIGN_OR_RETURN(const FloatImages images, FloatImages::Create(context, *call.self, *out));
  const Geometry g = GeometryOf(*call.self, call.params, *out);
  ABSL_ASSIGN_OR_RETURN(const RowBuffers buffers, RowBuffers::Create(context, g, images.bytes()));
  ForEachRow(context, g, images.in(), *out, buffers, -std::numeric_limits<float>::infinity(),
             [&](const PoolRow& row, int64_t, int64_t at) {
               MaxPoolRowF32(row, images.result() + at, index->as<int64_t>() + at);
             });
  images.Finish();
  return absl::OkStatus();
}

// Whether the tensor has a batch and its channels are innermost.
bool HasBatchAndChannelsInnermost(const TensorView& t, int spatial) {
  return t.rank() == spatial + 2 && HasChannelsInnermost(t);
}

template <int kSpatial>
absl::Status MaxPoolChannelsLast(KernelContext& context,
                                 const MaxPoolCall<KernelArguments, kSpatial>& call) {
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, ShapeOf<kSpatial>(call));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self.dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, OutputOf(context, 1, DType::kInt64, shape));
  for (const TensorView* t : {&self, out, index}) {
    if (!HasBatchAndChannelsInnermost(*t, kSpatial)) {
      return absl::InternalError("the layout changed after the kernel was chosen");
    }
  }
  if (out->numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const DenseFloats images, DenseFloats::Create(context, self, *out));
  const Geometry g = GeometryOf(self, call.params, *out);
  const int64_t channels = out->sizes[1], outputs = g.out[2] * channels;
  const int64_t rows = out->sizes[0] * g.out[0] * g.out[1], units = WorkOf(outputs, g);
  RunRanges(context, rows, 1, static_cast<double>(rows) * static_cast<double>(units),
            [&](int, int64_t first, int64_t last) {
              PoolRow row = RowOf(g);
              Budget::Pace pace;
              for (int64_t r = first; r < last && !pace.Stop(units); ++r) {
                row.volume = images.in() + r / (g.out[0] * g.out[1]) * row.depth * row.height *
                                               row.width * channels;
                row.first_plane = r / g.out[1] % g.out[0] * g.stride[0] - g.padding[0];
                row.first_row = r % g.out[1] * g.stride[1] - g.padding[1];
                MaxPoolChannelsF32(row, channels, images.result() + r * outputs,
                                   index->as<int64_t>() + r * outputs);
              }
            });
  images.Finish(context);
  return absl::OkStatus();
}

// Positions of a window in one dimension: those inside the image, and how many are inside the image
// or its padding.
struct Window {
  int64_t first, last, padded;
  int64_t inside() const { return last - first; }
};
// Returns the window of dimension d that begins at `start`, which may be in the padding.
Window WindowAt(const Geometry& g, int d, int64_t start) {
  const int64_t end = std::min(start + g.kernel[d], g.size[d] + g.padding[d]);
  const int64_t first = std::max<int64_t>(start, 0);
  return {first, std::max(first, std::min(end, g.size[d])), end - start};
}
// Returns the i-th window of dimension d.
Window WindowOf(const Geometry& g, int d, int64_t i) {
  return WindowAt(g, d, i * g.stride[d] - g.padding[d]);
}

// Returns the divisor of the sum of a window.
int64_t CountOf(const PoolDivisor& divisor, const Window& depth, const Window& height,
                const Window& width) {
  if (divisor.override_by != 0) return divisor.override_by;
  return divisor.count_include_pad ? depth.padded * height.padded * width.padded
                                   : depth.inside() * height.inside() * width.inside();
}

// Images with batch and channels, channels last.
bool HasPixels(const TensorView& t, int spatial) {
  return spatial >= 2 && HasBatchAndChannelsInnermost(t, spatial) && t.sizes[1] > 1 &&
         !t.is_contiguous();
}

// The largest window that is summed in float.
constexpr int64_t kFloatWindow = 256;

// AverageWindow (pool_sums.h) in double. `sums` has one per channel.
void AverageLargeWindow(const float* in, const WindowPixels& window, int64_t count, double* sums,
                        float* out) {
  bool any = false;
  for (int64_t p = 0; p < window.planes; ++p) {
    for (int64_t r = 0; r < window.rows && window.columns > 0; ++r) {
      SumRows(in + p * window.plane_step + r * window.row_step, window.columns, window.channels,
              window.channels, any, sums);
      any = true;
    }
  }
  if (!any) std::fill_n(sums, window.channels, 0.0);
  ScaleSums(sums, 1 / static_cast<double>(count), window.channels, out);
}

// Averages of the windows of channels-last images, one vector of channels at a time; large windows
// in double. Scratch memory: sums of the channels for each thread.
absl::Status AvgPoolChannelsLast(const KernelContext& context, const Geometry& g,
                                 const PoolDivisor& divisor, const TensorView& in,
                                 const TensorView& out) {
  const int64_t channels = out.sizes[1];
  const CheckedInt sums_count = CheckedInt(channels) * context.num_threads();
  ABSL_ASSIGN_OR_RETURN(double* const sums, ScratchArray<double>(context, sums_count));
  ABSL_ASSIGN_OR_RETURN(
      const DenseFloats images,
      DenseFloats::Create(context, in, out, sums_count * static_cast<int64_t>(sizeof(double))));
  const int64_t rows = out.sizes[0] * g.out[0] * g.out[1];
  const int64_t units = WorkOf(2 * g.out[2] * channels, g);
  const bool small = WorkOf(1, g) <= kFloatWindow;
  RunRanges(context, rows, 1, static_cast<double>(rows) * static_cast<double>(units),
            [&](int part, int64_t first, int64_t last) {
              double* const mine = sums + part * channels;
              Budget::Pace pace;
              for (int64_t r = first; r < last && !pace.Stop(units); ++r) {
                const int64_t y = r % g.out[1], z = r / g.out[1] % g.out[0];
                const float* const image = images.in() + r / (g.out[0] * g.out[1]) * g.size[0] *
                                                             g.size[1] * g.size[2] * channels;
                const Window depth = WindowOf(g, 0, z), height = WindowOf(g, 1, y);
                for (int64_t x = 0; x < g.out[2]; ++x) {
                  const Window width = WindowOf(g, 2, x);
                  const int64_t count = CountOf(divisor, depth, height, width);
                  float* const to = images.result() + (r * g.out[2] + x) * channels;
                  const WindowPixels pixels = {.planes = depth.inside(),
                                               .rows = height.inside(),
                                               .columns = width.inside(),
                                               .channels = channels,
                                               .plane_step = g.size[1] * g.size[2] * channels,
                                               .row_step = g.size[2] * channels};
                  const int64_t pixel =
                      (depth.first * g.size[1] + height.first) * g.size[2] + width.first;
                  const float* const from = image + pixel * channels;
                  if (small) {
                    AverageWindow(from, pixels, 1 / static_cast<float>(count), to);
                  } else {
                    AverageLargeWindow(from, pixels, count, mine, to);
                  }
                }
              }
            });
  images.Finish(context);
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status AvgPool(KernelContext& context, const AvgPoolCall<KernelArguments, kSpatial>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, ShapeOf<kSpatial>(call));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.self->dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const Geometry g = GeometryOf(*call.self, call.params, *out);
  if (HasPixels(*call.self, kSpatial) && HasPixels(*out, kSpatial)) {
    return AvgPoolChannelsLast(context, g, call.divisor, *call.self, *out);
  }
  ABSL_ASSIGN_OR_RETURN(const FloatImages images, FloatImages::Create(context, *call.self, *out));
  ABSL_ASSIGN_OR_RETURN(const RowBuffers buffers, RowBuffers::Create(context, g, images.bytes()));
  constexpr Window kOne = {.first = 0, .last = 1, .padded = 1};
  float* const columns = buffers.row();
  for (int64_t x = 0; x < g.out[2]; ++x) {
    const int64_t count =
        call.divisor.override_by != 0 ? 1 : CountOf(call.divisor, kOne, kOne, WindowOf(g, 2, x));
    columns[x] = static_cast<float>(count);
  }
  ForEachRow(context, g, images.in(), *out, buffers, 0,
             [&](const PoolRow& row, int64_t z, int64_t at) {
               const int64_t lines =
                   CountOf(call.divisor, WindowOf(g, 0, z), WindowAt(g, 1, row.first_row), kOne);
               AveragePoolRowF32(row, static_cast<float>(lines), columns, images.result() + at);
             });
  images.Finish();
  return absl::OkStatus();
}

// Scratch memory of either layout.
template <int kSpatial>
uint64_t AvgPoolScratch(const KernelContext& context,
                        const AvgPoolCall<KernelArguments, kSpatial>& call) {
  const uint64_t rows = PoolScratch<kSpatial>(context, call);
  if (call.self->rank() < 2) return rows;
  const auto threads = static_cast<uint64_t>(context.num_threads());
  return std::max(rows, ImagesScratch(context, call) +
                            static_cast<uint64_t>(call.self->sizes[1]) * threads * sizeof(double));
}

// ---- Adaptive pooling

// The i-th of `count` windows that divide `size` positions evenly.
struct Span {
  int64_t first, last;
};
Span EvenSpan(int64_t i, int64_t size, int64_t count) {
  using Wide = __int128;
  return {static_cast<int64_t>(Wide{i} * size / count),
          static_cast<int64_t>((Wide{i + 1} * size + count - 1) / count)};
}

// Sizes of a call, with three dimensions; missing ones have size 1. `from` is divided among `to`.
struct Division {
  int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
};
template <int kSpatial>
Division DivisionOf(const TensorView& self, const TensorView& out) {
  Division d;
  for (int k = 1; k <= kSpatial; ++k) {
    d.from[3 - k] = self.sizes[self.rank() - k];
    d.to[3 - k] = out.sizes[out.rank() - k];
  }
  return d;
}

// Scratch memory: the windows of the dimensions, sums of a row or of the channels of each thread,
// and copies of the images unless they are channels last.
struct AdaptiveLayout {
  bool channels_last = false;
  int64_t sums = 0;           // per thread
  CheckedInt head_bytes = 0;  // before the copies
};
template <int kSpatial>
AdaptiveLayout AdaptiveLayoutOf(const KernelContext& context, const TensorView& self,
                                const TensorView& out) {
  AdaptiveLayout layout;
  const Division d = DivisionOf<kSpatial>(self, out);
  layout.channels_last = HasPixels(self, kSpatial) && HasPixels(out, kSpatial);
  layout.sums = layout.channels_last ? self.sizes[1] : d.from[2];
  const CheckedInt windows = CheckedInt(d.to[0]) + CheckedInt(d.to[1]) + CheckedInt(d.to[2]);
  layout.head_bytes =
      windows * static_cast<int64_t>(sizeof(Span)) +
      CheckedInt(layout.sums) * context.num_threads() * static_cast<int64_t>(sizeof(double));
  return layout;
}
template <int kSpatial>
uint64_t AdaptiveScratch(const KernelContext& context,
                         const AdaptivePoolCall<KernelArguments, kSpatial>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != call.self->rank() || (*out)->rank() < kSpatial) return 0;
  const AdaptiveLayout layout = AdaptiveLayoutOf<kSpatial>(context, *call.self, **out);
  return ScratchBytesOf<std::byte>(layout.head_bytes +
                                   CheckedInt(static_cast<int64_t>(ImagesScratch(context, call))));
}

template <int kSpatial>
absl::Status AdaptiveAvgPool(KernelContext& context,
                             const AdaptivePoolCall<KernelArguments, kSpatial>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const Division sizes = DivisionOf<kSpatial>(*self, *out);
  const int64_t *const from = sizes.from, *const to = sizes.to;
  const AdaptiveLayout layout = AdaptiveLayoutOf<kSpatial>(context, *self, *out);
  ABSL_ASSIGN_OR_RETURN(std::byte* const room, ScratchArray<std::byte>(context, layout.head_bytes));
  Span* windows[3];
  Span* next = reinterpret_cast<Span*>(room);
  for (int d = 0; d < 3; ++d) {
    windows[d] = next;
    for (int64_t i = 0; i < to[d]; ++i) *next++ = EvenSpan(i, from[d], to[d]);
  }
  double* const sums = reinterpret_cast<double*>(next);
  const auto size_of = [](Span span) { return static_cast<double>(span.last - span.first); };
  const double work =
      2 * static_cast<double>(self->numel()) + kElementWork * static_cast<double>(out->numel());
  const int64_t volume = from[0] * from[1] * from[2];

  if (layout.channels_last) {
    ABSL_ASSIGN_OR_RETURN(const DenseFloats images,
                          DenseFloats::Create(context, *self, *out, layout.head_bytes));
    const int64_t channels = self->sizes[1], rows = out->sizes[0] * to[0] * to[1];
    RunRanges(context, rows, 1, work, [&](int part, int64_t first, int64_t last) {
      double* const mine = sums + part * channels;
      Budget::Pace pace;
      for (int64_t r = first; r < last && !pace.stopped(); ++r) {
        const Span rows_of = windows[1][r % to[1]], depth = windows[0][r / to[1] % to[0]];
        const float* const image = images.in() + r / (to[0] * to[1]) * volume * channels;
        for (int64_t x = 0; x < to[2]; ++x) {
          const Span columns = windows[2][x];
          bool any = false;
          for (int64_t d = depth.first; d < depth.last; ++d) {
            for (int64_t y = rows_of.first; y < rows_of.last; ++y) {
              const int64_t pixel = (d * from[1] + y) * from[2] + columns.first;
              if (pace.Stop((columns.last - columns.first) * channels)) return;
              SumRows(image + pixel * channels, columns.last - columns.first, channels, channels,
                      any, mine);
              any = true;
            }
          }
          ScaleSums(mine, 1 / (size_of(depth) * size_of(rows_of) * size_of(columns)), channels,
                    images.result() + (r * to[2] + x) * channels);
        }
      }
    });
    images.Finish(context);
    return absl::OkStatus();
  }

  ABSL_ASSIGN_OR_RETURN(const FloatImages images,
                        FloatImages::Create(context, *self, *out, layout.head_bytes));
  RunRanges(context, out->numel() / (to[0] * to[1] * to[2]), 1, work,
            [&](int part, int64_t first, int64_t last) {
              double* const mine = sums + part * from[2];
              const float* in = images.in() + first * volume;
              float* result = images.result() + first * to[0] * to[1] * to[2];
              Budget::Pace pace;
              for (int64_t n = first; n < last; ++n, in += volume) {
                for (int64_t z = 0; z < to[0]; ++z) {
                  const Span depth = windows[0][z];
                  for (int64_t y = 0; y < to[1]; ++y) {
                    const Span rows = windows[1][y];
                    for (int64_t d = depth.first; d < depth.last; ++d) {
                      if (pace.Stop((rows.last - rows.first) * from[2])) return;
                      SumRows(in + (d * from[1] + rows.first) * from[2], rows.last - rows.first,
                              from[2], from[2], d > depth.first, mine);
                    }
                    const double lines = size_of(depth) * size_of(rows);
                    for (int64_t x = 0; x < to[2]; ++x) {
                      const Span columns = windows[2][x];
                      double total = 0;
                      for (int64_t i = columns.first; i < columns.last; ++i) total += mine[i];
                      *result++ = static_cast<float>(total / (lines * size_of(columns)));
                    }
                  }
                }
              }
            });
  images.Finish();
  return absl::OkStatus();
}

template <int kSpatial>
uint64_t ChannelsLastScratch(const KernelContext& context,
                             const MaxPoolCall<KernelArguments, kSpatial>& call) {
  return call.self->dtype == DType::kFloat32 ? 0 : ImagesScratch(context, call);
}

template <int kSpatial>
bool AcceptsAdaptive(const KernelContext& context,
                     const AdaptivePoolCall<KernelArguments, kSpatial>& call) {
  return kTypes.contains(call.self->dtype) && call.self->rank() > kSpatial;
}

template <int kSpatial>
bool AcceptsMaxPool(const KernelContext& context,
                    const MaxPoolCall<KernelArguments, kSpatial>& call) {
  const auto index = context.PlannedOutput(1);
  return kTypes.contains(call.self->dtype) && index.ok() && (*index)->dtype == DType::kInt64 &&
         (*index)->is_contiguous() && ShapeOf<kSpatial>(call).ok();
}

// Images that are both row-major and channels-last use the other kernel.
template <int kSpatial>
bool AcceptsMaxPoolChannelsLast(const KernelContext& context,
                                const MaxPoolCall<KernelArguments, kSpatial>& call) {
  const auto out = context.PlannedOutput(0), index = context.PlannedOutput(1);
  return kTypes.contains(call.self->dtype) && out.ok() && index.ok() &&
         (*index)->dtype == DType::kInt64 && !call.self->is_contiguous() &&
         HasBatchAndChannelsInnermost(*call.self, kSpatial) &&
         HasBatchAndChannelsInnermost(**out, kSpatial) &&
         HasBatchAndChannelsInnermost(**index, kSpatial) && ShapeOf<kSpatial>(call).ok();
}

template <int kSpatial>
bool AcceptsAvgPool(const KernelContext& context,
                    const AvgPoolCall<KernelArguments, kSpatial>& call) {
  return kTypes.contains(call.self->dtype) && ShapeOf<kSpatial>(call).ok();
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;
constexpr std::string_view kAvgPool =
    "self kernel_size stride padding ceil_mode count_include_pad divisor_override";

template <int kSpatial>
constexpr Kernel AdaptiveRow(std::string_view op, std::string_view name) {
  return KernelRow<&AdaptiveAvgPool<kSpatial>, &AcceptsAdaptive<kSpatial>,
                   &AdaptiveScratch<kSpatial>>(op, "self output_size", name, kHighway);
}

constexpr std::string_view kMaxPool = "self kernel_size stride padding dilation ceil_mode -> 2";
template <int kSpatial>
constexpr Kernel MaxPoolRow(std::string_view op, std::string_view name) {
  return KernelRow<&MaxPool<kSpatial>, &AcceptsMaxPool<kSpatial>,
                   &PoolScratch<kSpatial, MaxPoolCall<KernelArguments, kSpatial>>>(op, kMaxPool,
                                                                                   name, kHighway);
}
template <int kSpatial>
constexpr Kernel MaxPoolChannelsLastRow(std::string_view op, std::string_view name) {
  return KernelRow<&MaxPoolChannelsLast<kSpatial>, &AcceptsMaxPoolChannelsLast<kSpatial>,
                   &ChannelsLastScratch<kSpatial>>(op, kMaxPool, name, kHighway);
}

constexpr Kernel kKernels[] = {
    MaxPoolRow<2>("aten.max_pool2d_with_indices.default", "MaxPool2dSimd"),
    MaxPoolChannelsLastRow<2>("aten.max_pool2d_with_indices.default", "MaxPool2dChannelsLastSimd"),
    MaxPoolRow<3>("aten.max_pool3d_with_indices.default", "MaxPool3dSimd"),
    MaxPoolChannelsLastRow<3>("aten.max_pool3d_with_indices.default", "MaxPool3dChannelsLastSimd"),
    KernelRow<&AvgPool<1>, &AcceptsAvgPool<1>, &AvgPoolScratch<1>>(
        "aten.avg_pool1d.default", "self kernel_size stride padding ceil_mode count_include_pad",
        "AvgPool1dSimd", kHighway),
    KernelRow<&AvgPool<2>, &AcceptsAvgPool<2>, &AvgPoolScratch<2>>(
        "aten.avg_pool2d.default", kAvgPool, "AvgPool2dSimd", kHighway),
    KernelRow<&AvgPool<3>, &AcceptsAvgPool<3>, &AvgPoolScratch<3>>(
        "aten.avg_pool3d.default", kAvgPool, "AvgPool3dSimd", kHighway),
    AdaptiveRow<1>("aten.adaptive_avg_pool1d.default", "AdaptiveAvgPool1dSimd"),
    AdaptiveRow<2>("aten._adaptive_avg_pool2d.default", "AdaptiveAvgPool2dSimd"),
    AdaptiveRow<3>("aten._adaptive_avg_pool3d.default", "AdaptiveAvgPool3dSimd"),
};

}  // namespace

absl::Span<const Kernel> PoolHighwayKernels() { return kKernels; }

}  // namespace belay
