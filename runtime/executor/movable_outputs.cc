#include "runtime/executor/movable_outputs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace belay {
namespace {

// Uses of each value by instructions, including uses as a list element. Precondition: no jumps.
class Uses {
 public:
  explicit Uses(const MethodPlan& plan)
      : last_(plan.values.size(), kNever),
        written_(plan.values.size(), kNever),
        writes_(plan.values.size(), 0),
        read_(plan.values.size(), 0),
        output_(plan.values.size(), 0) {
    for (size_t i = 0; i < plan.instructions.size(); ++i) {
      if (const auto* kernel = std::get_if<KernelCallPlan>(&plan.instructions[i])) {
        AddCall(plan, kernel->operands, i);
      } else if (const auto* delegate = std::get_if<DelegateCallPlan>(&plan.instructions[i])) {
        AddCall(plan, delegate->operands, i);
      } else {
        const auto& move = std::get<MovePlan>(plan.instructions[i]);
        Add(move.from, i, /*reads=*/true);
        Add(move.to, i, /*reads=*/true);  // not written by a call
      }
    }
    for (const uint32_t output : plan.outputs) output_[output] = 1;
    for (size_t v = 0; v < plan.values.size(); ++v) {
      const auto* list = std::get_if<ListPlan>(&plan.values[v]);
      if (list == nullptr || last_[v] == kNever) continue;
      for (const uint32_t element : list->elements) {
        last_[element] = std::max(last_[element], last_[v]);
        read_[element] = 1;
      }
    }
  }

  bool WrittenByExactlyOneCall(uint32_t value) const {
    return writes_[value] == 1 && read_[value] == 0;
  }
  // Whether `value` is used after the call that writes `output`, or also written by it.
  bool IsUsedSince(uint32_t value, uint32_t output) const {
    return output_[value] != 0 || last_[value] > last_[output] || written_[value] == last_[output];
  }

 private:
  static constexpr size_t kNever = 0;  // instructions are counted from 1

  void Add(uint32_t value, size_t instruction, bool reads) {
    last_[value] = instruction + 1;
    if (reads) {
      read_[value] = 1;
    } else {
      written_[value] = instruction + 1;
      if (writes_[value] < 2) ++writes_[value];
    }
  }
  void AddCall(const MethodPlan& plan, const OperandRange& range, size_t instruction) {
    for (const uint32_t value : plan.arguments_of(range)) Add(value, instruction, true);
    for (const uint32_t value : plan.outputs_of(range)) Add(value, instruction, false);
  }

  std::vector<size_t> last_, written_;  // the last instructions that use and that write it
  std::vector<uint8_t> writes_, read_, output_;
};

const TensorPlan* InArena(const ValuePlan& value) {
  const auto* tensor = std::get_if<TensorPlan>(&value);
  return tensor != nullptr && tensor->location == TensorPlan::Location::kArena ? tensor : nullptr;
}

}  // namespace

std::vector<uint32_t> MovableOutputs(const MethodPlan& plan) {
  const bool jumps = absl::c_any_of(plan.instructions, [](const InstructionPlan& instruction) {
    return std::holds_alternative<JumpPlan>(instruction) ||
           std::holds_alternative<JumpIfFalsePlan>(instruction);
  });
  if (jumps) return {};
  const Uses uses(plan);
  std::vector<uint32_t> movable;
  for (const uint32_t output : absl::MakeConstSpan(plan.outputs)
                                   .first(std::min(plan.outputs.size(), kMostMovableOutputs))) {
    const TensorPlan* tensor = InArena(plan.values[output]);
    if (tensor == nullptr || !tensor->is_static() || tensor->max_bytes == 0 ||
        !uses.WrittenByExactlyOneCall(output) || absl::c_linear_search(movable, output)) {
      continue;
    }
    bool exclusive = true;
    for (uint32_t v = 0; v < plan.values.size() && exclusive; ++v) {
      const TensorPlan* other = v == output ? nullptr : InArena(plan.values[v]);
      if (other == nullptr || other->offset >= tensor->offset + tensor->max_bytes ||
          tensor->offset >= other->offset + other->max_bytes) {
        continue;
      }
      exclusive = !uses.IsUsedSince(v, output);
    }
    if (exclusive) movable.push_back(output);
  }
  return movable;
}

void AddMovableOutputsMemory(const MethodPlan& plan, MemoryBound& bound) {
  bound.Add(plan.values.size(), 2 * sizeof(size_t) + 3 * sizeof(uint8_t));
  // In a vector that grows by doubling.
  bound.Add(std::min(plan.outputs.size(), kMostMovableOutputs), 3 * sizeof(uint32_t));
}

}  // namespace belay
