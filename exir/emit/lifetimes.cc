#include "exir/emit/lifetimes.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "runtime/core/dtype.h"

namespace belay::exir {
namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

struct Interval {
  uint32_t first = kNever;
  uint32_t last = 0;
};

bool IsPlanned(const schema::Value& value) {
  return value.has_tensor() && value.tensor().location_case() == schema::Tensor::kArenaOffset;
}

uint64_t TensorBytes(const schema::Tensor& tensor) {
  uint64_t bytes = DTypeSize(static_cast<DType>(tensor.dtype()));
  for (int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

}  // namespace

MethodLifetimes ComputeLifetimes(const schema::Method& method) {
  std::vector<Interval> intervals(method.values_size());
  const std::function<void(uint32_t, uint32_t)> touch = [&](uint32_t value, uint32_t at) {
    const schema::Value& v = method.values(value);
    if (v.has_list()) {
      // Lists hold values of smaller index only, so this ends.
      for (uint32_t element : v.list().elements()) touch(element, at);
      return;
    }
    intervals[value].first = std::min(intervals[value].first, at);
    intervals[value].last = std::max(intervals[value].last, at);
  };
  struct Loop {
    uint32_t start, end;
  };
  std::vector<Loop> loops;
  for (int i = 0; i < method.instructions_size(); ++i) {
    const schema::Instruction& instruction = method.instructions(i);
    const auto touch_all = [&](const auto& values) {
      for (uint32_t v : values) touch(v, i);
    };
    switch (instruction.kind_case()) {
      case schema::Instruction::kKernel:
        touch_all(instruction.kernel().arguments());
        touch_all(instruction.kernel().outputs());
        break;
      case schema::Instruction::kDelegate:
        touch_all(instruction.delegate().arguments());
        touch_all(instruction.delegate().outputs());
        break;
      case schema::Instruction::kMove:
        touch(instruction.move().from(), i);
        touch(instruction.move().to(), i);
        break;
      case schema::Instruction::kJumpIfFalse:
        touch(instruction.jump_if_false().condition(), i);
        break;
      case schema::Instruction::kJump:
        if (instruction.jump().target() <= static_cast<uint32_t>(i)) {
          loops.push_back({instruction.jump().target(), static_cast<uint32_t>(i)});
        }
        break;
      case schema::Instruction::KIND_NOT_SET:
        break;
    }
  }
  for (uint32_t output : method.outputs()) touch(output, method.instructions_size());
  // Inner loops end before the loops around them, so one sweep in order of the ends extends through
  // all levels.
  for (const Loop& loop : loops) {
    for (Interval& interval : intervals) {
      if (interval.first < loop.start && interval.last >= loop.start) {
        interval.last = std::max(interval.last, loop.end);
      }
    }
  }
  MethodLifetimes result;
  for (int v = 0; v < method.values_size(); ++v) {
    if (!IsPlanned(method.values(v))) continue;
    Interval interval = intervals[v];
    if (interval.first == kNever) interval.first = 0;
    result.values.push_back(v);
    result.lifetimes.push_back({.bytes = TensorBytes(method.values(v).tensor()),
                                .first = interval.first,
                                .last = interval.last});
  }
  return result;
}

}  // namespace belay::exir
