// Executable form of a method's instructions: resolved kernels and delegates with bound arguments.
#ifndef BELAY_RUNTIME_EXECUTOR_METHOD_CODE_H_
#define BELAY_RUNTIME_EXECUTOR_METHOD_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/backend/backend_options.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/backend/delegate_memory.h"
#include "runtime/core/arena.h"
#include "runtime/core/budget.h"
#include "runtime/core/call_tables.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/memory_check.h"
#include "runtime/executor/execute_options.h"
#include "runtime/executor/instruction_info.h"
#include "runtime/executor/slot_table.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/work.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay {

class MethodCode {
 public:
  // Resolves all kernels and backends. The result keeps references to `program`, `slots`,
  // `kernels`, `threads` (which may be null), the contents of the registries, and the log of
  // `events`.
  //   kNotFound           lists every operator without a kernel and every missing backend
  //   kResourceExhausted  Limits::scratch_bytes
  static absl::StatusOr<MethodCode> Resolve(const Program& program, SlotTable* slots,
                                            const KernelRegistry& kernels,
                                            const BackendRegistry& backends, ThreadPool* threads,
                                            EventSink events);
  // Adds an upper bound of the memory used by Resolve() and by Prepare(), except working memory and
  // the memory of the backends' handles.
  static void AddMemory(const MethodPlan& plan, MemoryBound& bound);
  MethodCode(MethodCode&&) noexcept;
  MethodCode& operator=(MethodCode&&) noexcept;
  ~MethodCode();

  // Allocates working memory and creates the delegates, with these options or, for null, the
  // defaults. Call once, after the slots have their memory.
  //   kResourceExhausted  Limits::delegate_bytes, or `memory`, which is charged unless null, and
  //                       must outlive the object
  // `allocator`: source of the memory, null for the C library's.
  absl::Status Prepare(MemoryBudget* memory, BlockAllocator* allocator, const OptionLookup* options,
                       ReusableBlocks* shared_scratch = nullptr);

  // Fixes the calls on inputs and movable outputs at their current addresses (Kernel::fix_call).
  // Call before the first run, and whenever the addresses changed. Allocates nothing.
  void FixMovedCalls();
  // Runs the instructions. Allocates nothing unless it fails.
  absl::Status Run(const ExecuteOptions& options);
  // As Run, charged to the budget of an enclosing call.
  absl::Status RunWithin(Budget& budget);
  // Runs instruction `next` and sets `next` to the instruction that follows it. Precondition: `next`
  // < size(). After an error, `next` is unchanged.
  absl::Status RunOne(const ExecuteOptions& options, size_t& next);
  size_t size() const { return records_.size(); }
  // Adds what Run() reads of the object.
  void AddTables(CallTables& tables) const;

  // Resets the state of the delegates.
  void ResetState();
  // See Method.
  absl::StatusOr<OptionValue> GetOption(std::string_view backend, std::string_view name) const;
  absl::Status SetOption(std::string_view backend, std::string_view name, const OptionValue& value);

  std::vector<InstructionInfo> Describe() const;
  // Size of working memory and of the kernels' calls.
  uint64_t memory_bytes() const { return committed_scratch_ + calls_.size(); }

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
    // Kernels: operand sizes, and hence the work of a call, are only known at run time.
    bool is_dynamic = false;
    // Kernels: the call is parsed before each run, since an argument is computed or parsing failed
    // at load.
    bool reads_call = false;
    // Kernels: working memory is large at the maximum sizes, so that each call is checked.
    bool checks_scratch = false;
    WorkRule rule;                                  // kernels: cost model
    uint64_t work = 0;                              // work of a call; 0 if dynamic
    void (*run_fixed)(const void* call) = nullptr;  // kFixedKernel
    const void* fixed_call = nullptr;               // kFixedKernel: argument of run_fixed
    DelegateHandle* handle = nullptr;               // kDelegate
    const CallTables* tables = nullptr;             // kDelegate: those of the handle
    // Kernels and delegates: operands_[first_operand …), arguments followed by outputs. The value
    // indices of the outputs are output_values_[first_output …).
    KernelContext context{{}, {}, nullptr, {}};
    size_t first_operand = 0;
    size_t first_output = 0;
    // Moves: value indices.
    uint32_t from = 0, to = 0;
    // Moves of dense tensors whose sizes are known at load: their bytes; 0 for others.
    size_t move_bytes = 0;
    // Jumps. A condition is a value index.
    uint32_t condition = 0, target = 0;
    // Kernels: overlays_[first_overlay …).
    uint32_t first_overlay = 0, num_overlays = 0;
    const Kernel* kernel = nullptr;
    size_t call = 0;  // offset of the kernel's call in calls_
    const BackendRuntime* backend = nullptr;
  };
  // A dynamically sized output placed over an argument (operator_facts.h); value indices.
  struct Overlay {
    uint32_t argument, output;
  };
  // Serves named data to the backends; has a fixed address.
  class ProgramNamedData;
  class Missing;

  // Observers of the instruction loop.
  class Logged;
  class Unlogged;
  class OneInstruction;

  MethodCode(const Program& program, SlotTable* slots, const KernelRegistry& kernels,
             ThreadPool* threads, EventSink events);
  void AddOperands(const OperandRange& range, Record& record);
  // Whether a kernel parses the same call at every run: no argument is a computed scalar. Tensors
  // are accessed through their slots.
  bool IsFixed(absl::Span<const uint32_t> arguments) const;
  absl::Status RunKernel(Record& record);
  // Commits working memory of a call with `checks_scratch`.
  absl::Status CommitScratch(Record& record, uint64_t bytes);
  absl::Status ScratchError(uint64_t bytes) const;
  // Whether the sizes of all tensors among the values, including list elements, are known at load.
  bool IsStatic(absl::Span<const uint32_t> values) const;
  // Whether the addresses of all tensors among the values, including list elements, are constant:
  // no inputs and no movable outputs.
  bool StaysInPlace(absl::Span<const uint32_t> values) const;
  void FixCall(Record& record);
  KernelContext ContextOf(const Record& record, size_t arguments, size_t outputs);
  absl::Status ResolveKernel(const KernelCallPlan& call, size_t instruction, Missing& missing,
                             Record& record);
  absl::Status MakeDelegate(const DelegateCallPlan& call, const OptionLookup* options,
                            MemoryBudget& memory, Record& record);
  // Returns a delegate call of the backend. kInvalidArgument: the method has none.
  absl::StatusOr<const Record*> FindDelegate(std::string_view backend) const;
  // Sets the bounds of one call.
  void Bound(const ExecuteOptions& options, Budget& budget) const;
  absl::Span<EValue* const> OutputsOf(const Record& record) const;
  // Fetches what the record's instruction reads, except elements of tensors, into the caches.
  void Prefetch(const Record& record) const;
  // Runs from instruction `next`: one instruction or all, as Observer::kStops says.
  template <class Observer>
  absl::Status RunRecords(Budget& budget, Observer observer, size_t& next);
  // Called after every kernel and delegate, even if it failed: restores slots whose value has
  // another kind. Returns the error of the first such output.
  absl::Status CheckOutputs(const Record& record);
  void AddOverlays(const KernelCallPlan& call, Record& record);
  // Called after a kernel whose output is placed over arguments elementwise; its result may be
  // wrong. The actual sizes must be equal, not only their bounds: elements of a broadcast argument
  // are read again after they were overwritten.
  absl::Status CheckOverlays(const Record& record) const;
  absl::Status Move(const Record& record);
  bool ConditionHolds(const Record& record) const;
  // Describes a failed scalar assertion with the integers it was computed from: " (_operator.eq(5,
  // 6) is false)". "" for another call, and if they are not integers.
  std::string FailedCondition(const KernelCallPlan& assertion, size_t instruction) const;
  // Adds the location in the program to `status`.
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
  std::vector<uint32_t>
      movable_calls_;  // records whose calls can be fixed once all operands have an address
  MemoryBudget* memory_ = nullptr;                 // of Prepare(); may be null
  std::unique_ptr<MemoryBudget> delegate_memory_;  // used by the handles
  std::unique_ptr<DelegateMemory> shared_memory_;  // of the delegates
  std::vector<std::unique_ptr<DelegateHandle>> handles_;
  std::unique_ptr<CallTables[]> tables_;  // by handle
  uint64_t scratch_needed_ = 0;
  size_t calls_needed_ = 0;
  uint64_t checked_scratch_ = 0;  // as scratch_needed_, of the calls with checks_scratch
  size_t committed_scratch_ = 0;  // bytes of scratch_ that may be accessed
  AlignedBuffer scratch_, calls_;
  std::byte* scratch_data_ = nullptr;  // of scratch_, or of a shared block
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_METHOD_CODE_H_
