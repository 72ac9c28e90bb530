#include "tools/profile/arena_use.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace belay::tools {
namespace {

// Live range in instructions, both ends included; first > last if unused.
struct Interval {
  size_t first = SIZE_MAX, last = 0;
  void Add(size_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

std::vector<Interval> IntervalsOf(const MethodPlan& plan) {
  std::vector<Interval> intervals(plan.values.size());
  std::vector<Interval> loops;
  const auto mention = [&](uint32_t value, size_t at) {
    intervals[value].Add(at);
    const auto* list = std::get_if<ListPlan>(&plan.values[value]);
    if (list == nullptr) return;
    for (const uint32_t element : list->elements) intervals[element].Add(at);
  };
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    const InstructionPlan& instruction = plan.instructions[i];
    const auto call = [&](const OperandRange& operands) {
      for (const uint32_t value : plan.arguments_of(operands)) mention(value, i);
      for (const uint32_t value : plan.outputs_of(operands)) mention(value, i);
    };
    if (const auto* kernel = std::get_if<KernelCallPlan>(&instruction)) call(kernel->operands);
    if (const auto* delegate = std::get_if<DelegateCallPlan>(&instruction)) {
      call(delegate->operands);
    }
    if (const auto* move = std::get_if<MovePlan>(&instruction)) {
      mention(move->from, i);
      mention(move->to, i);
    }
    if (const auto* branch = std::get_if<JumpIfFalsePlan>(&instruction)) {
      mention(branch->condition, i);
    }
    if (const auto* jump = std::get_if<JumpPlan>(&instruction); jump && jump->target <= i) {
      loops.push_back({jump->target, i});
    }
  }
  for (const uint32_t output : plan.outputs) mention(output, plan.instructions.size());
  // Inner loops end before the enclosing ones, so one pass extends through all levels.
  for (const Interval& loop : loops) {
    for (Interval& interval : intervals) {
      if (interval.first < loop.first && interval.last >= loop.first) {
        interval.last = std::max(interval.last, loop.last);
      }
    }
  }
  return intervals;
}

// Number of bytes covered by a changing set of ranges: a segment tree over the sorted borders.
class Coverage {
 public:
  explicit Coverage(std::vector<uint64_t> borders) : borders_(std::move(borders)) {
    std::sort(borders_.begin(), borders_.end());
    borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
    nodes_.resize(4 * borders_.size() + 4);
  }
  // Adds or removes a range: `by` is 1 or -1, and both ends are borders.
  void Add(uint64_t begin, uint64_t end, int by) {
    Add(1, 0, borders_.size() - 1, IndexOf(begin), IndexOf(end), by);
  }
  uint64_t bytes() const { return nodes_[1].bytes; }

 private:
  struct Node {
    int covering = 0;
    uint64_t bytes = 0;
  };
  size_t IndexOf(uint64_t border) const {
    return static_cast<size_t>(std::lower_bound(borders_.begin(), borders_.end(), border) -
                               borders_.begin());
  }
  // `node` covers the borders [low, high).
  void Add(size_t node, size_t low, size_t high, size_t begin, size_t end, int by) {
    if (end <= low || high <= begin) return;
    Node& self = nodes_[node];
    const bool leaf = high - low == 1;
    if (begin <= low && high <= end) {
      self.covering += by;
    } else {
      const size_t middle = low + (high - low) / 2;
      Add(2 * node, low, middle, begin, end, by);
      Add(2 * node + 1, middle, high, begin, end, by);
    }
    self.bytes = self.covering > 0 ? borders_[high] - borders_[low]
                 : leaf            ? 0
                                   : nodes_[2 * node].bytes + nodes_[2 * node + 1].bytes;
  }

  std::vector<uint64_t> borders_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<uint64_t> ArenaUse(const MethodPlan& plan) {
  const size_t count = plan.instructions.size();
  const std::vector<Interval> intervals = IntervalsOf(plan);
  std::vector<uint64_t> borders = {0};
  std::vector<std::vector<const TensorPlan*>> begins(count + 1), ends(count + 1);
  for (size_t v = 0; v < plan.values.size(); ++v) {
    const auto* tensor = std::get_if<TensorPlan>(&plan.values[v]);
    const Interval& interval = intervals[v];
    if (tensor == nullptr || tensor->location != TensorPlan::Location::kArena ||
        tensor->max_bytes == 0 || interval.first > interval.last) {
      continue;
    }
    borders.insert(borders.end(), {tensor->offset, tensor->offset + tensor->max_bytes});
    begins[interval.first].push_back(tensor);
    ends[interval.last].push_back(tensor);
  }
  Coverage coverage(std::move(borders));
  const auto add = [&](const std::vector<const TensorPlan*>& tensors, int by) {
    for (const TensorPlan* tensor : tensors) {
      coverage.Add(tensor->offset, tensor->offset + tensor->max_bytes, by);
    }
  };
  std::vector<uint64_t> use;
  for (size_t i = 0; i < count; ++i) {
    add(begins[i], 1);
    use.push_back(coverage.bytes());
    add(ends[i], -1);
  }
  return use;
}

}  // namespace belay::tools
