#include "exir/quantize/distribution.h"

#include <algorithm>

namespace belay::exir {

Distribution DistributionOf(absl::Span<const float> before, absl::Span<const float> after) {
  Distribution result;
  if (before.empty()) return result;
  result.low = result.high = before[0];
  for (absl::Span<const float> elements : {before, after}) {
    for (float x : elements) {
      result.low = std::min(result.low, x);
      result.high = std::max(result.high, x);
    }
  }
  // In double: the difference of two floats may exceed their range.
  const double width = double{result.high} - double{result.low};
  const auto count = [&](absl::Span<const float> elements) {
    std::vector<uint64_t> bins(Distribution::kBins);
    for (float x : elements) {
      const double share = width > 0 ? (double{x} - double{result.low}) / width : 0;
      ++bins[std::min(static_cast<size_t>(share * Distribution::kBins), Distribution::kBins - 1)];
    }
    return bins;
  };
  result.before = count(before);
  result.after = count(after);
  return result;
}

}  // namespace belay::exir
