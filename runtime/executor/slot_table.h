// The values of a loaded method, and the memory that its tensors lie in.
#ifndef BELAY_RUNTIME_EXECUTOR_SLOT_TABLE_H_
#define BELAY_RUNTIME_EXECUTOR_SLOT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/memory_check.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel/kernel.h"
#include "runtime/program/plan.h"

namespace belay {

// Whether elements of the dtype may lie at `data`: complex numbers are aligned as their parts are.
bool IsAlignedForElements(const void* data, DType dtype);

// One EValue per value of the plan, at a fixed address. Kernels get pointers to them. It is the
// OutputAllocator of the method: outputs keep their planned place and are resized within the sizes
// that were planned.
class SlotTable final : public OutputAllocator {
 public:
  // Every tensor at its largest size; only constants have data. `plan` must outlive the result.
  //   kResourceExhausted  no memory for constants that must be copied because they are misaligned;
  //                       or `memory`, from which those, arena and state are taken
  static absl::StatusOr<std::unique_ptr<SlotTable>> Create(const MethodPlan& plan,
                                                           MemoryBudget& memory);

  // What Create() holds at most, but for copies of constants.
  static void AddMemory(const MethodPlan& plan, MemoryBound& bound);

  // Allocates arena and state and points the tensors into them. Once. State lies in `shared` if
  // that is given, which must outlive the object.
  //   kInvalidArgument  `shared` has no such buffer
  absl::Status AllocateMemory(SharedState* shared = nullptr);
  // Gives all state its initial content. Precondition: AllocateMemory() succeeded.
  void ResetState();

  // Lets the value, one of MovableOutputs(), lie at `data` from now on, nullptr: where it was
  // planned. Whether that is another place than before. Precondition: AllocateMemory() succeeded.
  bool MoveOutput(uint32_t value, void* data);

  const MethodPlan& plan() const { return plan_; }
  EValue& slot(uint32_t value) { return slots_[value]; }
  const EValue& slot(uint32_t value) const { return slots_[value]; }
  // Where an instruction writes its output to: None is dropped.
  EValue* output_slot(uint32_t value);
  // nullptr when the value is no tensor.
  const TensorPlan* tensor_plan(uint32_t value) const { return tensor_plans_[value]; }
  // Whether it is one of MovableOutputs().
  bool is_movable(uint32_t value) const { return absl::c_linear_search(movable_, value); }
  bool has_movable_outputs() const { return !movable_.empty(); }

  // Whether the slot still holds a value of its kind, after an instruction wrote to it. If not, the
  // slot is restored. Such a kernel and such a program do not fit together.
  //   kInvalidArgument  names both kinds
  absl::Status CheckOutput(uint32_t value) {
    if (slots_[value].kind() == kinds_[value]) [[likely]]
      return absl::OkStatus();
    return RestoreSlot(value);
  }

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override;
  absl::Status CheckMutable(const EValue& argument) override;

  uint64_t memory_bytes() const;

 private:
  explicit SlotTable(const MethodPlan& plan) : plan_(plan) {}
  absl::Status MakeSlots(MemoryBudget& memory);
  // nullopt when `address` is not inside the slots.
  std::optional<uint32_t> ValueAt(const void* address) const;
  absl::StatusOr<void*> ConstantData(const TensorPlan& tensor, MemoryBudget& memory);
  EValue InitialValue(uint32_t value);
  absl::Status RestoreSlot(uint32_t value);

  const MethodPlan& plan_;
  std::vector<EValue> slots_;
  std::vector<uint8_t> kinds_;  // as planned
  std::vector<const TensorPlan*> tensor_plans_;
  std::vector<void*> tensor_data_;  // as planned, or where an output was moved; of inputs null
  std::vector<uint32_t> movable_;
  std::vector<uint8_t> mutated_;  // the value is an input that the program may write to
  std::vector<EValue*> list_elements_;
  std::vector<ListView> lists_;
  EValue dropped_;
  AlignedBuffer arena_, state_;
  std::vector<AlignedBuffer> copied_constants_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_SLOT_TABLE_H_
