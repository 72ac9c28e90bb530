// Executes a program's graphs directly, node by node: the oracle for lowering, passes and the
// runtime.
//
//   ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(program, kernels));
//   ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> results, interpreter.Run({EValue(x), EValue(y)}));
//
// Numerics are those of the runtime's kernels, by default of the reference kernels. Executes every
// dialect: view operators return views that share memory, and in-place operators write to their
// arguments. Supports symbolic arithmetic, cond, while_loop, map_impl, scan, regions without
// autocast, operators with effects, and delegate calls, which execute the program that was lowered.
// Operators without another kernel run by their composite kernel (OpRegistry::SetCompositeKernel):
// each call executes the nodes that it creates.
#ifndef BELAY_EXIR_INTERPRETER_INTERPRETER_H_
#define BELAY_EXIR_INTERPRETER_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// One executed node. Nodes created by composite kernels are not reported.
struct NodeEvent {
  const ExportedProgram& program;  // program that owns the node: a delegate's own inside a delegate
  GraphId graph;
  NodeId node;
  // The call stack, outermost first: names of control-flow nodes and delegate calls.
  absl::Span<const std::string> callers;
  absl::Span<const OwnedValue* const> results;  // parallel to Node::results()
};
// An error aborts the execution and becomes its status.
using NodeObserver = std::function<absl::Status(const NodeEvent&)>;

struct InterpreterOptions {
  // Restricts kernels to one engine. If empty, any, in the runtime's order of preference.
  std::optional<KernelEngine> engine = KernelEngine::kReference;
  // Limit of all loops (while_loop, map_impl, scan) of one Run together.
  int64_t max_iterations = 1'000'000;
  uint64_t max_tensor_bytes = uint64_t{4} << 30;
  // Nesting depth of subgraphs and delegates.
  int max_nesting = 100;
  // In programs that write nothing in place, copies of bytes (`view_copy`, `clone`) share the memory
  // of their argument instead of calling their kernel.
  bool share_copies = false;
  NodeObserver observer = nullptr;
  // Works on the calls of kernels; must outlive the interpreter. Null: only the calling thread does.
  // Results do not depend on it.
  ThreadPool* threads = nullptr;
};

// Move-only. Thread-compatible: one Run at a time. State (mutated buffers and parameters, also
// those that delegates own) is stored in the interpreter and persists between runs. Only state is
// copied from the program; the program and the kernels must outlive the interpreter and not change.
class Interpreter {
 public:
  // Precondition: the program verifies.
  //   kUnimplemented  lists all nodes and inputs that cannot be executed, each with its source;
  //                   nodes of composite kernels are checked only when they are called
  static absl::StatusOr<Interpreter> Create(const ExportedProgram& program,
                                            const KernelRegistry& kernels,
                                            InterpreterOptions options = {});
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  // `inputs` are the user inputs in the order of the signature (including specialized ones, which
  // accept their value, or none). Results are the user outputs, in memory of their own. After
  // everything else succeeded, mutated inputs are written in the caller's memory and state is
  // updated. Exception: operators that write in place, as in TRAINING programs, write immediately.
  //   kInvalidArgument    count, kind, dtype, rank or size of an input: which, expected, actual
  //   kResourceExhausted  a loop runs longer, or a tensor is larger, than the options permit
  //   kInternal           the result of a node differs from the type that the program declares
  //   errors of operators, annotated with the node
  absl::StatusOr<std::vector<OwnedValue>> Run(absl::Span<const EValue> inputs);

  // Frees the memory that a run keeps for the next one.
  void FreeUnusedMemory();

  // Current value of a mutated buffer or parameter of this program; valid until the next Run,
  // SetState or ResetState. State that a delegate owns is also found by name.
  //   kNotFound  unknown state; the message lists the names
  absl::StatusOr<TensorView> GetState(std::string_view name) const;
  //   kNotFound; kInvalidArgument if dtype or sizes differ
  absl::Status SetState(std::string_view name, const TensorView& value);
  // Restores the initial values of the program.
  absl::Status ResetState();
  std::vector<std::string> StateNames() const;  // sorted

 private:
  class Impl;
  explicit Interpreter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_INTERPRETER_H_
