// Makes one random program. Private to ProgramGenerator.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_PROGRAM_MAKER_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_PROGRAM_MAKER_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/differential/program_generator.h"
#include "exir/interpreter/operator_call.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/graph_editor.h"

namespace belay::conformance {

class ProgramMaker : private exir::SymbolSource {
 public:
  ProgramMaker(Dice& dice, const exir::OpRegistry& ops, const KernelRegistry& kernels,
               const GeneratorOptions& options, std::function<const OperatorCalls&()> deal);

  GeneratedProgram Make();

 private:
  // A tensor of the program and what it is on the first call.
  struct Known {
    exir::ValueId id;
    exir::OwnedValue datum;
  };
  // A graph that is being made.
  struct Scope {
    Scope(exir::Graph& graph, Scope* outer) : editor(graph), outer(outer) {}
    exir::GraphEditor editor;
    Scope* outer;                          // null for the top graph
    std::vector<exir::Argument> operands;  // of a body: what its call gives it, in the outer graph
    std::deque<Known> values;
    std::map<uint32_t, exir::OwnedValue> data;   // of every value, scalars included
    std::map<std::string, exir::ValueId> sizes;  // the value that is a symbol
  };
  struct How {
    bool reuse = false;    // values that are there, where they fit
    bool symbols = false;  // sizes of new tensors may be symbols
  };

  exir::SymExpr Fresh(exir::SymRange range) override;

  // Calls. Each returns false, and leaves the program as it was but for new inputs, when the
  // operator does not take the call.
  bool AddSomeCall(Scope& scope);
  bool AddCall(Scope& scope, const OperatorCalls& calls, const SampleCall& sample);
  bool Try(Scope& scope, const exir::OpOverload& op, std::vector<exir::Argument> arguments,
           bool unspecified);
  bool TryInPlace(Scope& scope, const exir::OpOverload& op, std::vector<exir::Argument> arguments);
  bool SizesAreLegal(const exir::MetaValue& meta) const;
  exir::Operand ToOperand(Scope& scope, const exir::Argument& argument) const;
  // The only result of a call that must succeed; nothing otherwise.
  std::optional<exir::ValueId> Call(Scope& scope, std::string_view op,
                                    std::vector<exir::Argument> given);
  std::optional<exir::ValueId> SizeValue(Scope& scope, int64_t size);

  // Values.
  exir::ValueId Bind(Scope& scope, const SampleTensor& sample, How how);
  exir::ValueId NewSource(Scope& scope, const SampleTensor& sample, bool symbols);
  exir::ValueId NewTopSource(Scope& scope, const SampleTensor& sample, bool symbols);
  exir::ValueId AddBodyInput(Scope& body, exir::ValueId operand, const exir::OwnedValue& datum,
                             exir::ValueType type);
  void Know(Scope& scope, exir::ValueId id, exir::OwnedValue datum);
  const exir::TensorMeta& Meta(const Scope& scope, exir::ValueId id) const {
    return *scope.editor.graph().value(id).tensor();
  }
  std::optional<exir::ValueId> PickFloat(Scope& scope);
  // The last value of the type.
  exir::ValueId LastLike(const Scope& scope, exir::ValueId like) const;

  // Control flow.
  void AddControlFlow(Scope& scope, int nesting);
  void FillBody(Scope& body, int nesting);
  bool AddCond(Scope& scope, int nesting);
  bool AddWhileLoop(Scope& scope, int nesting);
  bool AddMap(Scope& scope, int nesting);
  bool AddScan(Scope& scope, int nesting);
  std::vector<exir::ValueId> InsertControl(Scope& scope, std::string_view op,
                                           std::vector<exir::Argument> arguments,
                                           std::vector<exir::ValueType> types);
  exir::GraphId Keep(exir::Graph graph);

  void AddOutputs(Scope& scope);

  Dice& dice_;
  const exir::OpRegistry& ops_;
  const KernelRegistry& kernels_;
  const GeneratorOptions& options_;
  std::function<const OperatorCalls&()> deal_;
  GeneratedProgram made_;
  std::map<int64_t, std::string> symbols_;  // by their value on the first call
  int next_unbacked_ = 0;
  int next_source_ = 0;
  bool in_body_ = false;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_PROGRAM_MAKER_H_
