// Filters of antialiased resampling, shared by all engines.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_ANTIALIAS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_ANTIALIAS_H_

#include <cmath>
#include <cstdint>
#include <numbers>

#include "runtime/kernels/operands/upsample_kernels.h"

namespace belay {

// Filters: weights of the pixels around a position by their distance. The unit is input pixels or,
// when downscaling, output pixels.
struct TriangleFilter {
  static constexpr double kReach = 1;
  static double At(double x) { return std::fmax(1 - std::fabs(x), 0); }
};
struct CubicFilter {
  static constexpr double kReach = 2;
  static double At(double x) {
    constexpr double kA = -0.5;
    x = std::fabs(x);
    if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
  }
};
struct LanczosFilter {
  static constexpr double kReach = 3;
  static double At(double x) {
    const auto sinc = [](double v) {
      const double angle = v * std::numbers::pi;
      return v == 0 ? 1 : std::sin(angle) / angle;
    };
    return std::fabs(x) < kReach ? sinc(x) * sinc(x / kReach) : 0;
  }
};

// A filter centered at a position.
template <class Filter>
struct Window {
  int64_t first = 0, last = 0;
  double center = 0, inverse = 1, total = 0;
  double operator()(int64_t i) const {
    return Filter::At((static_cast<double>(i) - center + 0.5) * inverse);
  }
};

template <class Filter>
Window<Filter> WindowAt(const Axis& axis, int64_t place, bool align_corners) {
  // A dimension of unchanged size is copied, whatever the scale.
  if (axis.in == axis.out) return {place, place + 1, static_cast<double>(place) + 0.5, 1, 1};
  const double step = StepOf(axis, align_corners), width = std::fmax(step, 1);
  const double support = width * Filter::kReach;
  Window<Filter> t;
  t.center = step * (static_cast<double>(place) + 0.5);
  t.inverse = 1 / width;
  t.first = LimitedIndex(t.center - support + 0.5, 0, axis.in);
  t.last = LimitedIndex(t.center + support + 0.5, t.first, axis.in);
  for (int64_t i = t.first; i < t.last; ++i) t.total += t(i);
  return t;
}

// If the result has one column, all its rows are blended with the weights of the first row. PyTorch
// does so on one thread, since its row loop then runs down the column. This does not apply if the
// height is unchanged or the layout is channels-last.
inline bool BlendsFirstRowOnly(const Upsample& u) {
  const bool channels_last = u.output->strides[1] == 1 && u.output->sizes[1] > 1;
  return u.axes[1].out == 1 && u.axes[0].in != u.axes[0].out && !channels_last;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_ANTIALIAS_H_
