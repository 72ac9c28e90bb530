#include "exir/backend/transforms/op_patterns.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
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
  if (schema.IsMutable()) {
    return Invalid(ns, name, "the operator writes to an argument, which no pattern can do");
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
  const auto same = [&](std::string_view what, size_t expected, size_t came) {
    return expected == came ? absl::OkStatus()
                            : Invalid(ns, name,
                                      absl::StrCat("expected ", expected, " ", what, ", got ", came,
                                                   "; ", schema.ToString()));
  };
  ABSL_RETURN_IF_ERROR(same("inputs", schema.arguments.size(), pattern.signature.inputs.size()));
  return same("outputs", schema.returns.size(), pattern.signature.outputs.size());
}

// "ns::rest" → rest. An error when it names another namespace.
absl::StatusOr<std::string_view> WithoutNamespace(std::string_view ns, std::string_view name) {
  const size_t end = name.substr(0, name.find('(')).find("::");
  if (end == std::string_view::npos) return name;
  if (name.substr(0, end) != ns) {
    return Invalid(ns, name, absl::StrCat("it names the namespace ", name.substr(0, end)));
  }
  return name.substr(end + 2);
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
  if (local.find('(') != std::string_view::npos) {
    // A schema: checked in full before it defines anything.
    const std::string text = absl::StrCat(ns, "::", local);
    ABSL_ASSIGN_OR_RETURN(const FunctionSchema schema, FunctionSchema::Parse(text));
    ABSL_RETURN_IF_ERROR(CheckPattern(ns, name, schema, pattern));
    ABSL_ASSIGN_OR_RETURN(const OpOverload* op,
                          ops_.Define({.schema = text, .traits = kComposite}));
    ops_.AllowBackendNamespace(ns);
    patterns_[op] = std::make_unique<const ExportedProgram>(std::move(pattern));
    return op;
  }
  const std::string full = absl::StrCat(ns, ".", local);
  ABSL_ASSIGN_OR_RETURN(const OpOverload* op, ops_.Lookup(full));
  if (op->schema() == nullptr) return Invalid(ns, name, "the operator has no schema");
  if (Find(op) != nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat("operator ", op->name(), " has a pattern already"));
  }
  ABSL_RETURN_IF_ERROR(CheckPattern(ns, name, *op->schema(), pattern));
  if (LeadsTo(pattern, op)) return Invalid(ns, name, "the pattern leads back to the operator");
  if (!op->has_meta_kernel() && !op->has_composite_explicit_kernel() &&
      !op->has_composite_implicit_kernel()) {
    ABSL_RETURN_IF_ERROR(ops_.SetCompositeKernel(op->name(), kComposite));
  }
  ops_.AllowBackendNamespace(ns);
  patterns_[op] = std::make_unique<const ExportedProgram>(std::move(pattern));
  return op;
}

namespace {

// Puts patterns in the places of nodes of one graph.
class Promoter {
 public:
  Promoter(const ExportedProgram& program, Graph& graph, const OpPatterns& patterns)
      : program_(program), patterns_(patterns), editor_(graph) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (NodeId id = graph().first(); id.valid();) {
      const OpOverload* target = graph().node(id).target;
      const ExportedProgram* pattern = patterns_.Find(target);
      if (pattern == nullptr || target->has_meta_kernel() ||
          target->has_composite_explicit_kernel()) {
        id = graph().next(id);
        continue;
      }
      // What is put in is looked at again: it may have patterns of its own.
      ABSL_ASSIGN_OR_RETURN(id, Replace(id, *pattern));
      changed = true;
    }
    return changed;
  }

 private:
  using Bindings = absl::flat_hash_map<ValueId, Argument>;
  const Graph& graph() const { return editor_.graph(); }

  // Returns the first node that was put in, or the one after when there is none.
  absl::StatusOr<NodeId> Replace(NodeId id, const ExportedProgram& pattern) {
    const Graph& source = pattern.top();
    Bindings bindings;
    const std::vector<Argument> arguments = graph().node(id).arguments;
    bool same_types = true;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ValueId input = source.inputs()[i];
      bindings[input] = arguments[i];
      const ValueId* value = arguments[i].get_if<ValueId>();
      same_types =
          same_types && value != nullptr && graph().value(*value).type == source.value(input).type;
    }
    NodeId first;
    const size_t old_values = graph().value_id_limit();
    for (NodeId inner : source.nodes()) {
      ABSL_ASSIGN_OR_RETURN(const NodeId made, CopyNode(source, inner, id, same_types, bindings));
      if (!first.valid()) first = made;
    }
    const std::vector<NodeOutput> outputs = graph().node(id).outputs;
    std::vector<std::pair<ValueId, std::string>> renamed;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Argument to = MapArgument(source.outputs()[k], bindings);
      ABSL_RETURN_IF_ERROR(ReplaceOutput(id, outputs[k], to, old_values, renamed));
    }
    const NodeId after = graph().next(id);
    editor_.EraseNode(id);
    for (const auto& [value, name] : renamed) editor_.RenameValue(value, name);
    return first.valid() ? first : after;
  }

  // Values from `old_values` on are the pattern's: they get the names of what they replace.
  absl::Status ReplaceOutput(NodeId id, const NodeOutput& output, const Argument& to,
                             size_t old_values,
                             std::vector<std::pair<ValueId, std::string>>& renamed) {
    std::vector<Argument> replacements;
    if (output.kind == NodeOutput::Kind::kNone) return absl::OkStatus();
    if (const Argument::List* list = to.get_if<Argument::List>();
        list != nullptr && output.kind == NodeOutput::Kind::kList) {
      replacements = *list;
    } else {
      replacements.push_back(to);
    }
    if (replacements.size() != output.values.size()) {
      return Mismatch(id, absl::StrCat(replacements.size(), " results"));
    }
    for (size_t i = 0; i < replacements.size(); ++i) {
      const Value& old = graph().value(output.values[i]);
      if (const ValueId* value = replacements[i].get_if<ValueId>()) {
        const TensorMeta* expected = old.tensor();
        const TensorMeta* came = graph().value(*value).tensor();
        if ((expected == nullptr) != (came == nullptr) ||
            (expected != nullptr &&
             (expected->dtype != came->dtype || expected->sizes != came->sizes))) {
          return Mismatch(id, PrintType(graph().value(*value).type));
        }
        if (value->index() >= old_values) renamed.emplace_back(*value, old.name);
      }
      editor_.ReplaceAllUses(output.values[i], replacements[i]);
    }
    return absl::OkStatus();
  }

  absl::Status Mismatch(NodeId id, std::string_view came) const {
    return absl::FailedPreconditionError(absl::StrCat("the pattern of ",
                                                      graph().node(id).target->name(), " gives ",
                                                      came, " at ", DescribeNode(graph(), id)));
  }

  absl::StatusOr<NodeId> CopyNode(const Graph& source, NodeId inner, NodeId before, bool same_types,
                                  Bindings& bindings) {
    const Node& node = source.node(inner);
    const Node& replaced = graph().node(before);
    const OpOverload* target = node.target;
    if (program_.dialect == IrDialect::kEdge && !AllowedIn(IrDialect::kEdge, *target)) {
      target = program_.ops->ToEdge(target);
    }
    GraphEditor::NewNode copied{.name = node.name,
                                .target = target,
                                .arguments = {},
                                .argument_names = node.argument_names,
                                .provenance = replaced.provenance,
                                .debug_handle = replaced.debug_handle,
                                .delegation_tag = replaced.delegation_tag};
    for (const Argument& argument : node.arguments) {
      copied.arguments.push_back(MapArgument(argument, bindings));
    }
    const absl::StatusOr<std::vector<MetaValue>> inferred =
        InferOutputs(graph(), target, copied.arguments, nullptr);
    const bool use_pattern = absl::IsUnimplemented(inferred.status()) && same_types;
    if (!inferred.ok() && !use_pattern) {
      return absl::Status(
          inferred.status().code(),
          absl::StrCat(FromAbsl(inferred.status().message()), "\n  for ", PrintNode(source, inner),
                       " of the pattern of ", DescribeNode(graph(), before)));
    }
    std::vector<GraphEditor::NewOutput> outputs;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      GraphEditor::NewOutput output{node.outputs[k].kind, {}};
      for (size_t i = 0; i < node.outputs[k].values.size(); ++i) {
        const Value& value = source.value(node.outputs[k].values[i]);
        ValueType type = value.type;
        if (!use_pattern && k < inferred->size()) {
          const MetaList* list = (*inferred)[k].get_if<MetaList>();
          if (list == nullptr) {
            type = ToValueType((*inferred)[k]);
          } else if (i < list->size()) {
            type = ToValueType((*list)[i]);
          }
        }
        output.values.emplace_back(value.name, std::move(type));
      }
      outputs.push_back(std::move(output));
    }
    const NodeId made = editor_.InsertNode(before, std::move(copied), std::move(outputs));
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      for (size_t i = 0; i < node.outputs[k].values.size(); ++i) {
        bindings[node.outputs[k].values[i]] = graph().node(made).outputs[k].values[i];
      }
    }
    return made;
  }

  static Argument MapArgument(const Argument& argument, const Bindings& bindings) {
    if (const ValueId* value = argument.get_if<ValueId>()) return bindings.at(*value);
    if (const Argument::List* list = argument.get_if<Argument::List>()) {
      Argument::List mapped;
      for (const Argument& element : *list) mapped.push_back(MapArgument(element, bindings));
      return mapped;
    }
    return argument;
  }

  const ExportedProgram& program_;
  const OpPatterns& patterns_;
  GraphEditor editor_;
};

}  // namespace

Pass PromoteBackendOps(const OpPatterns& patterns) {
  return {"promote_backend_ops", [&patterns](ExportedProgram& program) -> absl::StatusOr<bool> {
            bool changed = false;
            for (Graph& graph : program.graphs) {
              ABSL_ASSIGN_OR_RETURN(const bool promoted, Promoter(program, graph, patterns).Run());
              changed = changed || promoted;
            }
            return changed;
          }};
}

}  // namespace belay::exir
