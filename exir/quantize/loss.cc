#include "exir/quantize/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/core/element.h"

namespace belay::exir {

std::string_view LossMetricName(LossMetric metric) {
  switch (metric) {
    case LossMetric::kSnr:
      return "snr";
    case LossMetric::kCosine:
      return "cosine";
    case LossMetric::kMse:
      return "mse";
  }
  return "";
}

void LossSums::Add(double y, double actual_y) {
  if (!std::isfinite(y)) return;
  ++elements;
  if (!std::isfinite(actual_y)) {
    noise = max_error = std::numeric_limits<double>::infinity();
    return;
  }
  expected += y * y;
  actual += actual_y * actual_y;
  cross += y * actual_y;
  noise += (y - actual_y) * (y - actual_y);
  max_error = std::max(max_error, std::abs(y - actual_y));
}

void LossSums::Add(const TensorView& y, const TensorView& actual_y) {
  DispatchDType<kFloatTypes>(y.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    for (StridedIterator<2> it(y.sizes, {y.strides, actual_y.strides}); !it.done(); it.Next()) {
      Add(ConvertElement<double>(y.as<T>()[it.offset(0)]),
          ConvertElement<double>(actual_y.as<T>()[it.offset(1)]));
    }
  });
}

double LossSums::Value(LossMetric metric) const {
  switch (metric) {
    case LossMetric::kSnr:
      if (noise == 0) return std::numeric_limits<double>::infinity();
      if (std::isinf(noise)) return -std::numeric_limits<double>::infinity();
      return 10 * std::log10(expected / noise);
    case LossMetric::kCosine:
      if (noise == 0) return 1;
      if (std::isinf(noise) || expected == 0 || actual == 0) return -1;
      return cross / std::sqrt(expected) / std::sqrt(actual);
    case LossMetric::kMse:
      return noise == 0 ? 0 : noise / static_cast<double>(elements);
  }
  return 0;
}

}  // namespace belay::exir
