// Observers: the range of an activation, from the values of calibration runs.
//
// Source: torchao 0.18, torchao/quantization/pt2e/observer.py: MinMaxObserver,
// MovingAverageMinMaxObserver (averaging constant 0.01) and HistogramObserver (2048 bins, 256
// levels). Histograms are summed in double instead of float32. Not of torchao: the percentile, which
// cuts equal shares of the elements from both ends of the histogram, and ranges for functions.
#ifndef BELAY_EXIR_QUANTIZE_OBSERVER_H_
#define BELAY_EXIR_QUANTIZE_OBSERVER_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
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

  // O(values); kHistogram and kPercentile O(values + 32768).
  void Observe(absl::Span<const float> values);

  // The range to quantize; nullopt if no finite value was observed. kHistogram: the range of least
  // squared error that its search finds, at most O(bins^2). If `results` is not empty, it is a
  // function f of Points(), and the range is for users that compute only f:
  //
  //   kHistogram: least sum of (f(x) - f(x'))^2, x' = x after quantization
  std::optional<std::pair<float, float>> Range(absl::Span<const float> results = {}) const;

  // kHistogram: points at equal distances, the same number in each bin of the histogram. Empty for
  // other kinds, and if all observed values are equal.
  std::vector<float> Points() const;

  // Returns the distribution of the observed values, without `after`. Empty for kMinMax and
  // kMovingAverage, which count nothing.
  Distribution Observed() const;

 private:
  void AddToHistogram(absl::Span<const float> values, float low, float high);
  std::pair<float, float> LeastError() const;
  std::pair<float, float> LeastErrorOf(absl::Span<const float> results) const;
  std::pair<float, float> Percentiles() const;
  double ErrorOf(int start, int end) const;
  // Sum of (f(x) - f(x'))^2.
  double ErrorOf(int start, int end, absl::Span<const float> results) const;
  double BinWidth() const;
  // Element i of Points().
  float Point(int i) const;
  // The range of the bins from `start` to `end`, both inclusive.
  std::pair<float, float> RangeOfBins(int start, int end) const;

  ObserverKind kind_;
  double percentile_;
  bool any_ = false;
  float low_ = 0, high_ = 0;
  std::vector<double> histogram_;  // over [low_, high_]
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_OBSERVER_H_
