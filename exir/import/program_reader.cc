#include "exir/import/program_reader.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/strings/numbers.h"
#include "exir/import/graph_reader.h"
#include "exir/import/provenance_reader.h"
#include "exir/import/signature_reader.h"
#include "exir/import/value_types.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// torch 2.5 wrote 7.3, which is version 8's encoding with fewer fields. Some tools write 0.0.
constexpr int64_t kNewestMajor = 8;
constexpr int64_t kOldestMajor = 7;
// JSON levels between a graph and the subgraph of one of its nodes, and around the top graph.
constexpr size_t kLevelsPerGraph = 8;
constexpr size_t kOuterLevels = 32;
// Bounds beyond this mean "unbounded": writers use various numbers of this magnitude.
// No size is this large: torch.quantile, for one, states 2^53.
constexpr int64_t kHuge = int64_t{1} << 53;
// The minimum size of a dynamic dimension during torch.export tracing.
constexpr int64_t kTracedMinimum = 2;

absl::StatusOr<SchemaVersion> ParseVersionText(std::string_view text) {
  SchemaVersion version;
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos ||
      !absl::SimpleAtoi(ToAbsl(text.substr(0, dot)), &version.major) ||
      !absl::SimpleAtoi(ToAbsl(text.substr(dot + 1)), &version.minor)) {
    return absl::InvalidArgumentError(
        absl::StrCat("version: '", text, "' is not of the form major.minor"));
  }
  return version;
}

absl::StatusOr<std::vector<std::string>> ReadStrings(JsonRef ref) {
  std::vector<std::string> strings;
  ABSL_RETURN_IF_ERROR(ForEachElement(ref, [&](JsonRef item) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const std::string_view text, item.String());
    strings.emplace_back(text);
    return absl::OkStatus();
  }));
  return strings;
}

IrDialect DialectOf(const ModelHeader& header) {
  IrDialect dialect = IrDialect::kAten;
  for (const std::string& verifier : header.verifiers) {
    if (verifier == "TRAINING") return IrDialect::kTraining;
    if (verifier == "EDGE") dialect = IrDialect::kEdge;
  }
  return dialect;
}

// Reads one end of a range. Missing, infinite and huge numbers are `unbounded`.
absl::StatusOr<int64_t> ReadBound(JsonRef ref, int64_t unbounded) {
  std::string_view text;
  if (ref.value.get(text) == simdjson::SUCCESS &&
      (text == "Infinity" || text == "-Infinity" || text == "int_oo" || text == "-int_oo")) {
    return unbounded;
  }
  double value = 0;
  if (!ref.value.is<int64_t>() && ref.value.get(value) == simdjson::SUCCESS) {
    if (value >= static_cast<double>(kHuge) || value <= -static_cast<double>(kHuge))
      return unbounded;
    if (value == std::trunc(value)) return static_cast<int64_t>(value);
  }
  ABSL_ASSIGN_OR_RETURN(const int64_t number, ref.Int());
  if (number >= kHuge || number <= -kHuge) return unbounded;
  return number;
}

absl::Status ReadRanges(JsonRef ref, ValueTypeReader& types, SymRanges& ranges) {
  return ForEachField(ref, [&](std::string_view key, JsonRef value) -> absl::Status {
    static constexpr JsonField kFields[] = {{"min_val", false}, {"max_val", false}};
    JsonStruct<2> s;
    ABSL_RETURN_IF_ERROR(s.Read(value, kFields));
    SymRange range{SymRange::kUnboundedBelow, SymRange::kUnboundedAbove};
    if (s.has(0)) {
      ABSL_ASSIGN_OR_RETURN(range.min, ReadBound(s[0], SymRange::kUnboundedBelow));
    }
    if (s.has(1)) {
      ABSL_ASSIGN_OR_RETURN(range.max, ReadBound(s[1], SymRange::kUnboundedAbove));
    }
    if (range.min > range.max) {
      return value.Error(absl::StrCat("the range [", range.min, ", ", range.max, "] is empty"));
    }
    // Ranges of composite expressions follow from those of their symbols.
    ABSL_ASSIGN_OR_RETURN(const SymExpr symbol, types.ParseExpression(key, value));
    if (symbol.kind() != SymExpr::Kind::kSymbol) return absl::OkStatus();
    // For input sizes, a minimum of 2 is an assumption of tracing, not a requirement of the
    // program.
    if (symbol.name().starts_with('s') && range.min == kTracedMinimum) range.min = 0;
    ranges.emplace(std::string(symbol.name()), range);
    return absl::OkStatus();
  });
}

// The root entry of module_call_graph carries the pytree specs of the call.
absl::Status ReadCallGraph(JsonRef ref, ExportedProgram& program) {
  return ForEachElement(ref, [&](JsonRef entry) -> absl::Status {
    static constexpr JsonField kFields[] = {{"fqn"}, {"signature", false}};
    JsonStruct<2> s;
    ABSL_RETURN_IF_ERROR(s.Read(entry, kFields));
    ABSL_ASSIGN_OR_RETURN(const std::string_view fqn, s[0].String());
    if (!fqn.empty() || !s.has(1)) return absl::OkStatus();
    static constexpr JsonField kSpecs[] = {{"in_spec"}, {"out_spec"}};
    JsonStruct<2> specs;
    ABSL_RETURN_IF_ERROR(specs.Read(s[1], kSpecs));
    ABSL_ASSIGN_OR_RETURN(const std::string_view in_spec, specs[0].String());
    ABSL_ASSIGN_OR_RETURN(const std::string_view out_spec, specs[1].String());
    program.in_spec = std::string(in_spec);
    program.out_spec = std::string(out_spec);
    return absl::OkStatus();
  });
}

// Erases assertions that these symbols have these upper bounds.
void EraseBoundAssertions(const absl::btree_map<std::string, int64_t>& bounds,
                          ExportedProgram& program) {
  if (bounds.empty()) return;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (const NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (node.target->name() != "aten._assert_scalar.default" || node.arguments.empty()) continue;
      const ValueId* condition = node.arguments[0].get_if<ValueId>();
      if (condition == nullptr) continue;
      const auto* type = std::get_if<SymBoolType>(&graph.value(*condition).type);
      if (type == nullptr || type->expr.name() != "Le" || type->expr.arguments().size() != 2) {
        continue;
      }
      const auto bound = bounds.find(std::string(type->expr.arguments()[0].name()));
      if (bound != bounds.end() && type->expr.arguments()[1].AsInt() == bound->second) {
        editor.EraseNode(id);
      }
    }
  }
}

// Corrects the bounds of masked_select results. The exporter bounds and asserts them by the number
// of input elements, but a larger mask broadcasts the input.
void BoundMaskedSelections(ExportedProgram& program) {
  absl::btree_map<std::string, int64_t> wrong;
  const auto largest = [&](const TensorMeta& tensor, int back) {
    const int d = tensor.rank() - 1 - back;
    return d < 0 ? int64_t{1} : tensor.sizes[d].Range(program.ranges).max;
  };
  for (const Graph& graph : program.graphs) {
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (node.target->name() != "aten.masked_select.default" || node.arguments.size() < 2)
        continue;
      const TensorMeta* operands[2] = {};
      for (int k = 0; k < 2; ++k) {
        const ValueId* value = node.arguments[k].get_if<ValueId>();
        if (value != nullptr) operands[k] = graph.value(*value).tensor();
      }
      const std::vector<ValueId> results = node.results();
      const TensorMeta* result = results.size() == 1 ? graph.value(results[0]).tensor() : nullptr;
      if (operands[0] == nullptr || operands[1] == nullptr || result == nullptr ||
          result->rank() != 1) {
        continue;
      }
      const auto found = program.ranges.find(std::string(result->sizes[0].name()));
      if (found == program.ranges.end()) continue;
      int64_t most = 1;
      for (int k = 0; k < std::max(operands[0]->rank(), operands[1]->rank()); ++k) {
        const int64_t size = std::max(largest(*operands[0], k), largest(*operands[1], k));
        if (size == SymRange::kUnboundedAbove || __builtin_mul_overflow(most, size, &most)) {
          most = SymRange::kUnboundedAbove;
          break;
        }
      }
      if (most <= found->second.max) continue;
      wrong.emplace(found->first, found->second.max);
      found->second.max = most;
    }
  }
  EraseBoundAssertions(wrong, program);
}

// Sets the specs of the program; mutated user inputs use the current names of their values.
absl::Status SetSignature(const ArchiveSignature& signature, JsonRef where,
                          ExportedProgram& program) {
  absl::flat_hash_map<std::string_view, size_t> user_inputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const ArchiveSignature::Input& input = signature.inputs[i];
    program.signature.inputs.push_back(input.spec);
    if (input.spec.kind == InputKind::kUserInput) user_inputs.emplace(input.argument.name, i);
  }
  const Graph& top = program.top();
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    OutputSpec spec = signature.outputs[i].spec;
    if (spec.kind == OutputKind::kUserInputMutation ||
        spec.kind == OutputKind::kGradientToUserInput) {
      const auto it = user_inputs.find(std::string_view(spec.target));
      if (it == user_inputs.end()) {
        return where.Error(absl::StrCat("output spec ", i, " (", OutputKindName(spec.kind),
                                        ") names '", spec.target, "', which is not a user input"));
      }
      spec.target = top.value(top.inputs()[it->second]).name;
    }
    program.signature.outputs.push_back(std::move(spec));
  }
  return absl::OkStatus();
}

}  // namespace

JsonLimits LimitsOfModel(const ImportOptions& options) {
  JsonLimits limits;
  limits.max_bytes = options.max_json_bytes;
  const int nesting = options.max_nesting < 0 ? 0 : options.max_nesting;
  limits.max_depth = kOuterLevels + kLevelsPerGraph * (static_cast<size_t>(nesting) + 1);
  return limits;
}

absl::StatusOr<ModelHeader> ReadModelHeader(JsonRef model, std::string_view flat_version) {
  static constexpr JsonField kFields[] = {{"schema_version", false},
                                          {"torch_version", false},
                                          {"verifiers", false},
                                          {"opset_version", false}};
  JsonStruct<4> s;
  ABSL_RETURN_IF_ERROR(s.Read(model, kFields));
  ModelHeader header;
  if (s.has(0)) {
    static constexpr JsonField kVersion[] = {{"major"}, {"minor"}};
    JsonStruct<2> version;
    ABSL_RETURN_IF_ERROR(version.Read(s[0], kVersion));
    ABSL_ASSIGN_OR_RETURN(header.schema.major, version[0].Int());
    ABSL_ASSIGN_OR_RETURN(header.schema.minor, version[1].Int());
  } else if (!flat_version.empty()) {
    ABSL_ASSIGN_OR_RETURN(header.schema, ParseVersionText(flat_version));
  } else {
    return model.Error("the field 'schema_version' is missing");
  }
  // Other versions may encode the remaining fields differently.
  if (!CheckSchemaVersion(header.schema).ok()) return header;
  if (s.has(1)) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view text, s[1].String());
    header.torch_version = std::string(text);
  }
  if (s.has(2)) {
    ABSL_ASSIGN_OR_RETURN(header.verifiers, ReadStrings(s[2]));
  }
  if (s.has(3)) {
    ABSL_RETURN_IF_ERROR(
        ForEachField(s[3], [&](std::string_view ns, JsonRef value) -> absl::Status {
          ABSL_ASSIGN_OR_RETURN(const int64_t number, value.Int());
          header.opset.emplace_back(std::string(ns), number);
          return absl::OkStatus();
        }));
  }
  return header;
}

absl::Status CheckSchemaVersion(const SchemaVersion& version) {
  if (version.major >= kOldestMajor && version.major <= kNewestMajor) return absl::OkStatus();
  if (version == SchemaVersion{0, 0}) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the program has schema version ", version.major, ".", version.minor,
                   "; supported are ", kOldestMajor, ".x to ", kNewestMajor,
                   ".x: export the model again with another version of torch"));
}

absl::StatusOr<ExportedProgram> ReadProgram(JsonRef model, const ModelHeader& header,
                                            const OpRegistry& ops, const ImportOptions& options,
                                            UnsupportedReport* unsupported) {
  ABSL_RETURN_IF_ERROR(CheckSchemaVersion(header.schema));
  static constexpr JsonField kFields[] = {
      {"graph_module"}, {"range_constraints", false}, {"guards_code", false}};
  JsonStruct<3> s;
  ABSL_RETURN_IF_ERROR(s.Read(model, kFields));
  static constexpr JsonField kModuleFields[] = {
      {"graph"}, {"signature"}, {"module_call_graph", false}};
  JsonStruct<3> module;
  ABSL_RETURN_IF_ERROR(module.Read(s[0], kModuleFields));

  ExportedProgram program(&ops);
  program.dialect = DialectOf(header);
  ABSL_ASSIGN_OR_RETURN(const ArchiveSignature signature, ReadSignature(module[1]));
  ValueTypeReader types;
  ProvenanceReader provenance;
  GraphReader graphs(options, &types, &provenance, unsupported, &program);
  ABSL_RETURN_IF_ERROR(graphs.ReadTop(module[0], signature));
  ABSL_RETURN_IF_ERROR(SetSignature(signature, module[1], program));
  if (s.has(1)) {
    ABSL_RETURN_IF_ERROR(ReadRanges(s[1], types, program.ranges));
  }
  if (s.has(2)) {
    ABSL_ASSIGN_OR_RETURN(program.guards, ReadStrings(s[2]));
  }
  if (module.has(2)) {
    ABSL_RETURN_IF_ERROR(ReadCallGraph(module[2], program));
  }
  program.hints = std::move(types.hints());
  BoundMaskedSelections(program);
  return program;
}

}  // namespace belay::exir
