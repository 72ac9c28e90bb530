// A loaded method: resolved, with all memory allocated, ready to be executed repeatedly.
#ifndef BELAY_RUNTIME_EXECUTOR_METHOD_H_
#define BELAY_RUNTIME_EXECUTOR_METHOD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_options.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/budget.h"
#include "runtime/core/call_tables.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/bank_memory.h"
#include "runtime/executor/execute_options.h"
#include "runtime/executor/instruction_info.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay {

class BlockAllocator;   // runtime/core/arena.h
struct DelegateMemory;  // runtime/backend/delegate_memory.h

// Optional arguments of Method::Load.
struct MethodOptions {
  // Holds the method's state, with its current content. Without it, the method has its own state
  // with the initial content.
  SharedState* state = nullptr;
  // For programs inside delegates: a budget charged for all memory of the method, in addition to
  // the limits. Must outlive the method.
  MemoryBudget* memory = nullptr;
  // For programs inside delegates: memory for activations, which the delegates of a method share.
  // The method's outputs are valid only until another of them executes. Must outlive the method.
  DelegateMemory* shared_memory = nullptr;
  // Memory of the caller for banks of the arena (MethodPlan::banks); the bank of a program without
  // banks has the name "". Load() allocates the others. Load() fills the used bytes with zeros; a
  // limit of the program does not apply to them. The memory must outlive the method and have no
  // other use. Exception: methods of program files (.belay) that execute one at a time may have
  // the same memory; the outputs of one are valid until another one executes. An arena of tensors
  // with dynamic sizes needs memory for the largest sizes.
  absl::Span<const BankMemory> banks = {};
  // Source of the method's other memory: banks, state, copies of inputs and constants, working
  // memory of kernels and delegates, weights that backends pack. Null: that of `memory`, or the C
  // library's. Tables of the program and of libraries (XNNPACK) are not from it. Must outlive the
  // method.
  BlockAllocator* allocator = nullptr;
  // Threads that work on each instruction. Results are the same for any number of threads, and for
  // null.
  ThreadPool* threads = nullptr;
  // Log for loading and executing, including delegates; must outlive the method. `owner` is the
  // delegate that contains the method (DelegateInitContext::events), or none.
  EventSink events = {};
  // Options of backends (runtime/backend/backend_settings.h); null: their defaults. Only used by
  // Load. Those of backends that the method does not use have no effect.
  const OptionLookup* backend_options = nullptr;
};

// Not thread-safe: use one Method per thread; many may share a Program. Move-only.
class Method {
 public:
  // Resolves every kernel and delegate of the method, allocates its memory, initializes its state.
  // Afterwards Execute() allocates nothing. Exception: a large arena of tensors with dynamic sizes
  // is address space, whose pages are used when a call first needs them.
  //   kNotFound            unknown method; or operators without a kernel or missing backends (all
  //                        of them are listed)
  //   kResourceExhausted   memory, or a limit of the program
  //   kInvalidArgument     a buffer of the method is missing in the state, or differs;
  //                        MethodOptions::banks: an unknown or repeated bank, too little memory, a
  //                        misaligned address, or overlapping memory
  //   any error of a backend's Init, annotated with backend, method and delegate index
  // The program, the registries, state, threads and everything they refer to must outlive the
  // result.
  static absl::StatusOr<Method> Load(const Program& program ABSL_ATTRIBUTE_LIFETIME_BOUND,
                                     std::string_view name,
                                     const KernelRegistry& kernels ABSL_ATTRIBUTE_LIFETIME_BOUND,
                                     const BackendRegistry& backends ABSL_ATTRIBUTE_LIFETIME_BOUND,
                                     const MethodOptions& options = {});
  Method(Method&&) noexcept;
  Method& operator=(Method&&) noexcept;
  ~Method();

  const Program& program() const;
  const MethodPlan& plan() const;
  // MethodOptions::events with the method itself as owner.
  EventSink events() const;
  size_t num_inputs() const;
  size_t num_outputs() const;

  // Sets input i to a tensor or scalar, which stays set until the next SetInput. A tensor's memory
  // is used in place if it is dense in the planned dim order. Otherwise the elements are copied
  // into memory reserved at load. The memory must stay valid and unchanged until Execute() returns.
  // If the program mutates the input, the tensor is written to (and must have the planned order).
  // An input that must equal a constant need not be set.
  //   kOutOfRange        i
  //   kInvalidArgument   dtype, rank, a static size, the kind of value, or a value other than the
  //                      constant that the program was specialized for; names the input, the
  //                      expected and the actual value
  //   kOutOfRange        a dynamic size beyond its bounds; names dimension, bound and value
  absl::Status SetInput(size_t i, const EValue& value);

  // Runs the instructions. First checks that sizes with the same symbol agree (kInvalidArgument,
  // naming both inputs), and that a mutated input shares no memory with others.
  //   kFailedPrecondition  inputs that were never set (all are named)
  //   kResourceExhausted   Limits::executed_instructions, or the bounds in `options`; tensors
  //                       of dynamic sizes need more than Limits::arena_bytes, delegate_bytes or
  //                       scratch_bytes
  //   kDeadlineExceeded, kCancelled  as set in `options`; the message names the next instruction
  //   any error of a kernel or delegate, annotated with instruction index, operator, method
  // After an error, outputs are undefined and state is as left by the instructions before the
  // failing one. Execute may be called again.
  absl::Status Execute(const ExecuteOptions& options);
  absl::Status Execute() { return Execute(ExecuteOptions()); }
  // For debuggers: executes the next instruction of a call and returns its index in instructions().
  // Returns nullopt once the call is complete: then the outputs are those of Execute(), and the next
  // Step() begins another call, as it does after an error, SetInput(), SetOutputMemory() or
  // Execute(). `options` bound each step. Errors of Execute.
  absl::StatusOr<std::optional<size_t>> Step(const ExecuteOptions& options);
  absl::StatusOr<std::optional<size_t>> Step() { return Step(ExecuteOptions()); }
  // As Execute, charged to the budget of an enclosing call: for programs inside delegates. The
  // program's own limit of executed instructions also applies.
  absl::Status ExecuteWithin(Budget& budget);

  // Makes Execute() write output i to `memory` from now on, which saves the caller a copy. Returns
  // false, and places the output in the method's own memory again, in two cases. Either `memory` is
  // not a tensor of the planned dtype, sizes and order, aligned for its elements. Or the program
  // also uses the output's memory for another value (movable_outputs.h). `memory` must stay valid
  // until Execute() returns and while GetOutput(i) is used. It must not overlap an input or the
  // memory of another output.
  bool SetOutputMemory(size_t i, const TensorView& memory);

  // Output i of the last Execute(). Tensors are in the method's memory or that of
  // SetOutputMemory(), or are an input, constant or state that is passed through. Valid until the
  // next call of Execute, SetInput or SetOutputMemory. Precondition: Execute() succeeded, i <
  // num_outputs().
  const EValue& GetOutput(size_t i) const;

  // State buffers by name (plan().state): views into the method's memory, valid as long as the
  // method.
  absl::StatusOr<TensorView> GetState(std::string_view name) const;
  // Resets all state, shared or not, and the state of delegates, to the initial content.
  void ResetState();

  // Options of the backends of the method's delegates: their current values. Set changes them for
  // the next Execute().
  //   kInvalidArgument     the method has no delegate of this backend, or the backend has no such
  //                        option; a value of another type, or out of range
  //   kFailedPrecondition  the option can only be set in MethodOptions
  absl::StatusOr<OptionValue> GetBackendOption(std::string_view backend,
                                               std::string_view name) const;
  absl::Status SetBackendOption(std::string_view backend, std::string_view name,
                                const OptionValue& value);

  // One per instruction; valid as long as the program and the kernels.
  std::vector<InstructionInfo> instructions() const;
  // For callers that execute other code between calls: adds what a call reads of the object.
  void AddTables(CallTables& tables) const;
  uint64_t memory_bytes() const;  // arena (also the caller's) + state + scratch + input copies

 private:
  struct Impl;
  explicit Method(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_METHOD_H_
