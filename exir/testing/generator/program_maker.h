// Generates one random program. Private to RandomPrograms.
#ifndef BELAY_EXIR_TESTING_GENERATOR_PROGRAM_MAKER_H_
#define BELAY_EXIR_TESTING_GENERATOR_PROGRAM_MAKER_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exir/interpreter/operator_call.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/generator/random_program.h"

namespace belay::exir {

class ProgramMaker : private SymbolSource {
 public:
  ProgramMaker(Random& random, const OpRegistry& ops, const KernelRegistry& kernels,
               const RandomProgramOptions& options, std::function<const OperatorCalls&()> deal);

  RandomProgram Make();

 private:
  // A tensor of the program and its contents in the first call.
  struct Known {
    ValueId id;
    OwnedValue datum;
  };
  // A graph under construction.
  struct Scope {
    Scope(Graph& graph, Scope* outer) : editor(graph), outer(outer) {}
    GraphEditor editor;
    Scope* outer;                    // null for the top graph
    std::vector<Argument> operands;  // for a subgraph: its operands in the outer graph
    std::deque<Known> values;
    std::map<uint32_t, OwnedValue> data;   // contents of every value, scalars included
    std::map<std::string, ValueId> sizes;  // values that hold symbols
  };
  struct How {
    bool reuse = false;    // reuse matching existing values
    bool symbols = false;  // sizes of new tensors may be symbols
  };

  SymExpr Fresh(SymRange range) override;

  // Calls. Each returns false if the operator does not support the call; the program is then
  // unchanged except for new inputs.
  bool AddSomeCall(Scope& scope);
  bool AddCall(Scope& scope, const OperatorCalls& calls, const SampleCall& sample);
  bool Try(Scope& scope, const OpOverload& op, std::vector<Argument> arguments, bool unspecified);
  bool TryInPlace(Scope& scope, const OpOverload& op, std::vector<Argument> arguments);
  NodeId Insert(Scope& scope, GraphEditor::NewNode node,
                std::vector<GraphEditor::NewOutput> outputs);
  bool SizesAreLegal(const MetaValue& meta) const;
  Operand ToOperand(Scope& scope, const Argument& argument) const;
  // Returns the first result of a call, with defaults for omitted arguments; nullopt if the
  // operator does not support it. `op` is an ATen operator and is mapped to the program's dialect.
  std::optional<ValueId> Call(Scope& scope, std::string_view op, std::vector<Argument> given);
  std::optional<ValueId> SizeValue(Scope& scope, int64_t size);

  // Values.
  ValueId Bind(Scope& scope, const SampleTensor& sample, How how);
  ValueId NewSource(Scope& scope, const SampleTensor& sample, bool symbols);
  ValueId NewTopSource(Scope& scope, const SampleTensor& sample, bool symbols);
  ValueId AddConstant(Scope& scope, InputSpec spec, const ConstantTensor& constant,
                      const ValueType& type);
  ValueId AddBodyInput(Scope& body, ValueId operand, const OwnedValue& datum, ValueType type);
  void Know(Scope& scope, ValueId id, OwnedValue datum);
  const TensorMeta& Meta(const Scope& scope, ValueId id) const {
    return *scope.editor.graph().value(id).tensor();
  }
  std::optional<ValueId> PickFloat(Scope& scope);
  // Returns the last value of the same type.
  ValueId LastLike(const Scope& scope, ValueId like) const;

  // Control flow.
  void AddControlFlow(Scope& scope, int nesting);
  void FillSubgraph(Scope& body, int nesting);
  bool AddCond(Scope& scope, int nesting);
  bool AddWhileLoop(Scope& scope, int nesting);
  bool AddMap(Scope& scope, int nesting);
  bool AddScan(Scope& scope, int nesting);
  std::vector<ValueId> InsertControl(Scope& scope, std::string_view op,
                                     std::vector<Argument> arguments, std::vector<ValueType> types);
  GraphId Keep(Graph graph);

  void AddOutputs(Scope& scope);

  Random& random_;
  const OpRegistry& ops_;
  const KernelRegistry& kernels_;
  const RandomProgramOptions& options_;
  std::function<const OperatorCalls&()> deal_;
  RandomProgram made_;
  std::map<int64_t, std::string> symbols_;  // by their value on the first call
  int next_unbacked_ = 0;
  int next_source_ = 0;
  int64_t next_node_ = 1;
  bool in_body_ = false;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_PROGRAM_MAKER_H_
