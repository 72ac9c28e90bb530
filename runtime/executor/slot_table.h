// Values of a loaded method, and the memory of its tensors.
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
#include "runtime/core/call_tables.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/reserved_memory.h"
#include "runtime/core/reusable_blocks.h"
#include "runtime/executor/bank_memory.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/program/plan.h"

namespace belay {

// Whether `data` is aligned for elements of the dtype. Complex types need the alignment of their
// parts.
bool IsAlignedForElements(const void* data, DType dtype);

// One EValue per value of the plan, at a fixed address; kernels get pointers to them. Also the
// method's OutputAllocator: outputs keep their planned address and are resized within their planned
// bounds.
class SlotTable final : public OutputAllocator {
 public:
  // Every tensor has its maximum sizes; only constants have data. `plan` must outlive the result.
  // `banks` is the caller's memory (MethodOptions::banks); it is checked, and not accessed before
  // AllocateMemory().
  //   errors of AddressesOfBanks
  //   kResourceExhausted  out of memory for copies of misaligned constants; or `memory`, which is
  //                       charged for those, state, and banks that are not in the caller's memory.
  //                       Must outlive the result
  static absl::StatusOr<std::unique_ptr<SlotTable>> Create(const MethodPlan& plan,
                                                           MemoryBudget& memory,
                                                           absl::Span<const BankMemory> banks = {});

  // Adds an upper bound of the memory used by Create(), except copies of constants.
  static void AddMemory(const MethodPlan& plan, MemoryBound& bound);

  // Allocates arena and state and points the tensors into them. Call once. Fills the caller's
  // memory with zeros. If `shared` is given, it holds the state; if `arenas` is given, it holds an
  // arena of one bank. Both must outlive the object.
  //   kInvalidArgument  a buffer is missing in `shared`
  absl::Status AllocateMemory(SharedState* shared = nullptr, ReusableBlocks* arenas = nullptr);

  // With a reserved arena (MethodPlan::reserves_arena), Resize() charges the pages of the new sizes
  // to the budget of Create(). Call this after all calls are prepared for the maximum sizes:
  // tensors of dynamic sizes become empty, so that each write follows a Resize().
  void EmptyDynamicTensors();
  // Call before the instructions run. If the inputs have other sizes than in the last call, and
  // more than half of the budget is used, returns the pages of earlier calls to the system. Another
  // user of a shared arena may have done so.
  //   kResourceExhausted  the budget
  absl::Status StartCall();
  // Resets all state to its initial content. Precondition: AllocateMemory() succeeded.
  void ResetState();

  // Places the value, one of MovableOutputs(), at `data`; nullptr: at its planned address. Returns
  // whether its address changed. Precondition: AllocateMemory() succeeded.
  bool MoveOutput(uint32_t value, void* data);

  const MethodPlan& plan() const { return plan_; }
  EValue& slot(uint32_t value) { return slots_[value]; }
  const EValue& slot(uint32_t value) const { return slots_[value]; }
  // Destination of an instruction's output; an output that is None is dropped.
  EValue* output_slot(uint32_t value);
  // nullptr if the value is not a tensor.
  const TensorPlan* tensor_plan(uint32_t value) const { return tensor_plans_[value]; }
  // Whether the value is one of MovableOutputs().
  bool is_movable(uint32_t value) const { return absl::c_linear_search(movable_, value); }
  bool has_movable_outputs() const { return !movable_.empty(); }

  // Checks the kind of a slot's value after an instruction wrote to it. On a mismatch, restores the
  // slot: the kernel and the program are incompatible.
  //   kInvalidArgument  names both kinds
  absl::Status CheckOutput(uint32_t value) {
    if (slots_[value].kind() == kinds_[value]) [[likely]]
      return absl::OkStatus();
    return RestoreSlot(value);
  }

  //   kResourceExhausted  the budget of a reserved arena; names the sizes
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override;
  absl::Status CheckMutable(const EValue& argument) override;

  // Adds the tables of values, and of their plan as far as it fits.
  void AddTables(CallTables& tables) const;
  uint64_t memory_bytes() const;

 private:
  SlotTable(const MethodPlan& plan, MemoryBudget& memory) : plan_(plan), memory_(&memory) {}
  absl::Status AllocateBanks(ReusableBlocks* arenas);
  // Whether a reserved block holds the arena.
  bool ReservesArena() const { return plan_.reserves_arena && bank_data_[0] == nullptr; }
  // Address of the tensor with this offset in the arena.
  std::byte* ArenaAddress(uint64_t offset) const {
    const size_t bank = BankAt(plan_.banks, offset);
    return bank_data_[bank] + (offset - plan_.banks[bank].begin);
  }
  bool IsEmptied(const TensorPlan& tensor) const {
    return emptied_ && !tensor.is_static() && tensor.location == TensorPlan::Location::kArena;
  }
  // Charges the tensors of static sizes in a reserved arena.
  absl::Status TouchStaticTensors();
  bool InputsUseArena() const;
  absl::Status MakeSlots(MemoryBudget& memory);
  // nullopt if `address` is not inside the slots.
  std::optional<uint32_t> ValueAt(const void* address) const;
  absl::StatusOr<void*> ConstantData(const TensorPlan& tensor, MemoryBudget& memory);
  EValue InitialValue(uint32_t value);
  absl::Status RestoreSlot(uint32_t value);

  const MethodPlan& plan_;
  std::vector<EValue> slots_;
  std::vector<uint8_t> kinds_;  // as planned
  std::vector<const TensorPlan*> tensor_plans_;
  std::vector<void*> tensor_data_;  // planned address, or that of a moved output; null for inputs
  std::vector<uint32_t> movable_;
  std::vector<uint8_t> mutated_;  // the value is an input that the program may write to
  std::vector<EValue*> list_elements_;
  std::vector<ListView> lists_;
  EValue dropped_;
  MemoryBudget* memory_;
  AlignedBuffer state_;
  // By bank: the memory of the caller, of allocated_banks_, of reserved_, or of a shared block.
  std::vector<std::byte*> bank_data_;
  std::vector<AlignedBuffer> allocated_banks_;
  std::optional<ReservedMemory> reserved_;
  bool emptied_ = false;
  size_t input_sizes_ = 0;  // hash of the inputs' sizes in the last call
  std::vector<AlignedBuffer> copied_constants_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_SLOT_TABLE_H_
