#include "exir/emit/lifetimes.h"

#include <algorithm>

#include "exir/emit/method_facts.h"

namespace belay::exir {

std::vector<Interval> ComputeIntervals(const schema::Method& method,
                                       absl::Span<const uint32_t> order) {
  std::vector<Interval> intervals(method.values_size());
  std::vector<Interval> loops;
  for (uint32_t position = 0; position < order.size(); ++position) {
    const schema::Instruction& instruction = method.instructions(static_cast<int>(order[position]));
    const Operands operands = OperandsOf(method, instruction);
    for (uint32_t v : operands.reads) intervals[v].Add({position, position});
    for (uint32_t v : operands.writes) intervals[v].Add({position, position});
    if (instruction.has_jump() && instruction.jump().target() <= position) {
      loops.push_back({instruction.jump().target(), position});
    }
  }
  const uint32_t end = static_cast<uint32_t>(order.size());
  for (uint32_t output : method.outputs()) intervals[output].Add({end, end});
  // Inner loops end before the enclosing loops, so one sweep in order of the ends covers all
  // levels.
  for (const Interval& loop : loops) {
    for (Interval& interval : intervals) {
      if (interval.first < loop.first && interval.last >= loop.first) {
        interval.last = std::max(interval.last, loop.last);
      }
    }
  }
  return intervals;
}

}  // namespace belay::exir
