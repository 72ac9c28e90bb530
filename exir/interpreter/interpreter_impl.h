// Implementation of the interpreter: state, one run, frames. Included only by its two source files.
#ifndef BELAY_EXIR_INTERPRETER_INTERPRETER_IMPL_H_
#define BELAY_EXIR_INTERPRETER_INTERPRETER_IMPL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "exir/interpreter/buffer_pool.h"
#include "exir/interpreter/interpreter.h"
#include "exir/interpreter/operator_call.h"

namespace belay::exir {

class Interpreter::Impl {
 public:
  // The values of nodes are in buffers of `pool`, also those of delegates and composite kernels.
  Impl(const ExportedProgram& program, const KernelRegistry& kernels, InterpreterOptions options,
       std::shared_ptr<BufferPool> pool);

  // State shared by all programs of one Run.
  struct RunState {
    int64_t iterations = 0;
    std::vector<std::string> callers;
  };

  BufferPool& pool() { return *pool_; }
  // Creates state, constants and the interpreters of delegates. `missing` collects everything that
  // cannot be executed.
  absl::Status Prepare(int nesting, std::vector<std::string>& missing);
  absl::StatusOr<std::vector<OwnedValue>> Run(absl::Span<const EValue> inputs, RunState& run);

  // Returns nullptr if unknown.
  OwnedValue* FindState(std::string_view name);
  absl::Status ResetState();
  void CollectStateNames(std::vector<std::string>& names) const;

 private:
  using Symbols = absl::btree_map<std::string, int64_t>;
  // Values of one execution of one graph.
  struct Frame {
    const Graph* graph;
    GraphId id;
    std::vector<OwnedValue> values;
    Symbols symbols;
  };
  // Maps each node to the values of a graph whose last use it is.
  using LastUses = SecondaryMap<NodeId, std::vector<ValueId>>;

  // Whether the registry has a kernel for it. If not, its composite kernel is used.
  bool HasKernel(const OpOverload& op) const {
    return op.has_meta_kernel() && kernels_.Contains(op.name());
  }
  void CheckNode(const Graph& graph, NodeId id, std::vector<std::string>& missing) const;
  void FindLastUses(GraphId id);
  // Returns whether the node writes to its arguments, or calls an operator by name.
  bool MayWrite(const Node& node) const;

  // Inputs and outputs.
  absl::Status BindInputs(absl::Span<const EValue> inputs, Frame& frame) const;
  absl::StatusOr<std::vector<OwnedValue>> TakeResults(Frame& frame);
  absl::Status CheckInput(const std::string& what, const ValueType& type,
                          const OwnedValue& datum) const;
  // Binds the symbols of this type to the value's sizes, and checks known sizes. kInvalidArgument
  // states expected and actual.
  absl::Status Bind(const ValueType& type, const OwnedValue& datum, Symbols& symbols) const;
  absl::Status BindSymbol(const SymExpr& expr, int64_t value, const std::string& what,
                          Symbols& symbols) const;

  // Nodes.
  absl::Status RunGraph(Frame& frame, RunState& run);
  absl::Status RunNode(Frame& frame, NodeId id, RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> Execute(Frame& frame, NodeId id, RunState& run);
  // Returns the values of `outputs` without undefined results.
  absl::StatusOr<std::vector<OwnedValue>> RunOperator(Frame& frame, const OpOverload& op,
                                                      absl::Span<const Argument> arguments,
                                                      absl::Span<const NodeOutput> outputs,
                                                      RunState& run);
  // Same, with the operator's composite kernel: executes the nodes that it creates for the call.
  absl::StatusOr<std::vector<OwnedValue>> RunComposite(Frame& frame, const OpOverload& op,
                                                       absl::Span<const Argument> arguments,
                                                       absl::Span<const NodeOutput> outputs,
                                                       RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunBody(Frame& outer, const Argument& body,
                                                  std::vector<OwnedValue> operands, RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunCond(Frame& frame, const Node& node, RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunWhileLoop(Frame& frame, const Node& node,
                                                       RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunMap(Frame& frame, const Node& node, RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunScan(Frame& frame, const Node& node, RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunWithEffects(Frame& frame, const Node& node,
                                                         RunState& run);
  absl::StatusOr<std::vector<OwnedValue>> RunDelegate(Frame& frame, NodeId id, RunState& run);
  absl::StatusOr<OwnedValue> Stack(const Frame& frame, const std::vector<OwnedValue>& rows,
                                   const ValueType& type) const;
  absl::Status CountIteration(RunState& run) const;

  absl::StatusOr<Operand> ToOperand(Frame& frame, const Argument& argument) const;
  absl::StatusOr<OwnedValue> Evaluate(const Frame& frame, const Argument& argument) const;
  absl::StatusOr<std::vector<OwnedValue>> EvaluateList(const Frame& frame,
                                                       const Argument& argument) const;

  const ExportedProgram& program_;
  const KernelRegistry& kernels_;
  InterpreterOptions options_;
  std::shared_ptr<BufferPool> pool_;
  bool share_copies_ = false;          // CallOptions::share_copies
  std::vector<LastUses> last_uses_;    // by graph
  std::vector<OwnedValue> constants_;  // by input of the top graph; includes state
  struct State {
    size_t input;
    OwnedValue initial;
  };
  absl::btree_map<std::string, State> state_;
  // One for all calls of a module, which share its state.
  absl::btree_map<ModuleId, std::unique_ptr<Impl>> delegates_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_INTERPRETER_IMPL_H_
