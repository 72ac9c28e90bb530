// Reads graphs: inputs, nodes, subgraphs of higher-order operators, outputs. Source:
// docs/pt2-format.md §6, §9, §14.
#ifndef BELAY_EXIR_IMPORT_GRAPH_READER_H_
#define BELAY_EXIR_IMPORT_GRAPH_READER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/import/import_options.h"
#include "exir/import/json.h"
#include "exir/import/provenance_reader.h"
#include "exir/import/signature_reader.h"
#include "exir/import/unsupported.h"
#include "exir/import/value_types.h"
#include "exir/ir/call_arguments.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {

// Single use, one reader per program. Malformed content aborts reading (kInvalidArgument,
// kResourceExhausted). Well-formed but unsupported content is added to the report, and a harmless
// placeholder is used instead.
class GraphReader {
 public:
  // All arguments must outlive the reader.
  GraphReader(const ImportOptions& options, ValueTypeReader* types, ProvenanceReader* provenance,
              UnsupportedReport* unsupported, ExportedProgram* program)
      : options_(options),
        types_(*types),
        provenance_(*provenance),
        unsupported_(*unsupported),
        program_(*program) {}

  // Fills the program's graphs; the signature defines the top graph's inputs.
  absl::Status ReadTop(JsonRef graph, const ArchiveSignature& signature);

 private:
  struct Scope;
  struct NodeReading;

  absl::Status ReadGraph(JsonRef ref, Scope& scope, const ArchiveSignature* signature, int depth);
  // Kept out of the recursive functions, to keep their stack frames small.
  ABSL_ATTRIBUTE_NOINLINE absl::Status ReadTablesAndInputs(JsonRef ref, Scope& scope,
                                                           const ArchiveSignature* signature);
  ABSL_ATTRIBUTE_NOINLINE absl::Status ReadOutputs(Scope& scope, const ArchiveSignature* signature,
                                                   int depth);
  ABSL_ATTRIBUTE_NOINLINE absl::Status ReadNodeHead(JsonRef ref, Scope& scope,
                                                    NodeReading& reading);
  ABSL_ATTRIBUTE_NOINLINE absl::Status FinishNode(JsonRef ref, Scope& scope, NodeReading& reading);
  ABSL_ATTRIBUTE_NOINLINE absl::StatusOr<Argument> ReadPlainArgument(const JsonUnion& u,
                                                                     Scope& scope);
  absl::Status ReadNodeArguments(Scope& scope, NodeReading& reading, int depth);
  absl::Status ReadInput(JsonRef ref, size_t index, Scope& scope,
                         const ArchiveSignature::Input* input);
  absl::Status ReadNode(JsonRef ref, Scope& scope, int depth);
  absl::Status EnterResults(JsonRef ref, NodeId node, Scope& scope);
  absl::StatusOr<GraphEditor::NewOutput> ReadNodeOutput(JsonRef ref, Scope& scope, bool token);
  absl::Status AddResult(std::string_view name, BoundaryArgument::Kind kind, bool token,
                         JsonRef where, Scope& scope, GraphEditor::NewOutput& output);
  // `problem` receives the reason if the value must not be used, "" otherwise.
  absl::StatusOr<ValueType> FindType(std::string_view name, BoundaryArgument::Kind kind,
                                     JsonRef where, Scope& scope, std::string* problem);

  absl::StatusOr<Argument> ReadArgument(JsonRef ref, Scope& scope, int depth);
  absl::StatusOr<Argument> ReadLiteral(const JsonUnion& u, Scope& scope);
  absl::StatusOr<Argument> ReadList(const JsonUnion& u, Scope& scope, bool* known);
  absl::StatusOr<Argument> ReadTensorUse(JsonRef ref, Scope& scope);
  absl::StatusOr<Argument> ReadOptionalTensor(JsonRef ref, Scope& scope);
  absl::StatusOr<Argument> ReadDict(JsonRef ref, Scope& scope, int depth);
  absl::StatusOr<Argument> ReadBody(JsonRef ref, int depth);
  absl::StatusOr<Argument> ReadSymUse(JsonRef ref, Scope& scope, std::string_view constant_tag);
  absl::StatusOr<Argument> Use(std::string_view name, JsonRef where, Scope& scope);
  absl::StatusOr<const OpOverload*> ResolveTarget(std::string_view target, JsonRef where);
  absl::Status CheckDepth(JsonRef where, int depth) const;
  void ReportUnsupported(const Scope& scope, std::string_view what);

  const ImportOptions& options_;
  ValueTypeReader& types_;
  ProvenanceReader& provenance_;
  UnsupportedReport& unsupported_;
  ExportedProgram& program_;
  uint64_t nodes_ = 0;
  absl::flat_hash_map<std::string_view, const OpOverload*> targets_;
};

// Maps an archive's target to the registry's operator name: "torch.ops.aten.add.Tensor" →
// "aten.add.Tensor". Targets of ExecuTorch's own dialects map to the name of the text form:
// "edge.aten.add.Tensor". Returns "" for an invalid name.
std::string OperatorNameOfTarget(std::string_view target);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_GRAPH_READER_H_
