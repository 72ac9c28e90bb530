#include "exir/backend/compose.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "exir/backend/introspection.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Positions in the original program of the user inputs and the outputs that a call passes.
struct Interface {
  std::vector<size_t> inputs, outputs;
};

absl::StatusOr<Interface> InterfaceOf(const ExportedProgram& original) {
  Interface result;
  for (size_t i = 0; i < original.signature.inputs.size(); ++i) {
    const InputSpec& spec = original.signature.inputs[i];
    if (NamesTensor(spec.kind)) continue;
    if (spec.kind != InputKind::kUserInput) {
      return absl::UnimplementedError(
          absl::StrCat("input %", original.top().value(original.top().inputs()[i]).name,
                       " of a module is a ", InputKindName(spec.kind), ", which no call can pass"));
    }
    result.inputs.push_back(i);
  }
  for (size_t k = 0; k < original.signature.outputs.size(); ++k) {
    const OutputSpec& spec = original.signature.outputs[k];
    if (IsStateMutation(spec.kind)) continue;
    if (spec.kind != OutputKind::kUserOutput && spec.kind != OutputKind::kUserInputMutation) {
      return absl::UnimplementedError(absl::StrCat("output ", k, " of a module is a ",
                                                   OutputKindName(spec.kind),
                                                   ", which no call can pass"));
    }
    result.outputs.push_back(k);
  }
  return result;
}

// Maps the module's symbols to expressions of the calling program.
class SymbolBindings {
 public:
  // `expected` is the type of an input, `actual` that of the argument.
  absl::Status Bind(const ValueType& expected, const ValueType& actual, const SymRanges& ranges) {
    if (const TensorMeta* tensor = std::get_if<TensorMeta>(&expected)) {
      const TensorMeta* argument = std::get_if<TensorMeta>(&actual);
      if (argument == nullptr || argument->dtype != tensor->dtype ||
          argument->rank() != tensor->rank()) {
        return Mismatch(expected, actual);
      }
      for (int d = 0; d < tensor->rank(); ++d) {
        if (!BindExpression(tensor->sizes[d], argument->sizes[d], ranges)) {
          return Mismatch(expected, actual);
        }
      }
      return absl::OkStatus();
    }
    const SymIntType* expected_int = std::get_if<SymIntType>(&expected);
    const SymIntType* actual_int = std::get_if<SymIntType>(&actual);
    if (expected_int != nullptr && actual_int != nullptr) {
      return BindExpression(expected_int->expr, actual_int->expr, ranges)
                 ? absl::OkStatus()
                 : Mismatch(expected, actual);
    }
    return expected.index() == actual.index() ? absl::OkStatus() : Mismatch(expected, actual);
  }

  // Returns the type with the program's symbols. Symbols that no argument binds (data-dependent
  // sizes) get names that are unused in the program, with their ranges.
  ValueType Apply(const ValueType& type, const SymRanges& ranges, ExportedProgram& program) {
    const auto apply = [&](const SymExpr& expr) {
      if (expr.AsInt().has_value()) return expr;
      return expr.Substitute([&](std::string_view symbol) -> std::optional<SymExpr> {
        const auto known = bound_.find(std::string(symbol));
        if (known != bound_.end()) return known->second;
        std::string fresh(symbol);
        for (int i = 0; program.ranges.contains(fresh); ++i) fresh = absl::StrCat(symbol, "_", i);
        const auto range = ranges.find(std::string(symbol));
        program.ranges.emplace(fresh,
                               range == ranges.end() ? SymRange{0, SymRange().max} : range->second);
        return bound_.emplace(std::string(symbol), SymExpr::Symbol(fresh)).first->second;
      });
    };
    if (const TensorMeta* tensor = std::get_if<TensorMeta>(&type)) {
      TensorMeta applied = *tensor;
      for (SymInt& size : applied.sizes) size = apply(size);
      for (SymInt& stride : applied.strides) stride = apply(stride);
      applied.storage_offset = apply(applied.storage_offset);
      return applied;
    }
    if (const auto* i = std::get_if<SymIntType>(&type)) return SymIntType{apply(i->expr)};
    if (const auto* f = std::get_if<SymFloatType>(&type)) return SymFloatType{apply(f->expr)};
    if (const auto* b = std::get_if<SymBoolType>(&type)) return SymBoolType{apply(b->expr)};
    return type;
  }

 private:
  static absl::Status Mismatch(const ValueType& expected, const ValueType& actual) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", PrintType(expected), ", got ", PrintType(actual)));
  }

  // Returns false if the expressions cannot be equal, as far as constants show.
  bool BindExpression(const SymExpr& expected, const SymExpr& actual, const SymRanges& ranges) {
    const std::optional<int64_t> number = actual.AsInt();
    if (expected.kind() == SymExpr::Kind::kSymbol) {
      const auto [it, added] = bound_.emplace(std::string(expected.name()), actual);
      if (!added && it->second.AsInt().has_value() && number.has_value()) {
        return it->second == actual;
      }
      const SymRange range = expected.Range(ranges);
      return !number.has_value() || (range.min <= *number && *number <= range.max);
    }
    const SymExpr applied =
        expected.AsInt().has_value()
            ? expected
            : expected.Substitute([&](std::string_view symbol) -> std::optional<SymExpr> {
                const auto it = bound_.find(std::string(symbol));
                return it == bound_.end() ? std::nullopt : std::optional(it->second);
              });
    return !applied.AsInt().has_value() || !number.has_value() || applied.AsInt() == number;
  }

  absl::btree_map<std::string, SymExpr> bound_;
};

// Returns the type of a literal that a module returns.
ValueType LiteralType(const Argument& literal) {
  ConstantType type;
  if (const int64_t* i = literal.get_if<int64_t>()) type.value = *i;
  if (const double* d = literal.get_if<double>()) type.value = *d;
  if (const bool* b = literal.get_if<bool>()) type.value = *b;
  if (const std::string* s = literal.get_if<std::string>()) type.value = *s;
  return type;
}

absl::Status CheckArguments(const ExportedProgram& program, const Graph& graph,
                            const ExportedProgram& original, const Interface& interface,
                            const std::vector<Argument>& arguments, SymbolBindings& bindings) {
  if (arguments.size() != interface.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the module expects ", interface.inputs.size(),
                                                   " arguments, got ", arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Value& input = original.top().value(original.top().inputs()[interface.inputs[i]]);
    const std::string where = absl::StrCat("argument ", i, ", the module's %", input.name, ": ");
    const ValueId* value = arguments[i].get_if<ValueId>();
    if (value == nullptr || !graph.contains(*value)) {
      return absl::InvalidArgumentError(absl::StrCat(where, "expected a value of the graph, got ",
                                                     value == nullptr
                                                         ? PrintArgument(graph, arguments[i])
                                                         : absl::StrCat("value ", value->index())));
    }
    const absl::Status status =
        bindings.Bind(input.type, graph.value(*value).type, original.ranges);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(where, FromAbsl(status.message()), " in ",
                                                      PrintArgument(graph, arguments[i])));
    }
  }
  return absl::OkStatus();
}

ModuleId AddModule(ExportedProgram& program, std::shared_ptr<const LoweredBackendModule> module) {
  for (uint32_t m = 0; m < program.lowered_modules.size(); ++m) {
    if (program.lowered_modules[ModuleId(m)] == module) return ModuleId(m);
  }
  return program.lowered_modules.push_back(std::move(module));
}

}  // namespace

absl::StatusOr<NodeId> InsertDelegateCall(ExportedProgram& program, GraphId graph_id, NodeId before,
                                          std::shared_ptr<const LoweredBackendModule> module,
                                          std::vector<Argument> arguments, std::string name) {
  if (module == nullptr) return absl::InvalidArgumentError("expected a module to call, got none");
  if (program.dialect != IrDialect::kEdge) {
    return absl::InvalidArgumentError(absl::StrCat("expected an edge program, got one of the ",
                                                   IrDialectName(program.dialect), " dialect"));
  }
  if (!program.graphs.contains(graph_id)) {
    return absl::InvalidArgumentError(absl::StrCat("unknown graph#", graph_id.index()));
  }
  Graph& graph = program.graphs[graph_id];
  if (before.valid() && !graph.contains(before)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown node ", before.index(), " in graph#", graph_id.index()));
  }
  const ExportedProgram& original = module->original;
  ABSL_ASSIGN_OR_RETURN(const Interface interface, InterfaceOf(original));
  SymbolBindings bindings;
  ABSL_RETURN_IF_ERROR(CheckArguments(program, graph, original, interface, arguments, bindings));

  std::vector<GraphEditor::NewOutput> outputs;
  for (size_t k : interface.outputs) {
    const Argument& output = original.top().outputs()[k];
    GraphEditor::NewOutput made;
    if (const ValueId* value = output.get_if<ValueId>()) {
      const Value& from = original.top().value(*value);
      made.values.emplace_back(from.name, bindings.Apply(from.type, original.ranges, program));
    } else if (output.is_none()) {
      made.kind = NodeOutput::Kind::kNone;
    } else {
      made.values.emplace_back("literal", LiteralType(output));
    }
    outputs.push_back(std::move(made));
  }
  GraphEditor::NewNode node{
      .name = std::move(name),
      .target = program.ops->CallDelegate(),
      .arguments = {},
      .debug_handle = std::max(MaxDebugHandle(program), MaxDebugHandle(original)) + 1};
  node.arguments.emplace_back(AddModule(program, std::move(module)));
  for (Argument& argument : arguments) node.arguments.push_back(std::move(argument));
  node.argument_names.resize(node.arguments.size());
  return GraphEditor(graph).InsertNode(before, std::move(node), std::move(outputs));
}

absl::StatusOr<ExportedProgram> ProgramOfModule(
    std::shared_ptr<const LoweredBackendModule> module) {
  if (module == nullptr) return absl::InvalidArgumentError("expected a module to call, got none");
  const ExportedProgram& original = module->original;
  ABSL_ASSIGN_OR_RETURN(const Interface interface, InterfaceOf(original));
  ExportedProgram program(original.ops);
  program.dialect = IrDialect::kEdge;
  program.ranges = original.ranges;
  program.hints = original.hints;
  program.in_spec = original.in_spec;
  program.out_spec = original.out_spec;
  program.guards = original.guards;
  program.graphs.push_back(Graph());
  std::vector<Argument> arguments;
  {
    GraphEditor editor(program.top());
    for (size_t i : interface.inputs) {
      const Value& input = original.top().value(original.top().inputs()[i]);
      arguments.emplace_back(editor.AddInput(input.name, input.type));
      program.signature.inputs.push_back(original.signature.inputs[i]);
    }
  }
  // The module's symbols become the program's own, also data-dependent ones. InsertDelegateCall
  // renames symbols that exist already, so the ranges are restored after it.
  ExportedProgram called = program.Clone();
  called.ranges.clear();
  ABSL_ASSIGN_OR_RETURN(
      const NodeId node,
      InsertDelegateCall(called, ExportedProgram::kTop, NodeId(), module, std::move(arguments)));
  called.ranges = program.ranges;
  std::vector<Argument> outputs;
  const std::vector<NodeOutput> results = called.top().node(node).outputs;
  for (size_t k = 0; k < interface.outputs.size(); ++k) {
    const Argument& output = original.top().outputs()[interface.outputs[k]];
    // Literals need no value of the call.
    if (output.is<ValueId>()) {
      outputs.emplace_back(results[k].values[0]);
    } else {
      outputs.push_back(output);
    }
    called.signature.outputs.push_back(original.signature.outputs[interface.outputs[k]]);
  }
  GraphEditor(called.top()).SetOutputs(std::move(outputs));
  return called;
}

}  // namespace belay::exir
