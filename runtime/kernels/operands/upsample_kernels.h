// upsample_nearest2d and upsample_bilinear2d, shared by all engines and parameterized by the loops
// that fill the output. An engine has the static functions
//   absl::Status Bilinear(KernelContext& context, const Upsample& u, bool align_corners);
//   absl::Status Nearest(KernelContext& context, const Upsample& u);
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_UPSAMPLE_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_UPSAMPLE_KERNELS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/resample.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// Rounds `x` towards zero and clamps it to [low, high]; NaN gives `low`.
inline int64_t LimitedIndex(double x, int64_t low, int64_t high) {
  if (!(x > static_cast<double>(low))) return low;
  return x < static_cast<double>(high) ? static_cast<int64_t>(x) : high;
}

// Sizes of one dimension of an image before and after resampling.
struct Axis {
  int64_t in = 1, out = 1;
  std::optional<double> scale;  // out / in, if the caller gave it
};

struct Upsample {
  const TensorView* input = nullptr;
  const TensorView* output = nullptr;
  Axis axes[2];  // height, width
};

inline absl::StatusOr<Upsample> MakeUpsample(KernelContext& context,
                                             const UpsampleCall<KernelArguments>& call) {
  Upsample u;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(u.output, OutputOf(context, 0, call.input->dtype, shape));
  u.input = call.input;
  for (int d = 0; d < 2; ++d) {
    u.axes[d] = {call.input->sizes[d + 2], u.output->sizes[d + 2], call.scales[d]};
  }
  return u;
}

// Input positions per output position.
inline double StepOf(const Axis& axis, bool align_corners) {
  if (align_corners) {
    return axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
  }
  if (axis.scale.has_value() && *axis.scale > 0) return 1 / *axis.scale;
  return static_cast<double>(axis.in) / static_cast<double>(axis.out);
}

// Two neighbors of a position and the weight of the second.
struct Neighbors {
  int64_t first = 0, second = 0;
  double share = 0;
};

// Whether no neighbors are blended along the dimension, so that infinities stay: the caller gave
// the scale 1. As in PyTorch, other unchanged dimensions blend each element with 0 times itself.
inline bool IsCopied(const Axis& axis) { return axis.in == axis.out && axis.scale == 1.0; }

// A dimension of unchanged size is at its elements, whatever the scale. `step` is
// StepOf(axis, align_corners).
inline Neighbors LinearNeighbors(const Axis& axis, double step, int64_t place, bool align_corners) {
  if (axis.in == axis.out) return {place, place, 0};
  const double at = align_corners ? step * static_cast<double>(place)
                                  : std::fmax(step * (static_cast<double>(place) + 0.5) - 0.5, 0);
  Neighbors n;
  n.first = LimitedIndex(at, 0, axis.in - 1);
  n.second = std::min(n.first + 1, axis.in - 1);
  n.share = std::clamp(at - static_cast<double>(n.first), 0.0, 1.0);
  return n;
}

inline Neighbors LinearNeighbors(const Axis& axis, int64_t place, bool align_corners) {
  return LinearNeighbors(axis, StepOf(axis, align_corners), place, align_corners);
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
absl::Status UpsampleBilinear(KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Upsample u, MakeUpsample(context, call));
  return Engine::Bilinear(context, u, call.align_corners);
}

template <class Engine>
absl::Status UpsampleNearest(KernelContext& context, const UpsampleCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Upsample u, MakeUpsample(context, call));
  return Engine::Nearest(context, u);
}

inline constexpr std::string_view kUpsampleBilinear =
    "self output_size align_corners scales_h scales_w";
inline constexpr std::string_view kUpsampleBilinearVec =
    "input output_size align_corners scale_factors";
inline constexpr std::string_view kUpsampleNearest = "self output_size scales_h scales_w";
inline constexpr std::string_view kUpsampleNearestVec = "input output_size scale_factors";

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_UPSAMPLE_KERNELS_H_
