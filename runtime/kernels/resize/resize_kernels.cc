#include <algorithm>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernel/shape_rules/resample.h"
#include "runtime/kernels/call/upsample_kernels.h"
#include "runtime/kernels/elements/copy_strided.h"
#include "runtime/kernels/elements/run_source.h"
#include "runtime/kernels/resize/resize.h"
#include "runtime/kernels/select/select.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kUint8};

// Scratch memory for rows of `in` and `out` elements. It has positions and weights of the columns,
// two rows of the input, their blend, and a row of the output.
struct Room {
  int64_t* place;           // [out], for nearest neighbor
  int32_t *first, *second;  // [out]
  float* share;             // [out]
  float *rows[2], *blend;   // [in]
  float* result;            // [out]
};

uint64_t RoomBytes(int64_t in, int64_t out) {
  return static_cast<uint64_t>(out) * (sizeof(int64_t) + 2 * sizeof(int32_t) + 2 * sizeof(float)) +
         static_cast<uint64_t>(in) * 3 * sizeof(float);
}

absl::StatusOr<Room> RoomOf(const KernelContext& context, int64_t in, int64_t out) {
  ABSL_ASSIGN_OR_RETURN(std::byte * at,
                        ScratchArray<std::byte>(context, static_cast<int64_t>(RoomBytes(in, out))));
  const auto take = [&at](auto*& part, int64_t count) {
    part = reinterpret_cast<std::remove_reference_t<decltype(part)>>(at);
    at += static_cast<size_t>(count) * sizeof(*part);
  };
  Room room;
  take(room.place, out);
  take(room.first, out);
  take(room.second, out);
  take(room.share, out);
  take(room.rows[0], in);
  take(room.rows[1], in);
  take(room.blend, in);
  take(room.result, out);
  return room;
}

// Returns a row of an image.
TensorView RowOf(const TensorView& t, int64_t n, int64_t c, int64_t y) {
  TensorView row = t;
  row.sizes = {t.sizes[3]};
  row.strides = {t.strides[3]};
  row.data = ElementAddress(t, n * t.strides[0] + c * t.strides[1] + y * t.strides[2]);
  return row;
}

// Returns the row as floats, in place or in `room`.
const float* FloatsOf(const TensorView& row, float* room) {
  if (row.dtype == DType::kFloat32 && row.strides[0] == 1) return row.as<const float>();
  CopyConvertible(row, TensorView::Contiguous(DType::kFloat32, row.sizes, room));
  return room;
}

struct Engine {
  static absl::Status Bilinear(KernelContext& context, const Upsample& u, bool align_corners) {
    const TensorView &in = *u.input, &out = *u.output;
    if (out.numel() == 0) return absl::OkStatus();
    const int64_t width = in.sizes[3], out_width = out.sizes[3];
    if (width > std::numeric_limits<int32_t>::max())
      return absl::InvalidArgumentError("upsample: the image is too wide");
    ABSL_ASSIGN_OR_RETURN(const Room room, RoomOf(context, width, out_width));
    for (int64_t x = 0; x < out_width; ++x) {
      const Neighbors h = LinearNeighbors(u.axes[1], x, align_corners);
      room.first[x] = static_cast<int32_t>(h.first);
      room.second[x] = static_cast<int32_t>(h.second);
      room.share[x] = static_cast<float>(h.share);
    }
    for (int64_t n = 0; n < out.sizes[0]; ++n) {
      for (int64_t c = 0; c < out.sizes[1]; ++c) {
        for (int64_t y = 0; y < out.sizes[2]; ++y) {
          const Neighbors v = LinearNeighbors(u.axes[0], y, align_corners);
          const float* const a = FloatsOf(RowOf(in, n, c, v.first), room.rows[0]);
          const float* const b = FloatsOf(RowOf(in, n, c, v.second), room.rows[1]);
          BlendRows(a, b, static_cast<float>(v.share), static_cast<size_t>(width), room.blend);
          const TensorView row = RowOf(out, n, c, y);
          const bool direct = row.dtype == DType::kFloat32 && row.strides[0] == 1;
          float* to = direct ? row.as<float>() : room.result;
          BlendColumns(room.blend, room.first, room.second, room.share,
                       static_cast<size_t>(out_width), to);
          if (!direct) {
            CopyConvertible(TensorView::Contiguous(DType::kFloat32, row.sizes, to), row);
          }
        }
      }
    }
    return absl::OkStatus();
  }

  static absl::Status Nearest(KernelContext& context, const Upsample& u) {
    const TensorView &in = *u.input, &out = *u.output;
    if (out.numel() == 0) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(const Room room, RoomOf(context, in.sizes[3], out.sizes[3]));
    for (int64_t x = 0; x < out.sizes[3]; ++x) room.place[x] = NearestIndex(u.axes[1], x);
    for (int64_t n = 0; n < out.sizes[0]; ++n) {
      for (int64_t c = 0; c < out.sizes[1]; ++c) {
        for (int64_t y = 0; y < out.sizes[2]; ++y) {
          const TensorView from = RowOf(in, n, c, NearestIndex(u.axes[0], y)),
                           to = RowOf(out, n, c, y);
          GatherRow(from.data, from.strides[0], 0, room.place, static_cast<size_t>(to.sizes[0]),
                    DTypeSize(in.dtype), to.data, to.strides[0]);
        }
      }
    }
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
  return RoomBytes(call.input->sizes[3], (*out)->sizes[3]);
}

constexpr Kernel Bilinear(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<&UpsampleBilinear<Engine>, &AcceptsBilinear, &Scratch>(op, signature, name,
                                                                          KernelEngine::kHighway);
}
constexpr Kernel Nearest(std::string_view op, std::string_view signature, std::string_view name) {
  return KernelRow<&UpsampleNearest<Engine>, &AcceptsNearest, &Scratch>(op, signature, name,
                                                                        KernelEngine::kHighway);
}

constexpr Kernel kKernels[] = {
    Bilinear("aten.upsample_bilinear2d.vec", kUpsampleBilinearVec, "UpsampleBilinear2dVecSimd"),
    Bilinear("aten.upsample_bilinear2d.default", kUpsampleBilinear, "UpsampleBilinear2dSimd"),
    Nearest("aten.upsample_nearest2d.vec", kUpsampleNearestVec, "UpsampleNearest2dVecSimd"),
    Nearest("aten.upsample_nearest2d.default", kUpsampleNearest, "UpsampleNearest2dSimd"),
};

}  // namespace

absl::Span<const Kernel> ResizeHighwayKernels() { return kKernels; }

}  // namespace belay
