// A program: graphs, signature, constants, symbol ranges, and lowered modules. Input and output of
// every stage.
#ifndef BELAY_EXIR_IR_EXPORTED_PROGRAM_H_
#define BELAY_EXIR_IR_EXPORTED_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "exir/ir/constant.h"
#include "exir/ir/entity.h"
#include "exir/ir/graph.h"
#include "exir/ir/graph_signature.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

struct LoweredBackendModule;  // exir/ir/lowered_backend_module.h

// Determines which operators the graphs may contain (docs/pt2-format.md §13).
enum class IrDialect : uint8_t { kTraining, kAten, kEdge };
std::string_view IrDialectName(IrDialect dialect);  // "TRAINING", "ATEN", "EDGE"

// Tensors by fully qualified name.
using ConstantMap = absl::btree_map<std::string, ConstantTensor>;

// Move-only; Clone() copies graphs and maps and shares all bytes and lowered modules. Contains no
// pointers into itself, so it may be moved freely. Thread-compatible.
struct ExportedProgram {
  // Defined in the .cc, so that files that only read programs do not compile it.
  explicit ExportedProgram(const OpRegistry* ops);
  ExportedProgram(ExportedProgram&& other) noexcept;
  ExportedProgram& operator=(ExportedProgram&& other) noexcept;
  ~ExportedProgram();
  ExportedProgram Clone() const;

  static constexpr GraphId kTop = GraphId(0);
  const Graph& top() const { return graphs[kTop]; }
  Graph& top() { return graphs[kTop]; }

  // Returns the tensor of an input of kind parameter, buffer or tensor constant; nullptr if there
  // is none. Searches the map that the spec selects first, then the other (docs/pt2-format.md §4).
  const ConstantTensor* FindConstant(const InputSpec& spec) const;
  // Returns the position of the value among the top graph's inputs; nullopt if it is not an input.
  std::optional<size_t> InputIndex(ValueId value) const;
  // Erases the subgraphs that no node refers to (V7 of the verifier) and renumbers the others,
  // keeping their order. Returns the number of erased graphs. Precondition: there is a top graph.
  // O(program).
  size_t EraseUnusedBodies();

  const OpRegistry* ops;  // outlives the program
  IrDialect dialect = IrDialect::kAten;
  PrimaryMap<GraphId, Graph>
      graphs;  // [0] is the top graph; the others are subgraphs of higher-order operators
  GraphSignature signature;
  ConstantMap state_dict;  // parameters and persistent buffers
  ConstantMap constants;   // tensor constants and non-persistent buffers
  SymRanges ranges;        // by symbol; a symbol without entry is [0, ∞)
  // Trace-time values of symbols, if the archive gives them.
  absl::btree_map<std::string, int64_t> hints;
  // Pytree specs of the call as the archive has them (docs/pt2-format.md §12); "" when unknown.
  std::string in_spec, out_spec;
  // Python expressions over the inputs that the exporter assumed; informational (docs/pt2-format.md
  // §14 item 28).
  std::vector<std::string> guards;
  PrimaryMap<ModuleId, std::shared_ptr<const LoweredBackendModule>> lowered_modules;

 private:
  ExportedProgram(const ExportedProgram& other);
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_EXPORTED_PROGRAM_H_
