// Histograms of a tensor before and after quantization, for reports.
#ifndef BELAY_EXIR_QUANTIZE_DISTRIBUTION_H_
#define BELAY_EXIR_QUANTIZE_DISTRIBUTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace belay::exir {

// Counts in equal bins of [low, high].
struct Distribution {
  static constexpr size_t kBins = 64;

  float low = 0, high = 0;
  std::vector<uint64_t> before, after;  // kBins each; empty if unknown

  bool empty() const { return before.empty(); }
};

// Returns the distributions of both, over the smallest range of all elements. Precondition: finite.
// O(elements).
Distribution DistributionOf(absl::Span<const float> before, absl::Span<const float> after);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_DISTRIBUTION_H_
