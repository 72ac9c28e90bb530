// The instructions of a loaded method: kernels and delegates resolved, arguments in place.
#ifndef BELAY_RUNTIME_EXECUTOR_METHOD_CODE_H_
#define BELAY_RUNTIME_EXECUTOR_METHOD_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/arena.h"
#include "runtime/core/budget.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/memory_check.h"
#include "runtime/executor/execute_options.h"
#include "runtime/executor/instruction_info.h"
#include "runtime/executor/slot_table.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/kernel/work.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay {

class MethodCode {
 public:
  // Finds all kernels and backends. `program`, `slots`, `kernels`, `threads` (which may be null) and
  // what the registries refer to must outlive the result, and so must the log of `events`.
  //   kNotFound           lists every operator without a kernel and every missing backend
  //   kResourceExhausted  Limits::scratch_bytes
  static absl::StatusOr<MethodCode> Resolve(const Program& program, SlotTable* slots,
                                            const KernelRegistry& kernels,
                                            const BackendRegistry& backends, ThreadPool* threads,
                                            EventSink events);
  // What Resolve() holds at most, and Prepare() but for working memory and what the backends'
  // handles have.
  static void AddMemory(const MethodPlan& plan, MemoryBound& bound);
  MethodCode(MethodCode&&) noexcept;
  MethodCode& operator=(MethodCode&&) noexcept;
  ~MethodCode();

  // Allocates working memory and makes the delegates. Once, after the slots have their memory.
  //   kResourceExhausted  Limits::delegate_bytes, or `memory`, from which all is taken unless null
  absl::Status Prepare(MemoryBudget* memory);

  // Fixes the calls on inputs and movable outputs where these lie now (Kernel::fix_call). Before the
  // first run, and after they got other places. Allocates nothing.
  void FixMovedCalls();
  // Walks over the instructions. Allocates nothing unless it fails.
  absl::Status Run(const ExecuteOptions& options);
  // The same on account of another call.
  absl::Status RunWithin(Budget& budget);

  // Of the delegates.
  void ResetState();

  std::vector<InstructionInfo> Describe() const;
  // Of working memory and of the kernels' calls.
  uint64_t memory_bytes() const { return scratch_.size() + calls_.size(); }

 private:
  struct Record {
    enum class Kind : uint8_t {
      kFixedKernel,  // the call is fixed (Kernel::fix_call)
      kKernel,
      kDelegate,
      kMoveTensor,
      kMoveScalar,
      kJumpIfFalse,
      kJump
    };
    Kind kind;
    // Kernels: some operand's size is known at run time only, and so is what a call takes.
    bool is_dynamic = false;
    // Kernels: whether the call is read before each run: an argument is computed, or it could not
    // be read.
    bool reads_call = false;
    WorkRule rule;                                  // kernels: by it
    uint64_t work = 0;                              // what a call takes; 0 where that is dynamic
    void (*run_fixed)(const void* call) = nullptr;  // kFixedKernel
    const void* fixed_call = nullptr;               // kFixedKernel: what it takes
    DelegateHandle* handle = nullptr;               // kDelegate
    // Kernels and delegates: operands_[first_operand …), arguments and then outputs, and the
    // outputs' values in output_values_[first_output …).
    KernelContext context{{}, {}, nullptr, {}};
    size_t first_operand = 0;
    size_t first_output = 0;
    // Moves: value indices.
    uint32_t from = 0, to = 0;
    // Jumps. A condition is a value index.
    uint32_t condition = 0, target = 0;
    // Kernels: overlays_[first_overlay …).
    uint32_t first_overlay = 0, num_overlays = 0;
    const Kernel* kernel = nullptr;
    size_t call = 0;  // where the kernel's call lies in calls_
    const BackendRuntime* backend = nullptr;
  };
  // An output of dynamic sizes that lies over an argument (in_place_operators.h); values.
  struct Overlay {
    uint32_t argument, output;
  };
  // What the backends' named data come from; at a fixed address.
  class ProgramNamedData;
  class Missing;

  // What the loop tells of each instruction.
  class Logged;
  class Unlogged;

  MethodCode(const Program& program, SlotTable* slots, const KernelRegistry& kernels,
             ThreadPool* threads, EventSink events);
  void AddOperands(const OperandRange& range, Record& record);
  // Whether a kernel that reads these arguments reads the same at every run: none of them is a
  // scalar that is computed. Tensors are read through their slots.
  bool IsFixed(absl::Span<const uint32_t> arguments) const;
  absl::Status RunKernel(Record& record);
  // Whether the sizes of all tensors among the values, and in lists, are known at load.
  bool IsStatic(absl::Span<const uint32_t> values) const;
  // Whether all tensors among the values, and in lists, stay where they are: no inputs and no
  // movable outputs.
  bool StaysInPlace(absl::Span<const uint32_t> values) const;
  void FixCall(Record& record);
  KernelContext ContextOf(const Record& record, size_t arguments, size_t outputs);
  absl::Status ResolveKernel(const KernelCallPlan& call, size_t instruction, Missing& missing,
                             Record& record);
  absl::Status MakeDelegate(const DelegateCallPlan& call, MemoryBudget& memory, Record& record);
  template <class Observer>
  absl::Status RunRecords(Budget& budget, Observer observer);
  // After every kernel and delegate, also those that failed: all slots hold their kind again. The
  // error is that of the first output that did not.
  absl::Status CheckOutputs(const Record& record);
  void AddOverlays(const KernelCallPlan& call, Record& record);
  // After a kernel, whose output may be wrong: it lies over arguments element by element, so that
  // their sizes must be the same, not only their bounds. One that is broadcast is read again after
  // it was written over.
  absl::Status CheckOverlays(const Record& record) const;
  absl::Status Move(const Record& record);
  bool ConditionHolds(const Record& record) const;
  // " (_operator.eq(5, 6) is false)": what an assertion on a scalar that failed asserts, with the
  // numbers that it was computed of; "" for another call, and when they are no integers.
  std::string FailedCondition(const KernelCallPlan& assertion, size_t instruction) const;
  // Says where in the program `status` comes from.
  absl::Status Annotate(const absl::Status& status, size_t instruction) const;

  const Program* program_;
  const MethodPlan* plan_;
  SlotTable* slots_;
  const KernelRegistry* kernels_;
  ThreadPool* threads_;  // may be null
  EventSink events_;
  std::unique_ptr<ProgramNamedData> named_data_;
  std::vector<Record> records_;
  std::vector<EValue*> operands_;
  std::vector<uint32_t> output_values_;
  std::vector<Overlay> overlays_;
  std::vector<uint32_t> movable_calls_;  // records whose calls may be fixed once all have a place
  std::vector<std::unique_ptr<DelegateHandle>> handles_;
  uint64_t scratch_needed_ = 0;
  size_t calls_needed_ = 0;
  AlignedBuffer scratch_, calls_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_METHOD_CODE_H_
