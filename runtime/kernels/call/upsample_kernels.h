// upsample_nearest2d and upsample_bilinear2d, by what fills the output: one text for every engine.
// An engine has the static functions
//   absl::Status Bilinear(KernelContext& context, const Upsample& u, bool align_corners);
//   absl::Status Nearest(KernelContext& context, const Upsample& u);
#ifndef BELAY_RUNTIME_KERNELS_CALL_UPSAMPLE_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_CALL_UPSAMPLE_KERNELS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/resample.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/strided_view.h"

namespace belay {

inline constexpr DTypeSet kImageTypes = kFloatTypes | DTypeSet{DType::kUint8};

// `x` rounded towards zero and limited to [low, high]; NaN gives `low`.
inline int64_t LimitedIndex(double x, int64_t low, int64_t high) {
  if (!(x > static_cast<double>(low))) return low;
  return x < static_cast<double>(high) ? static_cast<int64_t>(x) : high;
}

// One dimension of an image and of its resampled version.
struct Axis {
  int64_t in = 1, out = 1;
  std::optional<double> scale;  // out / in as the caller gave it
};

struct Upsample {
  const TensorView* input = nullptr;
  const TensorView* output = nullptr;
  Axis axes[2];  // height, width
};

inline absl::StatusOr<Upsample> MakeUpsample(KernelContext& context, const TensorView& input,
                                             absl::Span<const CheckedInt> size) {
  Upsample u;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        UpsampleShape<CheckedInt>(ToDims(input.sizes), size));
  ABSL_ASSIGN_OR_RETURN(u.output, OutputOf(context, 0, input.dtype, shape));
  u.input = &input;
  for (int d = 0; d < 2; ++d) {
    u.axes[d].in = input.sizes[d + 2];
    u.axes[d].out = u.output->sizes[d + 2];
  }
  return u;
}

// Either an output size (argument 1) or a list of two scales (`scales_at`).
inline absl::StatusOr<Upsample> UpsampleVec(KernelContext& context, DTypeSet allowed,
                                            int scales_at) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", allowed));
  if (context.is_none(1) == context.is_none(scales_at)) {
    return absl::InvalidArgumentError("upsample: expected one of output_size and scale_factors");
  }
  if (!context.is_none(1)) {
    ABSL_ASSIGN_OR_RETURN(const Sizes size, context.IntList(1));
    return MakeUpsample(context, *input, ToDims(size));
  }
  ABSL_ASSIGN_OR_RETURN(const ListView list, context.List(scales_at));
  if (list.elements.size() != 2 || input->rank() != 4) {
    return absl::InvalidArgumentError(
        "upsample: expected an input of rank 4 and two scale factors");
  }
  double scales[2];
  Dims<CheckedInt> size;
  for (int d = 0; d < 2; ++d) {
    const EValue* element = list.elements[d];
    const double* scale = element == nullptr ? nullptr : element->get_if<double>();
    if (scale == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("scale_factors: element ", d, " is no float"));
    }
    scales[d] = *scale;
    size.push_back(ScaledSize(input->sizes[d + 2], *scale));
  }
  ABSL_ASSIGN_OR_RETURN(Upsample u, MakeUpsample(context, *input, size));
  for (int d = 0; d < 2; ++d) u.axes[d].scale = scales[d];
  return u;
}

// An output size (argument 1) and perhaps scales (`scales_at` and after it) that refine places.
inline absl::StatusOr<Upsample> UpsampleSized(KernelContext& context, DTypeSet allowed,
                                              int scales_at) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "self", allowed));
  ABSL_ASSIGN_OR_RETURN(const Sizes size, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(Upsample u, MakeUpsample(context, *input, ToDims(size)));
  for (int d = 0; d < 2; ++d) {
    if (context.is_none(scales_at + d)) continue;
    ABSL_ASSIGN_OR_RETURN(u.axes[d].scale, context.Double(scales_at + d));
  }
  return u;
}

// Input places per output place.
inline double StepOf(const Axis& axis, bool align_corners) {
  if (align_corners) {
    return axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
  }
  if (axis.scale.has_value() && *axis.scale > 0) return 1 / *axis.scale;
  return static_cast<double>(axis.in) / static_cast<double>(axis.out);
}

// The two neighbors of a place and the share of the second.
struct Neighbors {
  int64_t first = 0, second = 0;
  double share = 0;
};

// A size that stays is copied, whatever the scale.
inline Neighbors LinearNeighbors(const Axis& axis, int64_t place, bool align_corners) {
  if (axis.in == axis.out) return {place, place, 0};
  const double step = StepOf(axis, align_corners);
  const double at = align_corners ? step * static_cast<double>(place)
                                  : std::fmax(step * (static_cast<double>(place) + 0.5) - 0.5, 0);
  Neighbors n;
  n.first = LimitedIndex(at, 0, axis.in - 1);
  n.second = std::min(n.first + 1, axis.in - 1);
  n.share = std::clamp(at - static_cast<double>(n.first), 0.0, 1.0);
  return n;
}

inline int64_t NearestIndex(const Axis& axis, int64_t place) {
  if (axis.out == axis.in) return place;
  if (axis.out / 2 == axis.in && axis.out % 2 == 0) return place / 2;
  const float step = axis.scale.has_value() && *axis.scale > 0
                         ? static_cast<float>(1 / *axis.scale)
                         : static_cast<float>(axis.in) / static_cast<float>(axis.out);
  return LimitedIndex(std::floor(static_cast<float>(place) * step), 0, axis.in - 1);
}

template <class Engine>
absl::Status UpsampleBilinearVec(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(const bool align_corners, context.Bool(2));
  ABSL_ASSIGN_OR_RETURN(const Upsample u, UpsampleVec(context, kImageTypes, 3));
  return Engine::Bilinear(context, u, align_corners);
}

template <class Engine>
absl::Status UpsampleBilinear(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const bool align_corners, context.Bool(2));
  ABSL_ASSIGN_OR_RETURN(const Upsample u, UpsampleSized(context, kImageTypes, 3));
  return Engine::Bilinear(context, u, align_corners);
}

template <class Engine>
absl::Status UpsampleNearestVec(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const Upsample u, UpsampleVec(context, kImageTypes, 2));
  return Engine::Nearest(context, u);
}

template <class Engine>
absl::Status UpsampleNearest(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(const Upsample u, UpsampleSized(context, kImageTypes, 2));
  return Engine::Nearest(context, u);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_UPSAMPLE_KERNELS_H_
