#include "exir/functionalize/functionalize.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"
#include "exir/builder/op_shorthand.h"
#include "exir/functionalize/functional_form.h"
#include "exir/functionalize/view_chain.h"
#include "exir/ir/at_node.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

bool Writes(const SchemaArgument& argument) {
  return argument.alias.has_value() && argument.alias->write;
}

// Returns the argument that a result aliases (view or identity); -1 for a new tensor.
int AliasedArgument(const FunctionSchema& schema, const SchemaReturn& result) {
  if (!result.alias.has_value()) return -1;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const auto& alias = schema.arguments[i].alias;
    if (alias.has_value() && alias->set == result.alias->set) return static_cast<int>(i);
  }
  return -1;
}

class GraphFunctionalizer {
 public:
  GraphFunctionalizer(ExportedProgram& program, GraphId graph, const DecompositionTable& table)
      : program_(program),
        graph_id_(graph),
        editor_(program.graphs[graph]),
        builder_(program, editor_, &table) {}

  absl::StatusOr<bool> Run() {
    const Graph& graph = editor_.graph();
    bool writes = false;
    for (NodeId id : graph.nodes()) {
      const FunctionSchema* schema = graph.node(id).target->schema();
      writes = writes || (schema != nullptr && schema->IsMutable());
    }
    if (!writes) return false;
    for (NodeId id : graph.NodeList()) {
      absl::Status status = Visit(id);
      if (!status.ok()) return AtNode(status, graph, id);
    }
    ABSL_RETURN_IF_ERROR(UpdateOutputs());
    for (size_t i = replaced_.size(); i-- > 0;) editor_.EraseNode(replaced_[i]);
    return true;
  }

 private:
  absl::Status Visit(NodeId id) {
    const Graph& graph = editor_.graph();
    builder_.MoveTo(id);
    const FunctionSchema* schema = graph.node(id).target->schema();
    if (schema != nullptr && schema->IsMutable()) return ReplaceWrite(id);
    // Replace operands by their current values.
    const std::vector<Argument> original = graph.node(id).arguments;
    for (size_t i = 0; i < original.size(); ++i) {
      Argument argument = original[i];
      bool changed = false;
      ForEachValueRef(argument, [&](ValueId& value) {
        const ValueId now = CurrentValue(value);
        changed = changed || now != value;
        value = now;
      });
      ABSL_RETURN_IF_ERROR(builder_.status());
      if (changed) editor_.SetArgument(id, i, std::move(argument));
    }
    if (schema != nullptr && schema->IsView()) RecordViews(id, original);
    return absl::OkStatus();
  }

  // Returns the value with the current contents of `value`.
  ValueId CurrentValue(ValueId value) {
    const auto found = view_of_.find(value);
    return found == view_of_.end() ? value : found->second->Current(builder_);
  }

  View& ViewOf(ValueId value) {
    View*& view = view_of_[value];
    if (view == nullptr) {
      memories_.push_back({value});
      views_.emplace_back(memories_.back());
      view = &views_.back();
      whole_[value] = view;
    }
    return *view;
  }

  // Records the node's results as views of its original operands.
  void RecordViews(NodeId id, const std::vector<Argument>& original) {
    const Node& node = editor_.graph().node(id);
    const FunctionSchema& schema = *node.target->schema();
    for (size_t k = 0; k < schema.returns.size(); ++k) {
      const int operand = AliasedArgument(schema, schema.returns[k]);
      const ValueId* base = operand < 0 ? nullptr : original[operand].get_if<ValueId>();
      if (base == nullptr) continue;
      View& parent = ViewOf(*base);
      for (size_t i = 0; i < node.outputs[k].values.size(); ++i) {
        const ValueId value = node.outputs[k].values[i];
        views_.emplace_back(parent, node.target, node.arguments, operand, i, value);
        view_of_[value] = &views_.back();
      }
    }
  }

  absl::Status ReplaceWrite(NodeId id) {
    const Graph& graph = editor_.graph();
    const Node node = graph.node(id);
    const FunctionalForm form = *FunctionalFormOf(*program_.ops, *node.target);  // see Missing
    std::vector<Argument> arguments = node.arguments;
    for (Argument& argument : arguments) {
      ForEachValueRef(argument, [&](ValueId& value) { value = CurrentValue(value); });
    }
    if (form.kind == FunctionalForm::Kind::kOut) return ReplaceOut(form, id, arguments);
    if (form.kind == FunctionalForm::Kind::kBoth) return ReplaceBoth(form, id, arguments);
    const ValueId* written = node.operand().get_if<ValueId>();  // only the first, FunctionalFormOf
    if (written == nullptr)
      return absl::UnimplementedError("a write to a value that is not a tensor");
    View* view = &ViewOf(*written);
    if (form.kind == FunctionalForm::Kind::kView) {
      // One result, like the in-place operator (FunctionalFormOf).
      const std::vector<Argument> shown = builder_.CallAll(form.op, arguments);
      ABSL_RETURN_IF_ERROR(builder_.status());
      if (!builder_.IsTensor(shown[0])) return absl::InternalError("a view that is not a tensor");
      views_.emplace_back(*view, form.op, arguments, 0, 0, *shown[0].get_if<ValueId>());
      view = &views_.back();
      view_of_[*written] = view;
    } else if (form.kind == FunctionalForm::Kind::kValues) {
      ABSL_RETURN_IF_ERROR(WriteValues(form, node, arguments, *view));
    }
    // The in-place operator returns the written argument.
    for (ValueId value : node.results()) view_of_[value] = view;
    replaced_.push_back(id);
    return absl::OkStatus();
  }

  // The values of the functional form.
  std::vector<Argument> Compute(const FunctionalForm& form, const OpOverload* op,
                                const std::vector<Argument>& arguments) {
    return form.compute != nullptr ? form.compute(builder_, OpCall(builder_, op, arguments))
                                   : builder_.CallAll(form.op, arguments);
  }

  absl::Status ReplaceOut(const FunctionalForm& form, NodeId id, std::vector<Argument> arguments) {
    const Node node = editor_.graph().node(id);
    const size_t outs = node.target->schema()->returns.size();
    const size_t first = arguments.size() - outs;
    const std::vector<Argument> targets(arguments.begin() + static_cast<ptrdiff_t>(first),
                                        arguments.end());
    arguments.resize(first);
    const std::vector<Argument> values = builder_.CallAll(form.op, arguments);
    ABSL_RETURN_IF_ERROR(builder_.status());
    for (size_t k = 0; k < outs; ++k) {
      const ValueId* written = node.arguments[first + k].get_if<ValueId>();
      if (written == nullptr || !builder_.IsTensor(values[k])) {
        return absl::UnimplementedError("a result that is not a tensor, or is not written");
      }
      if (builder_.sizes(values[k]) != builder_.sizes(targets[k])) {
        return absl::UnimplementedError(absl::StrCat(
            "the tensor ", PrintType(builder_.meta(targets[k])),
            " would be resized to hold the result ", PrintType(builder_.meta(values[k]))));
      }
      const Argument value = Cast(builder_, values[k], builder_.dtype(targets[k]));
      ABSL_RETURN_IF_ERROR(builder_.status());
      View& view = ViewOf(*written);
      view.Write(builder_, *value.get_if<ValueId>());
      ABSL_RETURN_IF_ERROR(builder_.status());
      for (ValueId result : node.outputs[k].values) view_of_[result] = &view;
    }
    replaced_.push_back(id);
    return absl::OkStatus();
  }

  absl::Status ReplaceBoth(const FunctionalForm& form, NodeId id,
                           const std::vector<Argument>& arguments) {
    const Node node = editor_.graph().node(id);
    const FunctionSchema& schema = *node.target->schema();
    const std::vector<Argument> values = Compute(form, node.target, arguments);
    ABSL_RETURN_IF_ERROR(builder_.status());
    size_t next = node.outputs.size();
    for (size_t k = 0; k < schema.arguments.size(); ++k) {
      if (!Writes(schema.arguments[k])) continue;
      const ValueId* written = node.arguments[k].get_if<ValueId>();
      if (written == nullptr || !builder_.IsTensor(values[next])) {
        return absl::UnimplementedError("a result that is not a tensor, or is not written");
      }
      const Argument value = Cast(builder_, values[next++], builder_.dtype(arguments[k]));
      ABSL_RETURN_IF_ERROR(builder_.status());
      ViewOf(*written).Write(builder_, *value.get_if<ValueId>());
      ABSL_RETURN_IF_ERROR(builder_.status());
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      for (ValueId result : node.outputs[k].values) editor_.ReplaceAllUses(result, values[k]);
    }
    replaced_.push_back(id);
    return absl::OkStatus();
  }

  absl::Status WriteValues(const FunctionalForm& form, const Node& node,
                           const std::vector<Argument>& arguments, View& view) {
    const Argument target = arguments.front();
    const std::vector<Argument> values = Compute(form, node.target, arguments);
    ABSL_RETURN_IF_ERROR(builder_.status());
    if (!builder_.IsTensor(values[0])) {
      return absl::InternalError("the functional operator returns no tensor");
    }
    const DType dtype = builder_.dtype(target);
    const std::vector<SymInt> sizes = builder_.sizes(target);
    Argument value = Cast(builder_, values[0], dtype);
    if (const std::vector<SymInt> made = builder_.sizes(value); made != sizes) {
      // The source may be broadcast to the destination, but not vice versa. Unknown sizes may be
      // equal.
      const auto may_equal = [](const SymInt& a, const SymInt& b) {
        return !a.AsInt().has_value() || !b.AsInt().has_value() || a == b;
      };
      const bool fits = form.compute != nullptr ? made.size() <= sizes.size()
                                                : std::equal(made.begin(), made.end(),
                                                             sizes.begin(), sizes.end(), may_equal);
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat("a result ", PrintType(builder_.meta(value)),
                                                       " is written to a tensor ",
                                                       PrintType(builder_.meta(target))));
      }
      if (form.compute != nullptr) value = Expand(builder_, value, sizes);
    }
    ABSL_RETURN_IF_ERROR(builder_.status());
    view.Write(builder_, *value.get_if<ValueId>());
    return builder_.status();
  }

  absl::Status UpdateOutputs() {
    builder_.MoveToEnd();
    const Graph& graph = editor_.graph();
    std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
    for (Argument& output : outputs) {
      ForEachValueRef(output, [&](ValueId& value) { value = CurrentValue(value); });
    }
    ABSL_RETURN_IF_ERROR(builder_.status());
    std::vector<Argument> mutations;
    std::vector<OutputSpec> specs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId input = graph.inputs()[i];
      // Use the input itself, not a view that took its name (squeeze_).
      const auto found = whole_.find(input);
      if (found == whole_.end() || found->second->memory().version == 0) continue;
      if (graph_id_ != ExportedProgram::kTop) {
        return absl::UnimplementedError(absl::StrCat("the body '", graph.name(),
                                                     "' of a control-flow operator writes its ",
                                                     "operand '", graph.value(input).name, "'"));
      }
      ABSL_ASSIGN_OR_RETURN(OutputSpec spec, Mutation(i));
      mutations.emplace_back(found->second->Current(builder_));
      ABSL_RETURN_IF_ERROR(builder_.status());
      specs.push_back(std::move(spec));
    }
    if (graph_id_ == ExportedProgram::kTop) {
      std::vector<OutputSpec>& all = program_.signature.outputs;
      all.insert(all.begin(), specs.begin(), specs.end());
      outputs.insert(outputs.begin(), mutations.begin(), mutations.end());
    }
    editor_.SetOutputs(std::move(outputs));
    return absl::OkStatus();
  }

  absl::StatusOr<OutputSpec> Mutation(size_t index) {
    InputSpec& spec = program_.signature.inputs[index];
    const std::string& name = editor_.graph().value(editor_.graph().inputs()[index]).name;
    switch (spec.kind) {
      case InputKind::kBuffer:
        return OutputSpec{OutputKind::kBufferMutation, spec.target};
      case InputKind::kParameter:
        return OutputSpec{OutputKind::kParameterMutation, spec.target};
      case InputKind::kUserInput:
        return OutputSpec{OutputKind::kUserInputMutation, name};
      case InputKind::kTensorConstant:
        // The constant becomes state.
        spec.kind = InputKind::kBuffer;
        spec.persistent = false;
        return OutputSpec{OutputKind::kBufferMutation, spec.target};
      default:
        return absl::UnimplementedError(
            absl::StrCat("a write to the input '", name, "', which is ", InputKindName(spec.kind)));
    }
  }

  ExportedProgram& program_;
  GraphId graph_id_;
  GraphEditor editor_;
  OpBuilder builder_;
  std::deque<SharedMemory> memories_;
  std::deque<View> views_;
  absl::flat_hash_map<ValueId, View*> view_of_;  // by program value
  absl::flat_hash_map<ValueId, View*> whole_;    // by owner
  std::vector<NodeId> replaced_;
};

// Lists writing nodes without a functional replacement.
std::vector<std::string> Missing(const ExportedProgram& program, const DecompositionTable& table) {
  std::vector<std::string> missing;
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      const OpOverload* op = graph.node(id).target;
      if (op->schema() == nullptr) {
        if (op->ns() == "aten" && IsInPlaceOperator(op->op()))
          missing.push_back(DescribeNode(graph, id));
        continue;
      }
      if (!op->schema()->IsMutable()) continue;
      const std::optional<FunctionalForm> form = FunctionalFormOf(*program.ops, *op);
      const bool computable =
          form.has_value() && (form->op == nullptr || form->op->def()->meta != nullptr ||
                               table.Find(form->op) != nullptr);
      if (!computable) missing.push_back(DescribeNode(graph, id));
    }
  }
  return missing;
}

}  // namespace

Pass Functionalize(const DecompositionTable* table) {
  return {"functionalize", [table](ExportedProgram& program) -> absl::StatusOr<bool> {
            const DecompositionTable& rows = table == nullptr ? StandardDecompositions() : *table;
            const std::vector<std::string> missing = Missing(program, rows);
            if (!missing.empty()) {
              return absl::UnimplementedError(
                  absl::StrCat("operators that write and have no functional variant:\n  ",
                               absl::StrJoin(missing, "\n  ")));
            }
            bool changed = false;
            for (uint32_t g = 0; g < program.graphs.size(); ++g) {
              ABSL_ASSIGN_OR_RETURN(const bool graph_changed,
                                    GraphFunctionalizer(program, GraphId(g), rows).Run());
              changed |= graph_changed;
            }
            return changed;
          }};
}

}  // namespace belay::exir
