// A loaded method: everything resolved, all memory in place, ready to be executed again and again.
#ifndef BELAY_RUNTIME_EXECUTOR_METHOD_H_
#define BELAY_RUNTIME_EXECUTOR_METHOD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/budget.h"
#include "runtime/core/evalue.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/execute_options.h"
#include "runtime/executor/instruction_info.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay {

// What a method is loaded with besides its program.
struct MethodOptions {
  // Where the method's state lies, with the content that it has; without, the method has state of
  // its own, with its initial content.
  SharedState* state = nullptr;
  // What all that the method holds is taken from, besides the limits; need not outlive Load: for
  // programs inside of delegates.
  MemoryBudget* memory = nullptr;
  // Who works on each instruction. Results are the same for any number of threads, and without.
  ThreadPool* threads = nullptr;
  // Where loading and executing are logged, delegates included; must outlive the method. `owner` is
  // the delegate that a method is in (DelegateInitContext::events), or none.
  EventSink events = {};
};

// Not thread-safe: one Method per thread; many may share a Program. Move-only.
class Method {
 public:
  // Resolves every kernel and delegate of the method, allocates its memory, initializes its state.
  // Afterwards Execute() allocates nothing.
  //   kNotFound            no such method; or operators without a kernel or backends that are
  //                        missing (all of them are listed)
  //   kResourceExhausted   memory, or a limit of the program's
  //   anything a backend's Init returns, annotated with backend, method and delegate index
  //   kInvalidArgument     the state lacks a buffer of the method, or has another of its name
  // The program, the registries, state, threads and what they refer to must outlive the result.
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
  // MethodOptions::events, with the method itself as owner.
  EventSink events() const;
  size_t num_inputs() const;
  size_t num_outputs() const;

  // Gives input i a tensor or scalar, which it keeps until it is given another. A tensor's memory
  // is used in place, without a copy, when it is dense in the planned dim order, else the elements
  // are copied into memory reserved at load; it must stay valid and unchanged until Execute()
  // returned. If the program mutates the input, the tensor is written to (and must have the planned
  // order). An input that must equal a constant need not be set.
  //   kOutOfRange        i
  //   kInvalidArgument   dtype, rank, a static size, the kind of value, or a value other than the
  //                      constant that the program was specialized for; names the input, what was
  //                      expected and what came
  //   kOutOfRange        a dynamic size beyond its bounds; names dimension, bound and value
  absl::Status SetInput(size_t i, const EValue& value);

  // Runs the instructions. Sizes that share a symbol are checked against each other first
  // (kInvalidArgument, naming both inputs), and that a mutated input shares no memory with others.
  //   kFailedPrecondition  some input was never set (all are named)
  //   kResourceExhausted   Limits::executed_instructions, or that of `options`
  //   kDeadlineExceeded, kCancelled  as `options` ask; the message names the next instruction
  //   anything a kernel or delegate returns, annotated with the instruction's index, operator and
  //   method
  // After an error outputs are undefined, state is as the instructions before the failing one left
  // it, and Execute may be called again.
  absl::Status Execute(const ExecuteOptions& options);
  absl::Status Execute() { return Execute(ExecuteOptions()); }
  // The same on account of another call: for programs inside of delegates. The program's limit of
  // executed instructions holds as well.
  absl::Status ExecuteWithin(Budget& budget);

  // Whether Execute() writes output i to `memory` from now on, and so spares the caller a copy. If
  // not, it lies in the method's own memory, also where it lay elsewhere before: `memory` is not a
  // tensor of just the planned dtype, sizes and order, aligned for its elements, or the program
  // uses the place of the output for something else, too (movable_outputs.h). `memory` must stay
  // valid until Execute() returned and as long as GetOutput(i) is read, and overlap no input and no
  // memory of another output.
  bool SetOutputMemory(size_t i, const TensorView& memory);

  // Output i of the last Execute(). Tensors lie in the method's memory or in that of
  // SetOutputMemory(), or are an input, constant or state that is passed through; valid until the
  // next call of Execute, SetInput or SetOutputMemory.
  // Precondition: Execute() succeeded, i < num_outputs().
  const EValue& GetOutput(size_t i) const;

  // State buffers by name (plan().state): views into the method's memory, valid as long as the
  // method.
  absl::StatusOr<TensorView> GetState(std::string_view name) const;
  // Gives all state its initial content, shared or not, and that of delegates.
  void ResetState();

  // One per instruction; valid as long as the program and the kernels.
  std::vector<InstructionInfo> instructions() const;
  uint64_t memory_bytes() const;  // arena + state + scratch + input copies

 private:
  struct Impl;
  explicit Method(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_METHOD_H_
