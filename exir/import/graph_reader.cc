#include "exir/import/graph_reader.h"

#include <optional>
#include <utility>

#include "exir/import/graph_scope.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxTargetBytes = 1024;
constexpr std::string_view kTorchOps = "torch.ops.";
constexpr std::string_view kEdgeOps = "executorch.exir.dialects.edge._ops.";
constexpr std::string_view kEdgeOpsPlain = "executorch.exir.dialects.edge.ops.";
constexpr std::string_view kBackendOps = "executorch.exir.dialects.backend._ops.";
constexpr std::string_view kBackendOpsPlain = "executorch.exir.dialects.backend.ops.";

// Higher-order operators that refer to objects outside the program.
struct Refused {
  std::string_view name;
  std::string_view why;
};
constexpr Refused kRefused[] = {
    {"higher_order.triton_kernel_wrapper_functional", "calls a Triton kernel"},
    {"higher_order.triton_kernel_wrapper_mutation", "calls a Triton kernel"},
    {"higher_order.call_torchbind", "calls a method of a custom object"},
    {"higher_order.aoti_call_delegate", "calls code that AOTInductor compiled"},
    {"higher_order.executorch_call_delegate", "calls a delegate that ExecuTorch lowered"},
};
constexpr std::string_view kWithEffects = "higher_order.with_effects";

std::string DescribeNode(std::string_view name, std::string_view target,
                         const Provenance& provenance) {
  const std::string source = provenance.ToString();
  return absl::StrCat("node '", name, "' (", target, source.empty() ? "" : ", ", source, ")");
}

}  // namespace

std::string OperatorNameOfTarget(std::string_view target) {
  std::string name;
  const auto take = [&](std::string_view prefix, std::string_view replacement) {
    if (!name.empty() || !target.starts_with(prefix)) return;
    name = absl::StrCat(replacement, target.substr(prefix.size()));
  };
  if (target.size() > kMaxTargetBytes) return "";
  take(kTorchOps, "");
  take(kEdgeOps, "edge.");
  take(kEdgeOpsPlain, "edge.");
  take(kBackendOps, "backend.");
  take(kBackendOpsPlain, "backend.");
  if (target.starts_with("#")) {
    // Extension operators: "#namespace:name".
    name = std::string(target.substr(1));
    for (char& c : name) c = c == ':' ? '.' : c;
  }
  if (name.empty()) name = std::string(target);
  bool at_start = true;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool behind_letter = (c >= '0' && c <= '9') || c == '.';
    if (!letter && (at_start || !behind_letter)) return "";
    at_start = c == '.';
  }
  return at_start ? "" : name;
}

absl::Status GraphReader::CheckDepth(JsonRef where, int depth) const {
  if (depth <= options_.max_nesting) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      where.path->ToString(), ": nested deeper than max_nesting = ", options_.max_nesting));
}

void GraphReader::ReportUnsupported(const Scope& scope, std::string_view what) {
  unsupported_.Add(scope.where, what, [&] {
    std::vector<RefusedNode> nodes;
    if (scope.node == nullptr) return nodes;
    nodes.push_back({"", scope.node->name, scope.node->target->name(),
                     scope.node->provenance.ToString(), std::string(what)});
    return nodes;
  });
}

absl::Status GraphReader::ReadTop(JsonRef ref, const ArchiveSignature& signature) {
  program_.graphs.push_back(Graph());
  auto scope = std::make_unique<Scope>();
  ABSL_RETURN_IF_ERROR(ReadGraph(ref, *scope, &signature, 0));
  program_.graphs[ExportedProgram::kTop] = std::move(scope->graph);
  return absl::OkStatus();
}

absl::StatusOr<Argument> GraphReader::ReadBody(JsonRef ref, int depth) {
  static constexpr JsonField kFields[] = {{"name"}, {"graph"}};
  JsonStruct<2> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  ABSL_ASSIGN_OR_RETURN(const std::string_view name, s[0].String());
  ABSL_RETURN_IF_ERROR(CheckDepth(ref, depth + 1));
  // Reserve the id first, so that subgraphs are numbered in the order of their first use.
  const GraphId id = program_.graphs.push_back(Graph());
  auto scope = std::make_unique<Scope>();
  scope->editor.SetName(std::string(name));
  ABSL_RETURN_IF_ERROR(ReadGraph(s[1], *scope, nullptr, depth + 1));
  program_.graphs[id] = std::move(scope->graph);
  return Argument(id);
}

absl::Status GraphReader::ReadGraph(JsonRef ref, Scope& scope, const ArchiveSignature* signature,
                                    int depth) {
  ABSL_RETURN_IF_ERROR(ReadTablesAndInputs(ref, scope, signature));
  ABSL_RETURN_IF_ERROR(ForEachElement(scope.fields[Scope::kNodes],
                                      [&](JsonRef node) { return ReadNode(node, scope, depth); }));
  return ReadOutputs(scope, signature, depth);
}

absl::Status GraphReader::ReadTablesAndInputs(JsonRef ref, Scope& scope,
                                              const ArchiveSignature* signature) {
  ABSL_RETURN_IF_ERROR(scope.fields.Read(ref, Scope::kFields));
  for (size_t t = 0; t < kNumValueTables; ++t) {
    if (!scope.fields.has(Scope::kFirstTable + t)) continue;
    const auto enter = [&](std::string_view name, JsonRef value) -> absl::Status {
      if (scope.tables[t].emplace(name, value.value).second) return absl::OkStatus();
      return value.Error("two entries have this name");
    };
    ABSL_RETURN_IF_ERROR(ForEachField(scope.fields[Scope::kFirstTable + t], enter));
  }

  size_t index = 0;
  const JsonRef inputs = scope.fields[Scope::kInputs];
  ABSL_RETURN_IF_ERROR(ForEachElement(inputs, [&](JsonRef item) -> absl::Status {
    const ArchiveSignature::Input* spec = nullptr;
    if (signature != nullptr) {
      if (index >= signature->inputs.size()) {
        return item.Error(
            absl::StrCat("the signature has only ", signature->inputs.size(), " input specs"));
      }
      spec = &signature->inputs[index];
    }
    return ReadInput(item, index++, scope, spec);
  }));
  if (signature != nullptr && signature->inputs.size() != index) {
    return inputs.Error(absl::StrCat("the graph has ", index, " inputs, but the signature has ",
                                     signature->inputs.size(), " input specs"));
  }
  return absl::OkStatus();
}

absl::Status GraphReader::ReadOutputs(Scope& scope, const ArchiveSignature* signature, int depth) {
  std::vector<Argument> outputs;
  const JsonRef list = scope.fields[Scope::kOutputs];
  ABSL_RETURN_IF_ERROR(ForEachElement(list, [&](JsonRef output) -> absl::Status {
    scope.where = absl::StrCat("output ", outputs.size());
    ABSL_ASSIGN_OR_RETURN(Argument argument, ReadArgument(output, scope, depth));
    if (signature != nullptr && outputs.size() < signature->outputs.size()) {
      const ArchiveSignature::Output& spec = signature->outputs[outputs.size()];
      ABSL_ASSIGN_OR_RETURN(const BoundaryArgument border, ReadBoundaryArgument(output));
      if (spec.any_value_kind ? border.name != spec.argument.name : !(border == spec.argument)) {
        return output.Error(
            absl::StrCat("the signature has another value here: '", spec.argument.name, "'"));
      }
    }
    outputs.push_back(std::move(argument));
    return absl::OkStatus();
  }));
  if (signature != nullptr && signature->outputs.size() != outputs.size()) {
    return list.Error(absl::StrCat("the graph has ", outputs.size(),
                                   " outputs, but the signature has ", signature->outputs.size(),
                                   " output specs"));
  }
  scope.editor.SetOutputs(std::move(outputs));
  return absl::OkStatus();
}

absl::StatusOr<ValueType> GraphReader::FindType(std::string_view name, BoundaryArgument::Kind kind,
                                                JsonRef where, Scope& scope, std::string* problem) {
  // Search the table of the kind first. Lists may be tagged as tensors whatever their values are,
  // so search the other tables in order afterwards.
  const simdjson::dom::element* entry = nullptr;
  size_t table = 0;
  for (size_t t = 0; t < kNumValueTables && entry == nullptr; ++t) {
    if (kind != BoundaryArgument::Kind::kTensor && kValueTables[t].kind != kind) continue;
    const auto it = scope.tables[t].find(name);
    if (it == scope.tables[t].end()) continue;
    entry = &it->second;
    table = t;
  }
  if (entry == nullptr)
    return where.Error(absl::StrCat("the graph's tables have no entry for the value '", name, "'"));

  const JsonPath path(where.path, name);
  const JsonRef value{*entry, &path};
  const BoundaryArgument::Kind found = kValueTables[table].kind;
  if (found == BoundaryArgument::Kind::kTensor) {
    ABSL_ASSIGN_OR_RETURN(TensorMetaReading reading, types_.ReadTensorMeta(value));
    if (reading.only_use_matters) {
      *problem = std::move(reading.problem);
    } else if (!reading.problem.empty()) {
      ReportUnsupported(scope, absl::StrCat("'", Shortened(name), "' is ", reading.problem));
    }
    return ValueType(std::move(reading.meta));
  }
  if (found == BoundaryArgument::Kind::kSymInt) {
    ABSL_ASSIGN_OR_RETURN(SymExpr expression, types_.ReadSymInt(value));
    return ValueType(SymIntType{std::move(expression)});
  }
  if (found == BoundaryArgument::Kind::kSymFloat) {
    ABSL_ASSIGN_OR_RETURN(SymExpr expression, types_.ReadSymFloat(value));
    return ValueType(SymFloatType{std::move(expression)});
  }
  if (found == BoundaryArgument::Kind::kSymBool) {
    ABSL_ASSIGN_OR_RETURN(SymExpr expression, types_.ReadSymBool(value));
    return ValueType(SymBoolType{std::move(expression)});
  }
  // Constants are in no table, so this is a custom object.
  static constexpr JsonField kFields[] = {{"class_fqn"}};
  JsonStruct<1> s;
  ABSL_RETURN_IF_ERROR(s.Read(value, kFields));
  ABSL_ASSIGN_OR_RETURN(const std::string_view class_name, s[0].String());
  *problem = absl::StrCat("a custom object of class ", Shortened(class_name));
  return ValueType(CustomObjectType{std::string(class_name)});
}

absl::Status GraphReader::ReadInput(JsonRef ref, size_t index, Scope& scope,
                                    const ArchiveSignature::Input* input) {
  ABSL_ASSIGN_OR_RETURN(BoundaryArgument border, ReadBoundaryArgument(ref));
  const bool constant = border.kind == BoundaryArgument::Kind::kConstant;
  bool token = false;
  if (input != nullptr) {
    const BoundaryArgument& expected = input->argument;
    token = input->spec.kind == InputKind::kToken;
    const bool wants_constant = input->spec.kind == InputKind::kConstantInput;
    const bool same = wants_constant          ? constant && border.constant == expected.constant
                      : input->any_value_kind ? !constant && border.name == expected.name
                                              : border == expected;
    if (!same) {
      return ref.Error(absl::StrCat("the input spec ", InputKindName(input->spec.kind), " '",
                                    expected.name, "' does not match the graph's input '",
                                    border.name, "'"));
    }
    const bool wants_tensor = input->spec.kind == InputKind::kParameter ||
                              input->spec.kind == InputKind::kBuffer ||
                              input->spec.kind == InputKind::kTensorConstant;
    if (wants_tensor && border.kind != BoundaryArgument::Kind::kTensor) {
      return ref.Error(absl::StrCat("a ", InputKindName(input->spec.kind), " must be a tensor"));
    }
    if (constant) border.name = expected.name;
  }
  std::string name(border.name);
  if (name.empty()) {
    if (!constant) return ref.Error("the name is empty");
    name = scope.editor.UniqueName(absl::StrCat("arg_", index));
  }
  scope.where = absl::StrCat("input '", name, "'");

  ValueType type;
  std::string problem;
  if (token) {
    type = TokenType{};
  } else if (constant) {
    type = border.constant;
  } else {
    ABSL_ASSIGN_OR_RETURN(type, FindType(border.name, border.kind, ref, scope, &problem));
  }
  const ValueId value = scope.editor.AddInput(name, std::move(type));
  if (!problem.empty()) scope.problems.emplace(value, std::move(problem));
  if (!border.name.empty() && !scope.names.emplace(border.name, value).second) {
    return ref.Error(absl::StrCat("two inputs are named '", border.name, "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const OpOverload*> GraphReader::ResolveTarget(std::string_view target,
                                                             JsonRef where) {
  if (const auto it = targets_.find(target); it != targets_.end()) return it->second;
  const std::string name = OperatorNameOfTarget(target);
  if (name.empty()) return where.Error("not the name of an operator");
  const OpRegistry& ops = *program_.ops;
  const OpOverload* found = nullptr;
  if (std::string_view(name).starts_with("edge.")) {
    found = ops.ToEdge(ops.FindOrOpaque(std::string_view(name).substr(5)));
  } else if (std::string_view(name).starts_with("backend.")) {
    found = ops.FindText(name);
    if (found == nullptr) found = ops.FindOrOpaque(std::string_view(name).substr(8));
  } else {
    found = ops.FindOrOpaque(name);
  }
  targets_.emplace(target, found);
  return found;
}

absl::Status GraphReader::ReadNode(JsonRef ref, Scope& scope, int depth) {
  if (++nodes_ > options_.max_nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the program has more than max_nodes = ", options_.max_nodes, " nodes"));
  }
  ABSL_RETURN_IF_ERROR(CheckBudget());
  auto reading = std::make_unique<NodeReading>();
  ABSL_RETURN_IF_ERROR(ReadNodeHead(ref, scope, *reading));
  absl::Status status = ReadNodeArguments(scope, *reading, depth);
  if (status.ok()) status = FinishNode(ref, scope, *reading);
  scope.node = nullptr;
  if (!status.ok()) return Annotate(status, scope.where);
  return status;
}

absl::Status GraphReader::ReadNodeHead(JsonRef ref, Scope& scope, NodeReading& reading) {
  static constexpr JsonField kFields[] = {
      {"target"}, {"inputs"}, {"outputs"}, {"metadata", false}, {"name", false}};
  enum { kTarget, kInputs, kOutputs, kMetadata, kName };
  JsonStruct<5> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  ABSL_ASSIGN_OR_RETURN(const std::string_view target, s[kTarget].String());
  GraphEditor::NewNode& node = reading.node;
  if (s.has(kName)) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, s[kName].String());
    node.name = std::string(name);
  }
  if (s.has(kMetadata)) node.provenance = provenance_.Read(s[kMetadata].value);
  ABSL_ASSIGN_OR_RETURN(node.target, ResolveTarget(target, s[kTarget]));
  reading.inputs_path = JsonPath(ref.path, "inputs");
  reading.inputs = JsonRef{s[kInputs].value, &reading.inputs_path};
  reading.outputs_path = JsonPath(ref.path, "outputs");
  reading.outputs = JsonRef{s[kOutputs].value, &reading.outputs_path};

  scope.where = DescribeNode(node.name, target, node.provenance);
  scope.node = &node;
  for (const Refused& refused : kRefused) {
    if (node.target->name() == refused.name) ReportUnsupported(scope, refused.why);
  }
  return absl::OkStatus();
}

absl::Status GraphReader::ReadNodeArguments(Scope& scope, NodeReading& reading, int depth) {
  return ForEachElement(reading.inputs, [&](JsonRef item) -> absl::Status {
    static constexpr JsonField kNamed[] = {{"name", false}, {"arg"}};
    JsonStruct<2> named;
    ABSL_RETURN_IF_ERROR(named.Read(item, kNamed));
    std::string_view name;
    if (named.has(0)) {
      ABSL_ASSIGN_OR_RETURN(name, named[0].String());
    }
    ABSL_ASSIGN_OR_RETURN(Argument value, ReadArgument(named[1], scope, depth));
    reading.given.push_back({name, std::move(value)});
    return absl::OkStatus();
  });
}

absl::Status GraphReader::FinishNode(JsonRef ref, Scope& scope, NodeReading& reading) {
  GraphEditor::NewNode& node = reading.node;
  std::vector<GraphEditor::NewOutput> outputs;
  const bool effects = node.target->name() == kWithEffects;
  ABSL_RETURN_IF_ERROR(ForEachElement(reading.outputs, [&](JsonRef item) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(GraphEditor::NewOutput output,
                          ReadNodeOutput(item, scope, effects && outputs.empty()));
    outputs.push_back(std::move(output));
    return absl::OkStatus();
  }));
  // Older archives do not name nodes. Use the name of the only result, or of the operator.
  if (node.name.empty() && outputs.size() == 1 && outputs[0].values.size() == 1) {
    node.name = outputs[0].values[0].first;
  }
  if (node.name.empty()) node.name = std::string(node.target->op());

  const FunctionSchema* schema = node.target->schema();
  if (schema != nullptr) {
    absl::StatusOr<std::vector<Argument>> complete = CompleteArguments(
        *schema, std::move(reading.given), node.target->dialect() == Dialect::kScalar);
    if (!complete.ok()) return ref.Error(FromAbsl(complete.status().message()));
    node.arguments = *std::move(complete);
    // Functions without results produce no output, or a single None.
    if (schema->returns.empty() && outputs.size() == 1 &&
        outputs[0].kind == NodeOutput::Kind::kNone) {
      outputs.clear();
    }
    if (outputs.size() != schema->returns.size()) {
      return ref.Error(absl::StrCat("there are ", outputs.size(), " outputs; the operator has ",
                                    schema->returns.size()));
    }
  } else {
    for (GivenArgument& argument : reading.given) {
      node.arguments.push_back(std::move(argument.value));
      node.argument_names.emplace_back(argument.name);
    }
  }
  const NodeId id = scope.editor.InsertNode(NodeId(), std::move(node), std::move(outputs));
  return EnterResults(ref, id, scope);
}

absl::Status GraphReader::EnterResults(JsonRef ref, NodeId node, Scope& scope) {
  size_t next = 0;
  for (const NodeOutput& output : scope.graph.node(node).outputs) {
    for (ValueId value : output.values) {
      Scope::Result& result = scope.results[next++];
      if (!scope.names.emplace(result.name, value).second) {
        return ref.Error(absl::StrCat("a value named '", result.name, "' already exists"));
      }
      if (!result.problem.empty()) scope.problems.emplace(value, std::move(result.problem));
    }
  }
  scope.results.clear();
  scope.result_names.clear();
  return absl::OkStatus();
}

}  // namespace belay::exir
