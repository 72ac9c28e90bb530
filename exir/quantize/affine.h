// Affine quantization of numbers: real = scale * (q - zero_point).
//
// Formulas, ranges and rounding are those of torchao 0.18, all in float32:
//   scale    choose_qparams_affine (torchao/quantization/quant_primitives.py), which equals
//            UniformQuantizationObserverBase (torchao/quantization/pt2e/observer.py)
//   q        round_half_even(x * (1 / scale)) + zero_point, clamped to the range (quantize_affine)
// One deviation: torchao's Intx configurations allow scales down to the smallest normal number.
// Here every scale is at least 2^-23. Otherwise products of scales could underflow in backends if
// all elements of a row are 0.
//
// All functions are thread-safe and deterministic.
#ifndef BELAY_EXIR_QUANTIZE_AFFINE_H_
#define BELAY_EXIR_QUANTIZE_AFFINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/core/thread_pool.h"

namespace belay::exir {

// Inclusive limits of quantized numbers, within those of int8.
struct QuantizedRange {
  int32_t low = -128, high = 127;
  bool operator==(const QuantizedRange&) const = default;
};

struct AffineParameters {
  float scale = 1;
  int32_t zero_point = 0;
  bool operator==(const AffineParameters&) const = default;
};

inline constexpr float kMinScale = 0x1p-23F;  // eps of float32, the default of torchao's observers

// Returns the parameters for reals from `low` to `high`; 0 is always representable.
//   symmetric:  scale = max(-low, high) / ((range.high - range.low) / 2), zero_point = 0
//   otherwise:  scale = (high - low) / (range.high - range.low)
//               zero_point = range.low - round(low / scale), clamped to the range
// The scale is at least kMinScale. Precondition: finite, low <= high.
AffineParameters ChooseAffine(float low, float high, bool symmetric, QuantizedRange range);

// Whether x is outside of the representable reals by more than half a step.
bool IsClamped(float x, AffineParameters parameters, QuantizedRange range);

int32_t QuantizeNumber(float x, AffineParameters parameters, QuantizedRange range);
inline float DequantizeNumber(int32_t q, AffineParameters parameters) {
  return static_cast<float>(q - parameters.zero_point) * parameters.scale;
}

// How the scale of a group of elements is chosen.
enum class ScaleSearch : uint8_t {
  kRange,         // ChooseAffine of the smallest and largest element
  kSquaredError,  // least sum of squared errors
};

struct RowsOptions {
  QuantizedRange range = {};
  int64_t group_size = 0;  // elements of a row that share parameters; 0: the whole row
  bool symmetric = true;
  ScaleSearch search = ScaleSearch::kRange;
  bool operator==(const RowsOptions&) const = default;
};

// Sums over the elements of a tensor.
struct QuantizationLoss {
  double signal = 0;     // sum of x^2
  double noise = 0;      // sum of (x - dequantized)^2
  double max_error = 0;  // max of |x - dequantized|
  uint64_t elements = 0;
  uint64_t clamped = 0;  // elements outside of the representable reals by more than half a step

  void Add(float x, float dequantized);  // does not change `clamped`
  void Add(const QuantizationLoss& other);
  // Signal-to-noise ratio in dB: 10 * log10(signal / noise). Infinite without noise.
  double SnrDb() const;
};

// Returns the parameters of elements that share them. Precondition: all are finite.
AffineParameters ChooseForGroup(absl::Span<const float> group, const RowsOptions& options);

struct QuantizedRows {
  std::vector<std::byte> elements;  // int8 [rows, columns]
  std::vector<float> scales;        // [rows, groups]
  std::vector<int8_t> zero_points;  // [rows, groups]; empty if symmetric
  QuantizationLoss loss;
};

// Quantizes a row-major matrix [rows, columns].
//
// kSquaredError compares the parameters of kRange with those of ranges from 1.08 to 0.62 times as
// large, and replaces the best scale by the least-squares solution sum(x * n) / sum(n * n) of
// n = q - zero_point if that is better. So its error is at most that of kRange.
//
// Preconditions: `columns` > 0, divides `elements.size()`, and is a multiple of the group size;
// all elements are finite. O(elements), times 26 for kSquaredError. `threads` work on it unless it is
// null; the result does not depend on them.
QuantizedRows QuantizeRows(absl::Span<const float> elements, int64_t columns,
                           const RowsOptions& options, ThreadPool* threads = nullptr);

// Rounds to bfloat16, to nearest even. Returns the elements' bits.
std::vector<std::byte> RoundToBFloat16(absl::Span<const float> elements, QuantizationLoss& loss);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_AFFINE_H_
