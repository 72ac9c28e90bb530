// Inputs of a loaded method: checks and copies.
#ifndef BELAY_RUNTIME_EXECUTOR_METHOD_INPUTS_H_
#define BELAY_RUNTIME_EXECUTOR_METHOD_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/call_tables.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/reserved_memory.h"
#include "runtime/executor/slot_table.h"
#include "runtime/program/plan.h"

namespace belay {

class MethodInputs {
 public:
  // Reserves memory for inputs whose elements may have to be reordered. `slots` must outlive the
  // result.
  //   kResourceExhausted  out of memory, or `memory`, which is charged and must outlive the result.
  //                       Copies of large inputs with dynamic sizes are charged by Set()
  static absl::StatusOr<MethodInputs> Create(SlotTable* slots, MemoryBudget& memory);

  // Adds an upper bound of the memory used by Create(), except the memory of inputs.
  static void AddMemory(const MethodPlan& plan, MemoryBound& bound);

  // See Method::SetInput.
  absl::Status Set(size_t i, const EValue& value);
  // Checks that all inputs are set and consistent. Allocates nothing unless it fails. O(n log n) in
  // the inputs. See Method::Execute.
  absl::Status CheckReady();

  // Returns whether a tensor's address changed since the last call of this function.
  bool TakeMoved() { return std::exchange(moved_, false); }

  // Adds what each call reads of the object.
  void AddTables(CallTables& tables) const;
  uint64_t memory_bytes() const {
    return reserved_.has_value() ? reserved_->touched_bytes() : copies_.size();
  }

 private:
  // A constraint with a symbol. Terms of one symbol are adjacent.
  struct Term {
    uint32_t input;
    const SizeConstraint* constraint;
  };
  // Address range of an input's elements, [begin, end).
  struct Span {
    uintptr_t begin, end;
    uint32_t input;
  };

  explicit MethodInputs(SlotTable* slots) : slots_(slots) {}
  const InputPlan& plan(size_t i) const { return slots_->plan().inputs[i]; }
  bool IsSet(size_t i) const;
  absl::Status SetTensor(size_t i, const TensorPlan& tensor, const EValue& value);
  absl::Status SetScalar(size_t i, ScalarKind kind, const EValue& value);
  absl::Status CheckConstant(size_t i, const EValue& value) const;
  absl::Status CheckSizes(size_t i, const TensorPlan& tensor, const TensorView& view) const;
  // Formats "input 1 'mask': expected f32[1..8,3], got …".
  absl::Status Mismatch(size_t i, const EValue& got, std::string_view detail = "") const;
  std::string Describe(size_t i) const;
  std::string Expected(size_t i) const;
  absl::Status CheckSymbols() const;
  absl::Status CheckMutatedDisjoint();

  SlotTable* slots_;
  bool moved_ = false;
  std::vector<uint8_t> set_;
  std::vector<Term> terms_;
  std::vector<Span> spans_;  // of the tensors, if the method mutates any; recomputed by each call
  AlignedBuffer copies_;
  std::optional<ReservedMemory> reserved_;  // instead of copies_, for large dynamic inputs
  std::vector<std::byte*> copy_of_;         // by input; null for inputs that are never copied
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_METHOD_INPUTS_H_
