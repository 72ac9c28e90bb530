// When values of a method are in use.
#ifndef BELAY_EXIR_EMIT_LIFETIMES_H_
#define BELAY_EXIR_EMIT_LIFETIMES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// From one position in the order of instructions to another, both included.
struct Interval {
  uint32_t first = std::numeric_limits<uint32_t>::max();
  uint32_t last = 0;

  bool empty() const { return first > last; }
  void Add(const Interval& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

// By value, when the instructions run in this order: from the first that mentions it to the last;
// around a loop for values that are older than the loop; to the end of the method for results.
// Conservative where branches meet. Jumps count targets in the order as written, so that `order`
// may only change stretches between jumps and their targets.
std::vector<Interval> ComputeIntervals(const schema::Method& method,
                                       absl::Span<const uint32_t> order);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_LIFETIMES_H_
