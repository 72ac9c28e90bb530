#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/resample.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/antialias.h"
#include "runtime/kernels/operands/upsample_kernels.h"
#include "runtime/kernels/resize/antialiased.h"
#include "runtime/kernels/resize/fold.h"
#include "runtime/kernels/resize/grid_sample.h"
#include "runtime/kernels/resize/image_rows.h"
#include "runtime/kernels/resize/resize.h"
#include "runtime/kernels/select/select.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kUint8};

// Scratch memory: positions and weights of the columns, and for each thread two rows of the input,
// their blend, and a row of the output.
struct Room {
  int64_t* place;           // [out], for nearest neighbor
  int32_t *first, *second;  // [out]
  float* share;             // [out]
  struct Rows {
    float *rows[2], *blend;  // [in]
    float* result;           // [out], or all channels of them
  };
  Rows Of(int part) const {
    float* const at = rows + part * (3 * in + out);
    return {{at, at + in}, at + 2 * in, at + 3 * in};
  }
  float* rows;
  int64_t in, out;
};

bool HasFloatPixels(const TensorView& t) {
  return IsFloatingPoint(t.dtype) && t.rank() == 4 && t.sizes[1] > 1 && IsChannelsLast(t);
}

// Elements of a row of `width` pixels in scratch memory: channels last, all channels.
CheckedInt RowLength(const TensorView& in, int64_t width) {
  return CheckedInt(width) * (HasFloatPixels(in) ? in.sizes[1] : 1);
}
// Elements of a row of the output in scratch memory.
CheckedInt ResultLength(const TensorView& in, int64_t width) {
  return in.dtype == DType::kFloat32 ? CheckedInt(width) : RowLength(in, width);
}

CheckedInt RoomBytes(const KernelContext& context, const TensorView& in, int64_t out) {
  const CheckedInt columns =
      CheckedInt(out) * static_cast<int64_t>(sizeof(int64_t) + 2 * sizeof(int32_t) + sizeof(float));
  const CheckedInt rows = (RowLength(in, in.sizes[3]) * 3 + ResultLength(in, out)) *
                          static_cast<int64_t>(sizeof(float));
  return columns + rows * context.num_threads();
}

absl::StatusOr<Room> RoomOf(const KernelContext& context, const TensorView& in, int64_t out) {
  ABSL_ASSIGN_OR_RETURN(std::byte * at,
                        ScratchArray<std::byte>(context, RoomBytes(context, in, out)));
  Room room;
  const auto take = [&](auto*& part) {
    part = reinterpret_cast<std::remove_reference_t<decltype(part)>>(at);
    at += static_cast<size_t>(out) * sizeof(*part);
  };
  take(room.place);
  take(room.first);
  take(room.second);
  take(room.share);
  room.rows = reinterpret_cast<float*>(at);
  room.in = RowLength(in, in.sizes[3]).value();
  room.out = ResultLength(in, out).value();
  return room;
}

// Channels last: blends rows of all channels, then pixels. Half precision is converted row by row.
void BilinearChannelsLast(const KernelContext& context, const Upsample& u, bool align_corners,
                          const Room& room) {
  const TensorView &in = *u.input, &out = *u.output;
  const int64_t channels = in.sizes[1];
  const auto length = static_cast<size_t>(in.sizes[3] * channels),
             out_length = static_cast<size_t>(out.sizes[3] * channels);
  const bool in_place = in.dtype == DType::kFloat32;
  ForEachRow(context, out, true, [&](const ImageRow& at) {
    const auto& [part, n, c, y, follows] = at;
    const Room::Rows mine = room.Of(part);
    const auto floats = [&](int64_t from, float* to) -> const float* {
      const TensorView row = RowOf(in, n, 0, from);
      if (in_place) return row.as<const float>();
      LoadFloats(row.dtype, row.data, length, to);
      return to;
    };
    const Neighbors v = LinearNeighbors(u.axes[0], y, align_corners);
    const float* row = floats(v.first, mine.rows[0]);
    if (!IsCopied(u.axes[0])) {
      BlendRows(row, floats(v.second, mine.rows[1]), static_cast<float>(v.share), length,
                mine.blend);
      row = mine.blend;
    }
    const TensorView result = RowOf(out, n, 0, y);
    float* const to = in_place ? result.as<float>() : mine.result;
    if (IsCopied(u.axes[1])) {
      std::memcpy(to, row, length * sizeof(float));
    } else {
      BlendPixels(row, room.first, room.second, room.share, static_cast<size_t>(out.sizes[3]),
                  static_cast<size_t>(channels), to);
    }
    if (!in_place) StoreFloats(to, out_length, result.dtype, result.data);
  });
}

// Computes an image of unchanged size and layout by `copy(first, last)`, for ranges of elements.
template <class Copy>
bool KeepImages(const KernelContext& context, const Upsample& u, const Copy& copy) {
  const TensorView &in = *u.input, &out = *u.output;
  if (u.axes[0].in != u.axes[0].out || u.axes[1].in != u.axes[1].out || in.strides != out.strides ||
      !IsDense(in.sizes, in.strides)) {
    return false;
  }
  RunRanges(context, in.numel(), /*step=*/64, kElementWork * static_cast<double>(in.numel()),
            [&](int, int64_t first, int64_t last) { copy(first, last); });
  return true;
}

struct Engine {
  static absl::Status Bilinear(KernelContext& context, const Upsample& u, bool align_corners) {
    const TensorView &in = *u.input, &out = *u.output;
    if (out.numel() == 0) return absl::OkStatus();
    const bool blends = !IsCopied(u.axes[0]) && !IsCopied(u.axes[1]);
    // Each element is blended with 0 times itself.
    if (blends && in.dtype == DType::kFloat32 &&
        KeepImages(context, u, [&](int64_t first, int64_t last) {
          const float* const from = in.as<const float>() + first;
          BlendRows(from, from, 0, static_cast<size_t>(last - first), out.as<float>() + first);
        })) {
      return absl::OkStatus();
    }
    const int64_t width = in.sizes[3], out_width = out.sizes[3];
    if (width > std::numeric_limits<int32_t>::max())
      return absl::InvalidArgumentError("upsample: the image is too wide");
    ABSL_ASSIGN_OR_RETURN(const Room room, RoomOf(context, in, out_width));
    for (int64_t x = 0; x < out_width; ++x) {
      const Neighbors h = LinearNeighbors(u.axes[1], x, align_corners);
      room.first[x] = static_cast<int32_t>(h.first);
      room.second[x] = static_cast<int32_t>(h.second);
      room.share[x] = static_cast<float>(h.share);
    }
    if (HasFloatPixels(in) && HasFloatPixels(out)) {
      BilinearChannelsLast(context, u, align_corners, room);
      return absl::OkStatus();
    }
    const BlendedColumns columns = {room.first, room.second, room.share,
                                    static_cast<size_t>(out_width)};
    const double step = StepOf(u.axes[0], align_corners);
    const bool copied_rows = IsCopied(u.axes[0]), copied_columns = IsCopied(u.axes[1]);
    const auto in_place = [](const TensorView& t) {
      return t.dtype == DType::kFloat32 && t.strides[3] == 1;
    };
    const bool read_in_place = in_place(in), write_in_place = in_place(out);
    ForEachRow(context, out, false, [&](const ImageRow& at) {
      const auto& [part, n, c, y, follows] = at;
      const Room::Rows mine = room.Of(part);
      const Neighbors v = LinearNeighbors(u.axes[0], step, y, align_corners);
      const float *a, *b;
      if (read_in_place) {
        const float* const plane = in.as<const float>() + n * in.strides[0] + c * in.strides[1];
        a = plane + v.first * in.strides[2];
        b = plane + v.second * in.strides[2];
      } else {
        a = FloatsOf(RowOf(in, n, c, v.first), mine.rows[0]);
        b = FloatsOf(RowOf(in, n, c, v.second), mine.rows[1]);
      }
      float* to = mine.result;
      if (write_in_place) {
        to = out.as<float>() + n * out.strides[0] + c * out.strides[1] + y * out.strides[2];
      }
      if (copied_rows && copied_columns) {
        std::memcpy(to, a, static_cast<size_t>(width) * sizeof(float));
      } else if (copied_columns) {
        BlendRows(a, b, static_cast<float>(v.share), static_cast<size_t>(width), to);
      } else {
        BlendImageRow(a, copied_rows ? nullptr : b, static_cast<float>(v.share),
                      static_cast<size_t>(width), columns, mine.blend, to);
      }
      if (write_in_place) return;
      const TensorView row = RowOf(out, n, c, y);
      if (row.strides[0] == 1) {
        return StoreFloats(to, static_cast<size_t>(out_width), row.dtype, row.data);
      }
      CopyConvertible(TensorView::Contiguous(DType::kFloat32, row.sizes, to), row);
    });
    return absl::OkStatus();
  }

  static absl::Status Nearest(KernelContext& context, const Upsample& u) {
    const TensorView &in = *u.input, &out = *u.output;
    const size_t bytes = DTypeSize(in.dtype);
    if (out.numel() == 0 || KeepImages(context, u, [&](int64_t first, int64_t last) {
          std::memcpy(ElementAddress(out, first), ElementAddress(in, first),
                      static_cast<size_t>(last - first) * bytes);
        })) {
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const Room room, RoomOf(context, in, out.sizes[3]));
    for (int64_t x = 0; x < out.sizes[3]; ++x) room.place[x] = NearestIndex(u.axes[1], x);
    const bool pixels = in.sizes[1] > 1 && IsChannelsLast(in) && IsChannelsLast(out);
    const size_t pixel = pixels ? static_cast<size_t>(in.sizes[1]) * bytes : bytes;
    const auto width = static_cast<size_t>(out.sizes[3]);
    const bool contiguous_rows = pixels || out.strides[3] == 1;
    const bool twice = !pixels && in.strides[3] == 1 && contiguous_rows &&
                       out.sizes[3] / 2 == in.sizes[3] && out.sizes[3] % 2 == 0;
    ForEachRow(context, out, pixels, [&](const ImageRow& at) {
      const auto& [part, n, c, y, follows] = at;
      const int64_t source = NearestIndex(u.axes[0], y);
      const TensorView from = RowOf(in, n, c, source), to = RowOf(out, n, c, y);
      if (follows && contiguous_rows && source == NearestIndex(u.axes[0], y - 1)) {
        std::memcpy(to.data, RowOf(out, n, c, y - 1).data, width * pixel);
        return;
      }
      if (twice) return RepeatEach(from.data, width / 2, bytes, to.data);
      if (!pixels) {
        return GatherRow(from.data, from.strides[0], 0, room.place, width, bytes, to.data,
                         to.strides[0]);
      }
      for (size_t x = 0; x < width; ++x) {
        std::memcpy(to.as<std::byte>() + x * pixel,
                    from.as<const std::byte>() + static_cast<size_t>(room.place[x]) * pixel, pixel);
      }
    });
    return absl::OkStatus();
  }
};

bool AcceptsNearest(const KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  return kTypes.contains(call.input->dtype) && call.input->rank() == 4;
}
bool AcceptsBilinear(const KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  return AcceptsNearest(context, call) && call.input->dtype != DType::kUint8;
}

uint64_t Scratch(const KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 4) return 0;
  return ScratchBytesOf<std::byte>(RoomBytes(context, *call.input, (*out)->sizes[3]));
}

template <int kSpatial>
bool AcceptsGridSample(const KernelContext& context,
                       const GridSampleCall<KernelArguments, kSpatial>& call) {
  return AcceptsGrid(context, *call.input, *call.grid);
}
template <int kSpatial>
constexpr Kernel GridSampler(std::string_view op, std::string_view name) {
  return KernelRow<&GridSample<kSpatial>, &AcceptsGridSample<kSpatial>, &GridScratch<kSpatial>>(
      op, "input grid interpolation_mode padding_mode align_corners", name, KernelEngine::kHighway);
}

constexpr Kernel Bilinear(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<&UpsampleBilinear<Engine>, &AcceptsBilinear, &Scratch>(op, signature, name,
                                                                          KernelEngine::kHighway);
}
constexpr Kernel Nearest(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<&UpsampleNearest<Engine>, &AcceptsNearest, &Scratch>(op, signature, name,
                                                                        KernelEngine::kHighway);
}

template <class Filter>
constexpr Kernel Antialiased(std::string_view op, std::string_view name) {
  return KernelRow<&ResizeAntialiased<Filter>, &AcceptsAntialiased, &AntialiasedScratch<Filter>>(
      op, kUpsampleBilinear, name, KernelEngine::kHighway);
}

constexpr Kernel kKernels[] = {
    Antialiased<CubicFilter>("aten._upsample_bicubic2d_aa.default",
                             "UpsampleBicubic2dAntialiasedSimd"),
    Antialiased<TriangleFilter>("aten._upsample_bilinear2d_aa.default",
                                "UpsampleBilinear2dAntialiasedSimd"),
    Antialiased<LanczosFilter>("aten._upsample_lanczos2d_aa.default",
                               "UpsampleLanczos2dAntialiasedSimd"),
    KernelRow<&Fold, &AcceptsFold>("aten.col2im.default",
                                   "self output_size kernel_size dilation padding stride",
                                   "Col2ImSimd", KernelEngine::kHighway),
    GridSampler<2>("aten.grid_sampler_2d.default", "GridSampler2dSimd"),
    GridSampler<3>("aten.grid_sampler_3d.default", "GridSampler3dSimd"),
    Bilinear("aten.upsample_bilinear2d.vec", kUpsampleBilinearVec, "UpsampleBilinear2dVecSimd"),
    Bilinear("aten.upsample_bilinear2d.default", kUpsampleBilinear, "UpsampleBilinear2dSimd"),
    Nearest("aten.upsample_nearest2d.vec", kUpsampleNearestVec, "UpsampleNearest2dVecSimd"),
    Nearest("aten.upsample_nearest2d.default", kUpsampleNearest, "UpsampleNearest2dSimd"),
};

}  // namespace

absl::Span<const Kernel> ResizeHighwayKernels() { return kKernels; }

}  // namespace belay
