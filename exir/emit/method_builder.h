// Builds the values and instructions of one method.
#ifndef BELAY_EXIR_EMIT_METHOD_BUILDER_H_
#define BELAY_EXIR_EMIT_METHOD_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "exir/emit/constant_pool.h"
#include "exir/emit/emitter.h"
#include "exir/emit/in_place_state.h"
#include "exir/emit/method_memory.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/problem_list.h"
#include "exir/ir/refused_node.h"
#include "exir/op_definition/op_table.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Single use: call Build() once. The program and the pool must outlive it.
class MethodBuilder {
 public:
  // Buffers that any method of the program mutates, with their initial contents. They are state in
  // every method that has the same buffer, so that methods can share it.
  using ChangedBuffers = absl::flat_hash_map<std::string, std::vector<const ConstantTensor*>>;

  MethodBuilder(const std::string& name, const ExportedProgram& program,
                const ChangedBuffers& changed, const EmitOptions& options, ConstantPool& pool);

  // Builds values, instructions and debug info; arena tensors have no offsets yet. Errors of
  // EmitProgram.
  absl::StatusOr<WrittenMethod> Build();

 private:
  using ValueIndex = uint32_t;
  // Emitted values of one graph instance; a subgraph that is emitted twice has two scopes.
  using Scope = SecondaryMap<ValueId, std::optional<ValueIndex>>;

  // Emission function of a higher-order operator.
  struct HigherOrder {
    std::string_view op;
    absl::Status (MethodBuilder::*emit)(const Graph& graph, NodeId id, Scope& scope);
  };
  static const HigherOrder kHigherOrder[6];

  absl::Status AddInputs();
  // The input to which a mutation is written back; nullopt if the program has no such input.
  std::optional<ValueIndex> WrittenInput(const OutputSpec& spec) const;
  absl::Status AddOutputs();
  absl::Status EmitGraph(const Graph& graph, Scope& scope);
  absl::Status EmitNode(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitDelegateCall(const Graph& graph, NodeId id, Scope& scope);
  // Returns the index of the module's delegate entry. Calls of one module with equal operand types
  // share it, so that the backend initializes it once and it has one state (docs/lowering.md
  // §7.18).
  //   kUnimplemented  calls of a stateful module with different operand types
  absl::StatusOr<uint32_t> DelegateIndex(ModuleId module, const std::vector<ValueIndex>& arguments,
                                         const std::vector<ValueIndex>& outputs);
  // Properties of the value on which a delegate may rely: all except its memory location.
  std::string OperandForm(ValueIndex value) const;
  absl::Status EmitCond(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitWhileLoop(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitMap(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitScan(const Graph& graph, NodeId id, Scope& scope);
  // Emits a loop over tensor rows. Results are the carried values (`initial`, if any), then the
  // stacked ones.
  absl::Status EmitRowLoop(const Graph& graph, NodeId id, Scope& scope);
  // Value of a size of a row loop's result, needed because the loop may have no iteration. It is a
  // size of an operand, or a sum, product, quotient, maximum or minimum of such sizes; otherwise
  // nullopt. In that case, partial computations stay in the method, unused. All values among the
  // node's arguments must be in the scope.
  std::optional<ValueIndex> ComputeSize(const Graph& graph, NodeId id, const Scope& scope,
                                        const SymInt& size);
  absl::Status EmitWithEffects(const Graph& graph, NodeId id, Scope& scope);
  // Moves a subgraph's outputs to the loop-carried values, as a parallel copy.
  void CarryOver(std::vector<ValueIndex> outputs, const std::vector<ValueIndex>& carried);
  // Emits a subgraph with the given input values; returns its output values.
  absl::StatusOr<std::vector<ValueIndex>> EmitSubgraph(const Graph& body,
                                                       const std::vector<ValueIndex>& operands);

  absl::StatusOr<ValueIndex> ArgumentValue(const Graph& graph, const Argument& argument,
                                           const Scope& scope);
  absl::StatusOr<std::vector<ValueIndex>> OperandValues(const Graph& graph, const Argument& list,
                                                        const Scope& scope);
  // Adds one value per result; lists get a list value. Returns one index per output of the node.
  absl::StatusOr<std::vector<ValueIndex>> AddResults(const Graph& graph, NodeId id, Scope& scope);
  absl::StatusOr<ValueIndex> AddResult(const Graph& graph, ValueId id);
  absl::StatusOr<schema::Tensor> DescribeTensor(const TensorMeta& meta, std::string_view name);
  // Records a size without an upper bound, once per symbol.
  void AddUnbounded(const SymInt& size, int dim, std::string_view name);
  absl::Status AddState(size_t input, const TensorMeta& meta, Scope& scope);
  // Whether another method mutates this buffer: one with the same name, type and initial content.
  absl::StatusOr<bool> IsChangedElsewhere(const InputSpec& spec, const ConstantTensor& constant,
                                          uint32_t index, absl::Span<const uint8_t> order);
  void AddConstraint(schema::Input& input, uint32_t dim, const SymExpr& expr);

  ValueIndex AddValue(schema::Value value);
  // Id of a tensor's symbolic sizes: equal for equal sizes; 0 for static ones.
  uint32_t ShapeNumber(const TensorMeta& meta);
  // Equal literals share one value.
  ValueIndex AddLiteral(const schema::Value& value);
  ValueIndex AddInt(int64_t number);
  ValueIndex AddNone();
  ValueIndex AddScalarSlot(schema::ScalarSlot::Kind kind);
  ValueIndex AddList(const std::vector<ValueIndex>& elements);
  // Adds an arena tensor of the type of `like`, which may be in any location.
  ValueIndex AddTemporaryLike(ValueIndex like);
  uint32_t OperatorIndex(const std::string& name);
  schema::Instruction& AddInstruction();
  void AddKernelCall(const std::string& op, const std::vector<ValueIndex>& arguments,
                     const std::vector<ValueIndex>& outputs);
  void AddMove(ValueIndex from, ValueIndex to);
  bool IsInputOrState(ValueIndex value) const;
  void AddUnknownOperator(const std::string& op, const Node& node);
  // kUnimplemented that lists everything that cannot be emitted.
  absl::Status UnsupportedError() const;
  // UnsupportedError, or kInvalidArgument that lists all sizes without an upper bound. If both
  // occur, one error contains both.
  absl::Status Problems() const;

  const std::string& name_;
  const ExportedProgram& program_;
  const ChangedBuffers& changed_;
  const OpTable<HigherOrder> higher_order_;
  const InPlaceNodes in_place_;
  ConstantPool& pool_;
  schema::Method method_;
  schema::MethodDebugInfo debug_;
  std::vector<std::pair<const Graph*, NodeId>> nodes_;  // by instruction; null without a node
  Scope top_;
  const Graph* current_graph_ = nullptr;  // for debug info and messages
  NodeId current_node_;
  absl::flat_hash_map<std::string, ValueIndex> literals_;
  absl::flat_hash_map<std::string, uint32_t> operators_;
  absl::flat_hash_map<std::string, uint32_t> delegates_;  // by module and operand types
  absl::flat_hash_set<ModuleId> delegated_;               // modules in delegates_
  std::vector<uint32_t> shapes_;                          // by value; 0 past the end
  absl::flat_hash_map<std::string, uint32_t> shape_numbers_;
  ProblemList unsupported_;
  ProblemList unbounded_;
  absl::flat_hash_set<std::string> unbounded_symbols_;
  // Maps unknown operators to their uses.
  absl::btree_map<std::string, std::vector<RefusedNode>> unknown_operators_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_METHOD_BUILDER_H_
