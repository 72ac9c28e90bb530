// Live intervals of a method's values.
#ifndef BELAY_EXIR_EMIT_LIFETIMES_H_
#define BELAY_EXIR_EMIT_LIFETIMES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Positions in the instruction order, both ends inclusive.
struct Interval {
  uint32_t first = std::numeric_limits<uint32_t>::max();
  uint32_t last = 0;

  bool empty() const { return first > last; }
  void Add(const Interval& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

// Returns live intervals by value for this order: from the first instruction that uses the value to
// the last. They span a loop for values older than the loop, and extend to the end of the method
// for results. Conservative at control-flow joins. Jump targets refer to the original order, so
// `order` may permute only instructions between jumps and their targets.
std::vector<Interval> ComputeIntervals(const schema::Method& method,
                                       absl::Span<const uint32_t> order);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_LIFETIMES_H_
