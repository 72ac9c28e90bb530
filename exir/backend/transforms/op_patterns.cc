#include "exir/backend/transforms/op_patterns.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"
#include "exir/ir/verifier.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

absl::Status Invalid(std::string_view ns, std::string_view name, std::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("pattern for '", name, "' of ", ns, ": ", problem));
}

absl::Status CheckPattern(std::string_view ns, std::string_view name, const FunctionSchema& schema,
                          const ExportedProgram& pattern) {
  if (schema.IsMutable() || schema.IsView()) {
    return Invalid(
        ns, name,
        "expected an operator that neither writes to an argument nor returns a view of one");
  }
  if (pattern.graphs.size() != 1) {
    return Invalid(ns, name, absl::StrCat("expected one graph, got ", pattern.graphs.size()));
  }
  for (const InputSpec& spec : pattern.signature.inputs) {
    if (spec.kind == InputKind::kUserInput) continue;
    return Invalid(ns, name,
                   absl::StrCat("expected user inputs only, got a ", InputKindName(spec.kind), " '",
                                spec.target, "'"));
  }
  for (const OutputSpec& spec : pattern.signature.outputs) {
    if (spec.kind == OutputKind::kUserOutput) continue;
    return Invalid(ns, name,
                   absl::StrCat("expected user outputs only, got a ", OutputKindName(spec.kind),
                                " '", spec.target, "'"));
  }
  const auto same = [&](std::string_view what, size_t expected, size_t actual) {
    return expected == actual ? absl::OkStatus()
                              : Invalid(ns, name,
                                        absl::StrCat("expected ", expected, " ", what, ", got ",
                                                     actual, "; ", schema.ToString()));
  };
  ABSL_RETURN_IF_ERROR(same("inputs", schema.arguments.size(), pattern.signature.inputs.size()));
  return same("outputs", schema.returns.size(), pattern.signature.outputs.size());
}

// "ns::rest" -> "rest". Fails if it names another namespace.
absl::StatusOr<std::string_view> WithoutNamespace(std::string_view ns, std::string_view name) {
  const size_t end = name.substr(0, name.find('(')).find("::");
  if (end == std::string_view::npos) return name;
  if (name.substr(0, end) != ns) {
    return Invalid(ns, name, absl::StrCat("it names the namespace ", name.substr(0, end)));
  }
  return name.substr(end + 2);
}

using Bindings = absl::flat_hash_map<ValueId, Argument>;

Argument MapArgument(const Argument& argument, const Bindings& bindings) {
  if (const ValueId* value = argument.get_if<ValueId>()) return bindings.at(*value);
  const Argument::List* list = argument.get_if<Argument::List>();
  if (list == nullptr) return argument;
  Argument::List mapped;
  for (const Argument& element : *list) mapped.push_back(MapArgument(element, bindings));
  return mapped;
}

// Binds the values of a pattern node to the results of its copy. Returns false if a list has
// another length, which sizes can determine.
bool Bind(const NodeOutput& output, const Argument& result, Bindings& bindings) {
  if (output.kind == NodeOutput::Kind::kNone) return true;
  if (output.kind == NodeOutput::Kind::kValue) {
    bindings[output.values[0]] = result;
    return true;
  }
  const Argument::List* list = result.get_if<Argument::List>();
  if (list == nullptr || list->size() != output.values.size()) return false;
  for (size_t i = 0; i < list->size(); ++i) bindings[output.values[i]] = (*list)[i];
  return true;
}

// The kernel of an operator bound to the pattern: emits the pattern's nodes on the call's
// arguments.
std::vector<Argument> CallPattern(const ExportedProgram& pattern, OpBuilder& b,
                                  const OpCall& call) {
  const Graph& graph = pattern.top();
  Bindings bindings;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    bindings[graph.inputs()[i]] = call.arguments()[i];
  }
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    std::vector<Argument> arguments;
    for (const Argument& argument : node.arguments) {
      arguments.push_back(MapArgument(argument, bindings));
    }
    const std::vector<Argument> results = b.CallAll(node.target, std::move(arguments));
    for (size_t k = 0; b.ok() && k < node.outputs.size(); ++k) {
      if (Bind(node.outputs[k], results[k], bindings)) continue;
      b.Unsupported(absl::StrCat("the pattern of ", call.op()->name(), ": ", node.target->name(),
                                 " returns a list of another length than in the pattern"));
    }
    if (!b.ok()) return {};
  }
  std::vector<Argument> results;
  for (const Argument& output : graph.outputs()) results.push_back(MapArgument(output, bindings));
  return results;
}

}  // namespace

const ExportedProgram* OpPatterns::Find(const OpOverload* op) const {
  const auto it = patterns_.find(op->aten());
  return it == patterns_.end() ? nullptr : it->second.get();
}

bool OpPatterns::LeadsTo(const ExportedProgram& pattern, const OpOverload* op) const {
  absl::flat_hash_set<const OpOverload*> seen;
  std::vector<const ExportedProgram*> pending = {&pattern};
  while (!pending.empty()) {
    const ExportedProgram& current = *pending.back();
    pending.pop_back();
    for (NodeId id : current.top().nodes()) {
      const OpOverload* target = current.top().node(id).target->aten();
      if (target == op) return true;
      if (!seen.insert(target).second) continue;
      if (const ExportedProgram* next = Find(target)) pending.push_back(next);
    }
  }
  return false;
}

absl::StatusOr<const OpOverload*> OpPatterns::BindPatternToOp(std::string_view ns,
                                                              std::string_view name,
                                                              ExportedProgram pattern) {
  if (ns.empty() || name.empty()) return Invalid(ns, name, "a namespace and a name are needed");
  if (pattern.ops != &ops_) return Invalid(ns, name, "it is of another operator registry");
  ABSL_RETURN_IF_ERROR(Verify(pattern));
  ABSL_ASSIGN_OR_RETURN(const std::string_view local, WithoutNamespace(ns, name));
  const OpOverload* op = nullptr;
  if (local.find('(') != std::string_view::npos) {
    // A schema is checked completely before it defines anything.
    const std::string text = absl::StrCat(ns, "::", local);
    ABSL_ASSIGN_OR_RETURN(const FunctionSchema schema, FunctionSchema::Parse(text));
    ABSL_RETURN_IF_ERROR(CheckPattern(ns, name, schema, pattern));
    ABSL_ASSIGN_OR_RETURN(op, ops_.Define({.schema = text}));
  } else {
    ABSL_ASSIGN_OR_RETURN(op, ops_.Lookup(absl::StrCat(ns, ".", local)));
    if (op->schema() == nullptr) return Invalid(ns, name, "the operator has no schema");
    if (Find(op) != nullptr) {
      return absl::AlreadyExistsError(
          absl::StrCat("operator ", op->name(), " has a pattern already"));
    }
    ABSL_RETURN_IF_ERROR(CheckPattern(ns, name, *op->schema(), pattern));
    if (LeadsTo(pattern, op)) return Invalid(ns, name, "the pattern leads back to the operator");
  }
  const auto kept = std::make_shared<const ExportedProgram>(std::move(pattern));
  if (!op->has_meta_kernel() && !op->has_composite_explicit_kernel() &&
      !op->has_composite_implicit_kernel()) {
    ABSL_RETURN_IF_ERROR(ops_.SetCompositeKernel(
        op->name(), CompositeKind::kImplicit,
        [kept](OpBuilder& b, const OpCall& call) { return CallPattern(*kept, b, call); }));
  }
  ops_.AllowBackendNamespace(ns);
  patterns_[op] = kept;
  return op;
}

}  // namespace belay::exir
