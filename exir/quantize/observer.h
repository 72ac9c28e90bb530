// Observers: the range of an activation, from the values of calibration runs.
//
// Source: torchao 0.18, torchao/quantization/pt2e/observer.py: MinMaxObserver,
// MovingAverageMinMaxObserver (averaging constant 0.01) and HistogramObserver (2048 bins, 256
// levels). Histograms are summed in double instead of float32. Not of torchao: the range of least
// error, and the percentile, which cuts equal shares of the elements from both ends.
#ifndef BELAY_EXIR_QUANTIZE_OBSERVER_H_
#define BELAY_EXIR_QUANTIZE_OBSERVER_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/distribution.h"
#include "exir/quantize/recipe.h"

namespace belay::exir {

// Elements that are NaN or infinite are ignored. Deterministic in the order of calls.
// Thread-compatible.
class Observer {
 public:
  // `percentile`: Recipe::percentile.
  explicit Observer(ObserverKind kind, double percentile = 100)
      : kind_(kind), percentile_(percentile) {}

  // O(values); with a histogram O(values + 32768).
  void Observe(absl::Span<const float> values);

  // The range to quantize; nullopt if no finite value was observed.
  //   kHistogram   torchao's search, which ends at the first step that increases the squared error
  //                of its model of quantization. At most O(bins^2)
  //   kLeastError  a local minimum of the error, from the whole range and from that of kHistogram.
  //                x' = x after quantization, f(x): `results`, for users that compute only f
  //
  //                  sum(|x - x'|^2.25), or with `results` sum((f(x) - f(x'))^2)
  //
  //                The exponent above 2 counts clamped elements more: in transformers, few large
  //                elements decide. GPTQ's implementation has 2.4 (Frantar et al., 2022).
  // Other kinds ignore `results`.
  std::optional<std::pair<float, float>> Range(absl::Span<const float> results = {}) const;

  // kLeastError: points at equal distances, the same number in each bin of the histogram. Empty for
  // other kinds, and if all observed values are equal.
  std::vector<float> Points() const;

  // Returns the distribution of the observed values, without `after`. Empty for kMinMax and
  // kMovingAverage, which count nothing.
  Distribution Observed() const;

  // Returns the loss of quantizing the observed values over a range, by Points(): exact to the width
  // of a bin. Without elements for kMinMax and kMovingAverage.
  QuantizationLoss LossOf(std::pair<float, float> range) const;

 private:
  void AddToHistogram(absl::Span<const float> values, float low, float high);
  bool has_histogram() const {
    return kind_ != ObserverKind::kMinMax && kind_ != ObserverKind::kMovingAverage;
  }
  // First and last bin of a range.
  using Bins = std::pair<int, int>;
  Bins TorchaoSearch() const;
  std::pair<float, float> LeastErrorOf(absl::Span<const float> results, bool is_function) const;
  std::pair<float, float> Percentiles() const;
  double ErrorOf(Bins bins) const;
  // Error of kLeastError. Not a function: `results` are Points().
  double ErrorOf(Bins bins, absl::Span<const float> results, bool is_function) const;
  double BinWidth() const;
  // Element i of Points().
  float Point(int i) const;
  // The range of the bins from `start` to `end`, both inclusive.
  std::pair<float, float> RangeOfBins(Bins bins) const;

  ObserverKind kind_;
  double percentile_;
  bool any_ = false;
  float low_ = 0, high_ = 0;
  std::vector<double> histogram_;  // over [low_, high_]
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_OBSERVER_H_
