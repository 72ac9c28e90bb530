// Executes a program's graphs directly, node by node: the oracle that lowering, passes and the
// runtime are compared with.
//
//   ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(program, kernels));
//   ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> results, interpreter.Run({EValue(x), EValue(y)}));
//
// Numerics are those of the runtime's kernels, by default of the reference kernels. Every dialect
// is executed: view operators give views that share memory, operators that write to an argument
// write, symbolic arithmetic, cond, while_loop, map_impl, scan, regions without autocast, operators
// with effects, and delegate calls, which mean the program that was lowered. Operators that have no
// other kernel are executed by their composite kernel (OpRegistry::SetCompositeKernel): what it makes of
// each call is.
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
#include "runtime/kernel/kernel_registry.h"

namespace belay::exir {

// One executed node; those that composite kernels make are not seen.
struct NodeEvent {
  const ExportedProgram&
      program;  // the one that holds the node: a delegate's own inside a delegate
  GraphId graph;
  NodeId node;
  // The calls that lead here, outermost first: names of control-flow nodes and delegate calls.
  absl::Span<const std::string> callers;
  absl::Span<const OwnedValue* const> results;  // parallel to Node::results()
};
// An error ends the execution and becomes its status.
using NodeObserver = std::function<absl::Status(const NodeEvent&)>;

struct InterpreterOptions {
  // Of which engine kernels may be. Any, as the runtime prefers them, when empty.
  std::optional<KernelEngine> engine = KernelEngine::kReference;
  // Of all loops (while_loop, map_impl, scan) of one Run together.
  int64_t max_iterations = 1'000'000;
  uint64_t max_tensor_bytes = uint64_t{4} << 30;
  // Bodies within bodies and delegates within delegates.
  int max_nesting = 100;
  NodeObserver observer = nullptr;
};

// Move-only. Thread-compatible: one Run at a time. State (mutated buffers and parameters, also
// those that delegates own) lives in the interpreter and stays between runs. Nothing of the program
// is copied but its state; the program and the kernels must outlive the interpreter and not change.
class Interpreter {
 public:
  // Precondition: the program verifies.
  //   kUnimplemented  nodes and inputs that can't be executed: all of them, each with its source; what
  //                   a composite kernel makes is seen when it is called
  static absl::StatusOr<Interpreter> Create(const ExportedProgram& program,
                                            const KernelRegistry& kernels,
                                            InterpreterOptions options = {});
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  // `inputs` are the user inputs in the order of the signature (specialized ones included: they
  // take their value, or none). Results are the user outputs, in memory of their own. Inputs that
  // the program mutates are written in the caller's memory, and state is updated, after everything
  // else succeeded (operators that write in place, as TRAINING programs have them, write at once).
  //   kInvalidArgument    number, kind, dtype, rank or size of an input: which, expected, came
  //   kResourceExhausted  a loop ran longer, or a tensor is larger, than the options allow
  //   kInternal           a node gave something else than the program declares
  //   whatever an operator returns, annotated with the node
  absl::StatusOr<std::vector<OwnedValue>> Run(absl::Span<const EValue> inputs);

  // The current value of a mutated buffer or parameter of this program; valid until the next Run,
  // SetState or ResetState. State that a delegate owns is found by its name too.
  //   kNotFound  there is no state of that name: the message lists what there is
  absl::StatusOr<TensorView> GetState(std::string_view name) const;
  //   kNotFound; kInvalidArgument when dtype or sizes differ
  absl::Status SetState(std::string_view name, const TensorView& value);
  // To the values that the program came with.
  absl::Status ResetState();
  std::vector<std::string> StateNames() const;  // sorted

 private:
  class Impl;
  explicit Interpreter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_INTERPRETER_H_
