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
#include "exir/op/op_table.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// One use only: Build() once. The program and the pool must outlive it.
class MethodBuilder {
 public:
  // Buffers that some method of the program changes, with their initial content. They are state in
  // every method that has the same buffer, so that methods can share it.
  using ChangedBuffers = absl::flat_hash_map<std::string, std::vector<const ConstantTensor*>>;

  MethodBuilder(const std::string& name, const ExportedProgram& program,
                const ChangedBuffers& changed, const EmitOptions& options, ConstantPool& pool);

  // Values, instructions and debug info; arena tensors have no offsets yet. Errors as
  // EmitProgram's.
  absl::StatusOr<WrittenMethod> Build();

 private:
  using ValueIndex = uint32_t;
  // What the values of one graph instance became; a body that is emitted twice has two.
  using Scope = SecondaryMap<ValueId, std::optional<ValueIndex>>;

  // How a higher-order operator is emitted.
  struct HigherOrder {
    std::string_view op;
    absl::Status (MethodBuilder::*emit)(const Graph& graph, NodeId id, Scope& scope);
  };
  static const HigherOrder kHigherOrder[6];

  absl::Status AddInputs();
  // What a mutation is written back to; nullopt when the program has no such input.
  std::optional<ValueIndex> WrittenInput(const OutputSpec& spec) const;
  absl::Status AddOutputs();
  absl::Status EmitGraph(const Graph& graph, Scope& scope);
  absl::Status EmitNode(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitDelegateCall(const Graph& graph, NodeId id, Scope& scope);
  // The index of the module's entry. Calls of one module whose operands are alike share it, so that
  // the backend makes it once and it keeps one state (docs/lowering.md §7.18).
  //   kUnimplemented  calls of a module that keeps state whose operands are not alike
  absl::StatusOr<uint32_t> DelegateIndex(ModuleId module, const std::vector<ValueIndex>& arguments,
                                         const std::vector<ValueIndex>& outputs);
  // What a delegate that takes the value may rely on: everything but where it lies.
  std::string OperandForm(ValueIndex value) const;
  absl::Status EmitCond(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitWhileLoop(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitMap(const Graph& graph, NodeId id, Scope& scope);
  absl::Status EmitScan(const Graph& graph, NodeId id, Scope& scope);
  // A loop over the rows of tensors: results are the carried values (`initial`, where there are
  // some), then the stacked others.
  absl::Status EmitRowLoop(const Graph& graph, NodeId id, Scope& scope);
  // The value of a size of the result of a loop over rows, which the loop may never compute: that of
  // an operand, or a sum, product, quotient, maximum or minimum of such. nullopt when it is none of
  // these; what was computed of it on the way stays and is not used. All values among the node's
  // arguments are in the scope.
  std::optional<ValueIndex> ComputeSize(const Graph& graph, NodeId id, const Scope& scope,
                                        const SymInt& size);
  absl::Status EmitWithEffects(const Graph& graph, NodeId id, Scope& scope);
  // Moves what a body gives to what the loop carries, in an order that loses nothing.
  void CarryOver(std::vector<ValueIndex> outputs, const std::vector<ValueIndex>& carried);
  // Emits a body whose inputs are the given values; returns the values of its outputs.
  absl::StatusOr<std::vector<ValueIndex>> EmitBody(const Graph& body,
                                                   const std::vector<ValueIndex>& operands);

  absl::StatusOr<ValueIndex> ArgumentValue(const Graph& graph, const Argument& argument,
                                           const Scope& scope);
  absl::StatusOr<std::vector<ValueIndex>> OperandValues(const Graph& graph, const Argument& list,
                                                        const Scope& scope);
  // A value for each result; lists get a list value. One index per output of the node.
  absl::StatusOr<std::vector<ValueIndex>> AddResults(const Graph& graph, NodeId id, Scope& scope);
  absl::StatusOr<ValueIndex> AddResult(const Graph& graph, ValueId id);
  absl::StatusOr<schema::Tensor> DescribeTensor(const TensorMeta& meta, std::string_view name);
  // Notes a size without an upper bound, once per symbol.
  void AddUnbounded(const SymInt& size, int dim, std::string_view name);
  absl::Status AddState(size_t input, const TensorMeta& meta, Scope& scope);
  // Whether another method changes this buffer: one of its name, type and initial content.
  absl::StatusOr<bool> IsChangedElsewhere(const InputSpec& spec, const ConstantTensor& constant,
                                          uint32_t index, absl::Span<const uint8_t> order);
  void AddConstraint(schema::Input& input, uint32_t dim, const SymExpr& expr);

  ValueIndex AddValue(schema::Value value);
  // The number of a tensor's symbolic sizes, the same for the same sizes; 0 for static ones.
  uint32_t ShapeNumber(const TensorMeta& meta);
  // Equal literals share a value.
  ValueIndex AddLiteral(const schema::Value& value);
  ValueIndex AddInt(int64_t number);
  ValueIndex AddNone();
  ValueIndex AddScalarSlot(schema::ScalarSlot::Kind kind);
  ValueIndex AddList(const std::vector<ValueIndex>& elements);
  // An arena tensor like `like` (which may be of any location).
  ValueIndex AddTemporaryLike(ValueIndex like);
  uint32_t OperatorIndex(const std::string& name);
  schema::Instruction& AddInstruction();
  void AddKernelCall(const std::string& op, const std::vector<ValueIndex>& arguments,
                     const std::vector<ValueIndex>& outputs);
  void AddMove(ValueIndex from, ValueIndex to);
  bool IsInputOrState(ValueIndex value) const;
  void AddUnknownOperator(const std::string& op, const Node& node);
  // kUnimplemented with all that can't be emitted.
  absl::Status UnsupportedError() const;
  // That, and kInvalidArgument with all sizes without an upper bound: both together where there are
  // both.
  absl::Status Problems() const;

  const std::string& name_;
  const ExportedProgram& program_;
  const ChangedBuffers& changed_;
  const OpTable<HigherOrder> higher_order_;
  const InPlaceNodes in_place_;
  ConstantPool& pool_;
  schema::Method method_;
  schema::MethodDebugInfo debug_;
  Scope top_;
  const Graph* current_graph_ = nullptr;  // for debug info and messages
  NodeId current_node_;
  absl::flat_hash_map<std::string, ValueIndex> literals_;
  absl::flat_hash_map<std::string, uint32_t> operators_;
  absl::flat_hash_map<std::string, uint32_t> delegates_;  // by module and forms of the operands
  absl::flat_hash_set<ModuleId> delegated_;               // the modules of these
  std::vector<uint32_t> shapes_;                          // by value; those behind its end are 0
  absl::flat_hash_map<std::string, uint32_t> shape_numbers_;
  ProblemList unsupported_;
  ProblemList unbounded_;
  absl::flat_hash_set<std::string> unbounded_symbols_;
  // Operators that nothing here knows → where they are used.
  absl::btree_map<std::string, std::vector<std::string>> unknown_operators_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_METHOD_BUILDER_H_
