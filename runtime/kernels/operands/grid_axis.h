// Positions and weights of grid_sampler_2d and grid_sampler_3d.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_GRID_AXIS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_GRID_AXIS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace belay {

enum GridInterpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum GridPadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Reflects `x` into [low, high], as between two mirrors.
inline double Reflect(double x, double low, double high) {
  if (low == high) return 0;
  const double span = high - low, distance = std::fabs(x - low);
  const double turns = distance / span;
  // Near the image the remainder is one exact subtraction.
  if (turns < 2 && distance < 2 * span) {
    const double rest = distance < span ? distance : distance - span;
    return turns >= 1 ? span - rest + low : rest + low;
  }
  const double rest = std::fmod(distance, span);
  const bool back = std::fmod(std::floor(turns), 2) != 0;
  return back ? span - rest + low : rest + low;
}

// Sampling rules of one dimension of the input; positions are in pixels.
struct GridAxis {
  int64_t size = 1;
  int64_t padding = kZeros;
  bool align_corners = false;

  bool narrow = false;  // positions in float, to select PyTorch's nearest pixel
  bool volume = false;  // of grid_sampler_3d

  double FromGrid(double x) const {
    return narrow ? Unnormalized(static_cast<float>(x)) : Unnormalized(x);
  }
  template <class T>
  T Unnormalized(T x) const {
    if (align_corners) return (x + 1) * (static_cast<T>(size - 1) / 2);
    return (x + 1) * (static_cast<T>(size) / 2) - T(0.5);
  }
  double Padded(double x) const {
    const double last = static_cast<double>(size - 1);
    if (padding == kReflection)
      x = align_corners ? Reflect(x, 0, last) : Reflect(x, -0.5, last + 0.5);
    if (padding == kZeros) return x;
    // PyTorch clamps NaN to the first element of an image and the last of a volume.
    if (std::isnan(x)) return volume ? last : 0;
    return std::clamp(x, 0.0, last);
  }
  // Index of an integral position, or -1 outside the image.
  int64_t Index(double x) const {
    return x >= 0 && x < static_cast<double>(size) ? static_cast<int64_t>(x) : -1;
  }
};

// Weights of the four neighbors of a position at distance `t` after the second one.
inline void CubicWeights(double t, double (&w)[4]) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  w[0] = far(t + 1);
  w[1] = near(t);
  w[2] = near(1 - t);
  w[3] = far(2 - t);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_GRID_AXIS_H_
