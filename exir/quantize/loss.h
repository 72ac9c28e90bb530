// Losses between values of floating-point tensors and approximations of them.
#ifndef BELAY_EXIR_QUANTIZE_LOSS_H_
#define BELAY_EXIR_QUANTIZE_LOSS_H_

#include <cstdint>
#include <string_view>

#include "runtime/core/tensor_view.h"

namespace belay::exir {

// For expected values y and actual values y':
enum class LossMetric : uint8_t {
  kSnr,     // 10 * log10(sum(y^2) / sum((y - y')^2)), in dB
  kCosine,  // sum(y * y') / sqrt(sum(y^2) * sum(y'^2))
  kMse,     // sum((y - y')^2) / elements
};
inline constexpr LossMetric kLossMetrics[] = {LossMetric::kSnr, LossMetric::kCosine,
                                              LossMetric::kMse};
std::string_view LossMetricName(LossMetric metric);  // "snr", "cosine", "mse"

// Sums over pairs of elements. Elements of `y` that are not finite are skipped. If only y' is not
// finite, the loss is infinite.
struct LossSums {
  double expected = 0, actual = 0, cross = 0, noise = 0;  // of y^2, y'^2, y * y', (y - y')^2
  double max_error = 0;                                   // largest |y - y'|
  uint64_t elements = 0;

  void Add(double y, double actual_y);
  // Adds all elements. Precondition: equal floating-point dtypes and equal sizes.
  void Add(const TensorView& y, const TensorView& actual_y);
  // Without noise, the SNR is infinite, the cosine 1 and the MSE 0.
  double Value(LossMetric metric) const;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_LOSS_H_
