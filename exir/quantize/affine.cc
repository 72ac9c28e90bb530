#include "exir/quantize/affine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/core/element.h"

namespace belay::exir {
namespace {

constexpr int kLanes = 8;

// Rounds half to even. Precondition: |x| < 2^22. Adding and subtracting 1.5 * 2^23 rounds to an
// integer; unlike std::nearbyint, compilers vectorize it for every x86 CPU.
inline float RoundHalfEven(float x) { return (x + 0x1.8p23F) - 0x1.8p23F; }

// std::clamp by value: compiles to minimum and maximum instructions.
inline float Bounded(float x, float low, float high) {
  const float above = x < low ? low : x;
  return above > high ? high : above;
}

// Returns q as a float. Clamping first to a wider range keeps RoundHalfEven's precondition.
inline float Quantized(float x, float inverse, float zero_point, float low, float high) {
  return Bounded(RoundHalfEven(Bounded(x * inverse, -0x1p20F, 0x1p20F)) + zero_point, low, high);
}

struct Limits {
  float low = 0, high = 0;
};
Limits LimitsOf(absl::Span<const float> group) {
  Limits limits;  // 0 is always included
  for (float x : group) {
    limits.low = std::min(limits.low, x);
    limits.high = std::max(limits.high, x);
  }
  return limits;
}

// Sums for one choice of parameters: of squared errors, and for the least-squares scale.
struct Fit {
  float error = 0, cross = 0, square = 0;
};
Fit FitOf(absl::Span<const float> group, AffineParameters p, QuantizedRange range) {
  const float inverse = 1.0F / p.scale, zero = static_cast<float>(p.zero_point);
  const float low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  // Independent lanes, so that the sums are vectorized without reordering.
  std::array<float, kLanes> error = {}, cross = {}, square = {};
  const auto add = [&](const float* x, size_t lanes) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      const float n = Quantized(x[lane], inverse, zero, low, high) - zero;
      const float difference = x[lane] - n * p.scale;
      error[lane] += difference * difference;
      cross[lane] += x[lane] * n;
      square[lane] += n * n;
    }
  };
  size_t i = 0;
  for (; i + kLanes <= group.size(); i += kLanes) add(group.data() + i, kLanes);
  add(group.data() + i, group.size() - i);
  Fit fit;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    fit.error += error[lane];
    fit.cross += cross[lane];
    fit.square += square[lane];
  }
  return fit;
}

}  // namespace

AffineParameters ChooseAffine(float low, float high, bool symmetric, QuantizedRange range) {
  low = std::min(low, 0.0F);
  high = std::max(high, 0.0F);
  const float steps = static_cast<float>(range.high - range.low);
  if (symmetric) {
    return {std::max(std::max(-low, high) / (steps / 2), kMinScale), 0};
  }
  // Unlike high - low, the difference of halves cannot overflow.
  const float scale = std::max((high / 2 - low / 2) / (steps / 2), kMinScale);
  const float zero_point = static_cast<float>(range.low) - std::nearbyint(low / scale);
  return {scale, static_cast<int32_t>(std::clamp(zero_point, static_cast<float>(range.low),
                                                 static_cast<float>(range.high)))};
}

int32_t QuantizeNumber(float x, AffineParameters parameters, QuantizedRange range) {
  return static_cast<int32_t>(
      Quantized(x, 1.0F / parameters.scale, static_cast<float>(parameters.zero_point),
                static_cast<float>(range.low), static_cast<float>(range.high)));
}

double QuantizationLoss::SnrDb() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

AffineParameters ChooseForGroup(absl::Span<const float> group, const RowsOptions& options) {
  const Limits limits = LimitsOf(group);
  AffineParameters best = ChooseAffine(limits.low, limits.high, options.symmetric, options.range);
  if (options.search == ScaleSearch::kRange) return best;
  Fit fit = FitOf(group, best, options.range);
  constexpr int kCandidates = 24;
  for (int i = 0; i < kCandidates; ++i) {
    const float factor = 1.08F - 0.02F * static_cast<float>(i);
    const AffineParameters candidate =
        ChooseAffine(limits.low * factor, limits.high * factor, options.symmetric, options.range);
    const Fit other = FitOf(group, candidate, options.range);
    if (other.error < fit.error) {
      best = candidate;
      fit = other;
    }
  }
  if (fit.square > 0) {
    const AffineParameters refined = {std::max(fit.cross / fit.square, kMinScale), best.zero_point};
    if (FitOf(group, refined, options.range).error < fit.error) best = refined;
  }
  return best;
}

bool IsClamped(float x, AffineParameters p, QuantizedRange range) {
  return x < DequantizeNumber(range.low, p) - p.scale / 2 ||
         x > DequantizeNumber(range.high, p) + p.scale / 2;
}

void QuantizationLoss::Add(float element, float dequantized) {
  const double x = element, error = std::abs(x - double{dequantized});
  signal += x * x;
  noise += error * error;
  max_error = std::max(max_error, error);
  ++elements;
}

void QuantizationLoss::Add(const QuantizationLoss& other) {
  signal += other.signal;
  noise += other.noise;
  max_error = std::max(max_error, other.max_error);
  elements += other.elements;
  clamped += other.clamped;
}

QuantizedRows QuantizeRows(absl::Span<const float> elements, int64_t columns,
                           const RowsOptions& options, ThreadPool* threads) {
  const auto group_size =
      static_cast<size_t>(options.group_size == 0 ? columns : options.group_size);
  const size_t groups = elements.size() / group_size;
  QuantizedRows result;
  result.elements.resize(elements.size());
  result.scales.resize(groups);
  if (!options.symmetric) result.zero_points.resize(groups);
  // Losses are added by part, so that the sums do not depend on threads.
  constexpr size_t kElementsOfPart = size_t{1} << 16;
  const size_t step = std::max<size_t>(kElementsOfPart / group_size, 1);
  std::vector<QuantizationLoss> losses((groups + step - 1) / step);
  const auto quantize = [&](int part) {
    const size_t first = static_cast<size_t>(part) * step;
    for (size_t g = first; g < std::min(first + step, groups); ++g) {
      const absl::Span<const float> group = elements.subspan(g * group_size, group_size);
      const AffineParameters p = ChooseForGroup(group, options);
      result.scales[g] = p.scale;
      if (!options.symmetric) result.zero_points[g] = static_cast<int8_t>(p.zero_point);
      QuantizationLoss& loss = losses[static_cast<size_t>(part)];
      for (size_t i = 0; i < group.size(); ++i) {
        const int32_t q = QuantizeNumber(group[i], p, options.range);
        result.elements[g * group_size + i] = static_cast<std::byte>(static_cast<int8_t>(q));
        loss.Add(group[i], DequantizeNumber(q, p));
        loss.clamped += IsClamped(group[i], p, options.range) ? 1 : 0;
      }
    }
  };
  const int parts = static_cast<int>(losses.size());
  if (threads != nullptr) {
    threads->Run(parts, quantize);
  } else {
    for (int part = 0; part < parts; ++part) quantize(part);
  }
  for (const QuantizationLoss& loss : losses) result.loss.Add(loss);
  return result;
}

std::vector<std::byte> RoundToBFloat16(absl::Span<const float> elements, QuantizationLoss& loss) {
  std::vector<std::byte> bytes(elements.size() * sizeof(uint16_t));
  for (size_t i = 0; i < elements.size(); ++i) {
    const uint16_t bits = FloatToBFloat16Bits(elements[i]);
    std::memcpy(bytes.data() + i * sizeof(bits), &bits, sizeof(bits));
    loss.Add(elements[i], BFloat16BitsToFloat(bits));
  }
  return bytes;
}

}  // namespace belay::exir
