// Executes nodes: operators, control flow, delegate calls.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "exir/builder/decomposition_table.h"
#include "exir/interpreter/interpreter_impl.h"
#include "exir/ir/at_node.h"
#include "exir/ir/call_arguments.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::Status Interpreter::Impl::RunGraph(Frame& frame, RunState& run) {
  if (run.callers.size() > static_cast<size_t>(options_.max_nesting)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("bodies are nested more than ", options_.max_nesting, " deep"));
  }
  for (NodeId id : frame.graph->nodes()) {
    if (const absl::Status status = RunNode(frame, id, run); !status.ok()) {
      return AtNode(status, *frame.graph, id);
    }
    for (ValueId value : last_uses_[frame.id.index()].get(id)) {
      frame.values[value.index()] = OwnedValue();
    }
  }
  return absl::OkStatus();
}

absl::Status Interpreter::Impl::RunNode(Frame& frame, NodeId id, RunState& run) {
  ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> results, Execute(frame, id, run));
  const std::vector<ValueId> values = frame.graph->node(id).results();
  if (results.size() != values.size()) {
    return absl::InternalError(
        absl::StrCat("the node: expected ", values.size(), " results, got ", results.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = frame.graph->value(values[i]);
    absl::Status status = CheckInput(absl::StrCat("'", value.name, "'"), value.type, results[i]);
    if (status.ok()) status = Bind(value.type, results[i], frame.symbols);
    if (!status.ok()) {
      return absl::InternalError(absl::StrCat(
          "the program declares '", value.name, "' as ", PrintType(value.type),
          ", its operator gives ", results[i].value().KindName(), ": ", status.message()));
    }
    frame.values[values[i].index()] = std::move(results[i]);
  }
  if (options_.observer == nullptr) return absl::OkStatus();
  std::vector<const OwnedValue*> seen;
  for (ValueId value : values) seen.push_back(&frame.values[value.index()]);
  return options_.observer(NodeEvent{
      .program = program_, .graph = frame.id, .node = id, .callers = run.callers, .results = seen});
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::Execute(Frame& frame, NodeId id,
                                                                   RunState& run) {
  const Node& node = frame.graph->node(id);
  const OpOverload* op = node.target->aten();
  if (op->dialect() != Dialect::kHigherOrder) {
    return RunOperator(frame, *op, node.arguments, node.outputs, run);
  }
  run.callers.push_back(node.name);
  absl::StatusOr<std::vector<OwnedValue>> results;
  const std::string& name = op->name();
  if (name == "higher_order.cond") {
    results = RunCond(frame, node, run);
  } else if (name == "higher_order.while_loop") {
    results = RunWhileLoop(frame, node, run);
  } else if (name == "higher_order.map_impl") {
    results = RunMap(frame, node, run);
  } else if (name == "higher_order.scan") {
    results = RunScan(frame, node, run);
  } else if (name == "higher_order.with_effects") {
    results = RunWithEffects(frame, node, run);
  } else if (name == "higher_order.executorch_call_delegate") {
    results = RunDelegate(frame, id, run);
  } else {
    // wrap_with_set_grad_enabled(enabled, body, …), wrap_with_autocast(device, dtype, enabled,
    // cache, body, …): results do not depend on the mode.
    const auto body = std::find_if(node.arguments.begin(), node.arguments.end(),
                                   [](const Argument& a) { return a.is<GraphId>(); });
    if (body == node.arguments.end()) {
      results = absl::InvalidArgumentError("a region without a body");
    } else {
      std::vector<OwnedValue> operands;
      absl::Status status;
      for (auto argument = body + 1; argument != node.arguments.end() && status.ok(); ++argument) {
        absl::StatusOr<OwnedValue> operand = Evaluate(frame, *argument);
        status = operand.status();
        if (operand.ok()) operands.push_back(*std::move(operand));
      }
      if (status.ok()) {
        results = RunBody(frame, *body, std::move(operands), run);
      } else {
        results = status;
      }
    }
  }
  run.callers.pop_back();
  return results;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunOperator(
    Frame& frame, const OpOverload& op, absl::Span<const Argument> arguments,
    absl::Span<const NodeOutput> outputs, RunState& run) {
  // CheckNode rejects operators with neither a kernel nor a composite kernel.
  if (!HasKernel(op)) return RunComposite(frame, op, arguments, outputs, run);
  std::vector<Operand> operands;
  for (const Argument& argument : arguments) {
    ABSL_ASSIGN_OR_RETURN(Operand operand, ToOperand(frame, argument));
    operands.push_back(std::move(operand));
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<CallResult> returns,
                        CallOperator(op, absl::MakeSpan(operands), kernels_,
                                     {.engine = options_.engine,
                                      .max_tensor_bytes = options_.max_tensor_bytes,
                                      .share_copies = share_copies_,
                                      .threads = options_.threads,
                                      .pool = pool_.get()}));
  std::vector<OwnedValue> results;
  for (size_t i = 0; i < outputs.size() && i < returns.size(); ++i) {
    if (outputs[i].kind == NodeOutput::Kind::kNone) continue;
    for (OwnedValue& value : returns[i].values) results.push_back(std::move(value));
  }
  return results;
}

namespace {

// Converts an argument for a call in its own graph: tensors become inputs.
Argument ToArgument(const OwnedValue& datum, GraphEditor& editor, std::vector<EValue>& inputs) {
  const EValue& value = datum.value();
  if (datum.tensor() != nullptr) {
    inputs.push_back(value);
    return editor.AddInput("input", datum.Meta());
  }
  if (const int64_t* number = value.get_if<int64_t>()) return *number;
  if (const double* number = value.get_if<double>()) return *number;
  if (const bool* truth = value.get_if<bool>()) return *truth;
  if (const auto* text = value.get_if<std::string_view>()) return std::string(*text);
  if (const DType* dtype = value.get_if<DType>()) return *dtype;
  return Argument();
}

}  // namespace

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunComposite(
    Frame& frame, const OpOverload& op, absl::Span<const Argument> arguments,
    absl::Span<const NodeOutput> outputs, RunState& run) {
  ExportedProgram program(program_.ops);
  GraphEditor editor(program.graphs[program.graphs.push_back(Graph())]);
  std::vector<EValue> inputs;
  const std::function<Argument(const Argument&)> pass = [&](const Argument& argument) {
    if (const ValueId* id = argument.get_if<ValueId>()) {
      return ToArgument(frame.values[id->index()], editor, inputs);
    }
    const Argument::List* list = argument.get_if<Argument::List>();
    if (list == nullptr) return argument;
    Argument::List elements;
    for (const Argument& element : *list) elements.push_back(pass(element));
    return Argument(std::move(elements));
  };
  std::vector<Argument> passed;
  for (const Argument& argument : arguments) passed.push_back(pass(argument));
  std::vector<Argument> results;
  {
    OpBuilder builder(program, editor);
    builder.MoveToEnd();
    const std::vector<Argument> returns =
        RunDecomposition(*op.composite_kernel(), builder, OpCall(builder, &op, std::move(passed)));
    ABSL_RETURN_IF_ERROR(builder.status());
    for (size_t i = 0; i < outputs.size() && i < returns.size(); ++i) {
      const Argument::List* list = returns[i].get_if<Argument::List>();
      if (outputs[i].kind == NodeOutput::Kind::kNone) continue;
      if (list != nullptr) {
        results.insert(results.end(), list->begin(), list->end());
      } else {
        results.push_back(returns[i]);
      }
    }
  }  // the program owns subgraphs created by the kernel
  program.signature.inputs.resize(inputs.size());
  program.signature.outputs.resize(results.size());
  editor.SetOutputs(std::move(results));

  InterpreterOptions options = options_;
  options.observer = nullptr;
  Impl made(program, kernels_, std::move(options), pool_);
  std::vector<std::string> missing;
  ABSL_RETURN_IF_ERROR(made.Prepare(0, missing));
  if (!missing.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("the composite kernel of ", op.name(), ": ", absl::StrJoin(missing, ", ")));
  }
  run.callers.push_back(op.name());
  absl::StatusOr<std::vector<OwnedValue>> values = made.Run(inputs, run);
  run.callers.pop_back();
  return values;
}

// --- Arguments ---

absl::StatusOr<Operand> Interpreter::Impl::ToOperand(Frame& frame, const Argument& argument) const {
  if (const ValueId* id = argument.get_if<ValueId>()) {
    return Operand::Of(&frame.values[id->index()]);
  }
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    std::vector<Operand> elements;
    for (const Argument& element : *list) {
      ABSL_ASSIGN_OR_RETURN(Operand operand, ToOperand(frame, element));
      elements.push_back(std::move(operand));
    }
    return Operand::List(std::move(elements));
  }
  return std::visit(
      [&](const auto& v) -> absl::StatusOr<Operand> {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          return Operand::Literal(SymExpr(v));
        } else if constexpr (std::is_constructible_v<MetaValue, T> && !std::is_same_v<T, ValueId> &&
                             !std::is_same_v<T, Argument::List> && !std::is_same_v<T, GraphId> &&
                             !std::is_same_v<T, ModuleId> && !std::is_same_v<T, OperatorName> &&
                             !std::is_same_v<T, Dict>) {
          return Operand::Literal(MetaValue(v));
        } else {
          return absl::UnimplementedError(absl::StrCat("an operator can't take the argument ",
                                                       PrintArgument(*frame.graph, argument)));
        }
      },
      argument.variant());
}

absl::StatusOr<OwnedValue> Interpreter::Impl::Evaluate(const Frame& frame,
                                                       const Argument& argument) const {
  return std::visit(
      [&](const auto& v) -> absl::StatusOr<OwnedValue> {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, ValueId>) {
          return frame.values[v.index()];
        } else if constexpr (std::is_same_v<T, std::string>) {
          return OwnedValue::String(v);
        } else if constexpr (std::is_same_v<T, None> || std::is_same_v<T, int64_t> ||
                             std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                             std::is_same_v<T, std::complex<double>> || std::is_same_v<T, DType> ||
                             std::is_same_v<T, MemoryFormat>) {
          return OwnedValue::Scalar(EValue(v));
        } else {
          return absl::UnimplementedError(
              absl::StrCat(PrintArgument(*frame.graph, argument), " has no run-time value"));
        }
      },
      argument.variant());
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::EvaluateList(
    const Frame& frame, const Argument& argument) const {
  const Argument::List* list = argument.get_if<Argument::List>();
  if (list == nullptr) return absl::InvalidArgumentError("operands must be a list");
  std::vector<OwnedValue> values;
  for (const Argument& element : *list) {
    ABSL_ASSIGN_OR_RETURN(OwnedValue value, Evaluate(frame, element));
    values.push_back(std::move(value));
  }
  return values;
}

// --- Control flow ---

namespace {

absl::StatusOr<bool> Truth(const OwnedValue& datum) {
  if (const bool* v = datum.value().get_if<bool>()) return *v;
  const TensorView* tensor = datum.tensor();
  if (tensor != nullptr && tensor->dtype == DType::kBool && tensor->numel() == 1) {
    return *tensor->as<bool>();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected one bool, got ", datum.value().KindName()));
}

// Returns the common size of dimension 0.
absl::StatusOr<int64_t> Rows(const std::vector<OwnedValue>& tensors) {
  int64_t rows = -1;
  for (const OwnedValue& datum : tensors) {
    const TensorView* tensor = datum.tensor();
    if (tensor == nullptr || tensor->rank() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a tensor with dimensions, got ", datum.value().KindName()));
    }
    if (rows >= 0 && tensor->sizes[0] != rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("one tensor has ", rows, " rows, another ", tensor->sizes[0]));
    }
    rows = tensor->sizes[0];
  }
  if (rows < 0) return absl::InvalidArgumentError("there is no tensor with rows");
  return rows;
}

}  // namespace

absl::Status Interpreter::Impl::CountIteration(RunState& run) const {
  if (++run.iterations <= options_.max_iterations) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("loops ran more than ", options_.max_iterations, " iterations"));
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunBody(Frame& outer,
                                                                   const Argument& body,
                                                                   std::vector<OwnedValue> operands,
                                                                   RunState& run) {
  const GraphId* id = body.get_if<GraphId>();
  if (id == nullptr || !program_.graphs.contains(*id)) {
    return absl::InvalidArgumentError("expected a body");
  }
  const Graph& graph = program_.graphs[*id];
  if (graph.inputs().size() != operands.size()) {
    return absl::InvalidArgumentError(absl::StrCat("body '", graph.name(), "': expected ",
                                                   graph.inputs().size(), " operands, got ",
                                                   operands.size()));
  }
  Frame frame{.graph = &graph,
              .id = *id,
              .values = std::vector<OwnedValue>(graph.value_id_limit()),
              .symbols = outer.symbols};
  for (size_t i = 0; i < operands.size(); ++i) {
    const ValueId input = graph.inputs()[i];
    const Value& value = graph.value(input);
    ABSL_RETURN_IF_ERROR(CheckInput(absl::StrCat("operand ", i, " of body '", graph.name(), "'"),
                                    value.type, operands[i]));
    if (const absl::Status status = Bind(value.type, operands[i], frame.symbols); !status.ok()) {
      return Annotate(status, absl::StrCat("operand ", i, " of body '", graph.name(), "'"));
    }
    frame.values[input.index()] = std::move(operands[i]);
  }
  ABSL_RETURN_IF_ERROR(RunGraph(frame, run));
  std::vector<OwnedValue> results;
  for (const Argument& output : graph.outputs()) {
    ABSL_ASSIGN_OR_RETURN(OwnedValue result, Evaluate(frame, output));
    results.push_back(std::move(result));
  }
  return results;
}

// Copies results of branches and loops that alias operands or other results, as the runtime does.
// PyTorch exports no subgraph with such results, and a write to a result must not reach an operand
// or another result.
absl::StatusOr<std::vector<OwnedValue>> OwnResults(std::vector<OwnedValue> results,
                                                   absl::Span<const OwnedValue> operands) {
  for (auto it = results.begin(); it != results.end(); ++it) {
    const auto shares = [&](const OwnedValue& other) { return it->SharesStorage(other); };
    if (std::none_of(operands.begin(), operands.end(), shares) &&
        std::none_of(results.begin(), it, shares)) {
      continue;
    }
    ABSL_ASSIGN_OR_RETURN(*it, it->Copy());
  }
  return results;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunCond(Frame& frame, const Node& node,
                                                                   RunState& run) {
  ABSL_ASSIGN_OR_RETURN(const OwnedValue predicate, Evaluate(frame, node.argument("predicate")));
  ABSL_ASSIGN_OR_RETURN(const bool branch, Truth(predicate));
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> operands,
                        EvaluateList(frame, node.argument("operands")));
  ABSL_ASSIGN_OR_RETURN(
      std::vector<OwnedValue> results,
      RunBody(frame, node.argument(branch ? "true_graph" : "false_graph"), operands, run));
  return OwnResults(std::move(results), operands);
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunWhileLoop(Frame& frame,
                                                                        const Node& node,
                                                                        RunState& run) {
  ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> carried,
                        EvaluateList(frame, node.argument("carried")));
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> additional,
                        EvaluateList(frame, node.argument("additional")));
  std::vector<OwnedValue> given = carried;
  given.insert(given.end(), additional.begin(), additional.end());
  while (true) {
    std::vector<OwnedValue> operands = carried;
    operands.insert(operands.end(), additional.begin(), additional.end());
    ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> test,
                          RunBody(frame, node.argument("condition"), operands, run));
    if (test.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the loop's condition gives ", test.size(), " values"));
    }
    ABSL_ASSIGN_OR_RETURN(const bool go_on, Truth(test[0]));
    if (!go_on) return OwnResults(std::move(carried), given);
    ABSL_RETURN_IF_ERROR(CountIteration(run));
    ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> next,
                          RunBody(frame, node.argument("body"), std::move(operands), run));
    if (next.size() != carried.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the loop carries ", carried.size(),
                                                     " values, its body gives ", next.size()));
    }
    carried = std::move(next);
  }
}

absl::StatusOr<OwnedValue> Interpreter::Impl::Stack(const Frame& frame,
                                                    const std::vector<OwnedValue>& rows,
                                                    const ValueType& type) const {
  Sizes sizes;
  DType dtype = DType::kFloat32;
  if (rows.empty()) {
    // Without rows, only the declared type determines the row type.
    const TensorMeta* meta = std::get_if<TensorMeta>(&type);
    if (meta == nullptr || meta->rank() == 0 || meta->rank() > kMaxRank) {
      return absl::InvalidArgumentError("cannot stack rows to a value that is not a tensor");
    }
    dtype = meta->dtype;
    sizes.push_back(0);
    for (int d = 1; d < meta->rank(); ++d) {
      const std::optional<int64_t> size =
          meta->sizes[d].EvaluateInt([&](std::string_view name) -> std::optional<int64_t> {
            const auto it = frame.symbols.find(std::string(name));
            return it == frame.symbols.end() ? std::nullopt : std::optional<int64_t>(it->second);
          });
      if (!size.has_value()) {
        return absl::UnimplementedError(
            absl::StrCat("no rows, and size ", d, " of ", PrintType(type), " is not known"));
      }
      sizes.push_back(*size);
    }
  } else {
    const TensorView* first = rows[0].tensor();
    if (first == nullptr || first->rank() >= kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a row of tensors, got ", rows[0].value().KindName()));
    }
    dtype = first->dtype;
    sizes = first->sizes;
    sizes.insert(0, static_cast<int64_t>(rows.size()));
    if (!NumElements(sizes).has_value()) {
      return absl::ResourceExhaustedError(absl::StrCat("a tensor of sizes ", FormatSizes(sizes)));
    }
  }
  ABSL_ASSIGN_OR_RETURN(OwnedValue stacked,
                        OwnedValue::Allocate(dtype, sizes, belay::ContiguousStrides(sizes),
                                             options_.max_tensor_bytes, pool_.get()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const TensorView* row = rows[i].tensor();
    if (row == nullptr || row->dtype != dtype || !(row->sizes == rows[0].tensor()->sizes)) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i, " is ", rows[i].value().KindName(),
                                                     ", the first ", rows[0].value().KindName()));
    }
    ABSL_RETURN_IF_ERROR(CopyElements(*row, *stacked.Slice(static_cast<int64_t>(i)).tensor()));
  }
  return stacked;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunMap(Frame& frame, const Node& node,
                                                                  RunState& run) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> mapped,
                        EvaluateList(frame, node.argument("rows")));
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> additional,
                        EvaluateList(frame, node.argument("additional")));
  ABSL_ASSIGN_OR_RETURN(const int64_t rows, Rows(mapped));
  const std::vector<ValueId> values = node.results();
  std::vector<std::vector<OwnedValue>> columns(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    ABSL_RETURN_IF_ERROR(CountIteration(run));
    std::vector<OwnedValue> operands;
    for (const OwnedValue& datum : mapped) operands.push_back(datum.Slice(i));
    operands.insert(operands.end(), additional.begin(), additional.end());
    ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> row,
                          RunBody(frame, node.argument("body"), std::move(operands), run));
    if (row.size() != columns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the body gives ", row.size(), " values, the map has ", columns.size()));
    }
    for (size_t k = 0; k < row.size(); ++k) columns[k].push_back(std::move(row[k]));
  }
  std::vector<OwnedValue> results;
  for (size_t k = 0; k < columns.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(OwnedValue result,
                          Stack(frame, columns[k], frame.graph->value(values[k]).type));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunScan(Frame& frame, const Node& node,
                                                                   RunState& run) {
  // Results are the carried values, then the stacked ones.
  ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> carried,
                        EvaluateList(frame, node.argument("initial")));
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> scanned,
                        EvaluateList(frame, node.argument("rows")));
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> additional,
                        EvaluateList(frame, node.argument("additional")));
  ABSL_ASSIGN_OR_RETURN(const int64_t rows, Rows(scanned));
  std::vector<OwnedValue> given = carried;
  given.insert(given.end(), scanned.begin(), scanned.end());
  given.insert(given.end(), additional.begin(), additional.end());
  const std::vector<ValueId> values = node.results();
  if (values.size() < carried.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the scan carries ", carried.size(),
                                                   " values and has ", values.size(), " results"));
  }
  std::vector<std::vector<OwnedValue>> columns(values.size() - carried.size());
  for (int64_t i = 0; i < rows; ++i) {
    ABSL_RETURN_IF_ERROR(CountIteration(run));
    std::vector<OwnedValue> operands = carried;
    for (const OwnedValue& datum : scanned) operands.push_back(datum.Slice(i));
    operands.insert(operands.end(), additional.begin(), additional.end());
    ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> row,
                          RunBody(frame, node.argument("body"), std::move(operands), run));
    if (row.size() != values.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the body gives ", row.size(), " values, the scan has ", values.size()));
    }
    for (size_t k = 0; k < row.size(); ++k) {
      if (k < carried.size()) {
        carried[k] = std::move(row[k]);
      } else {
        columns[k - carried.size()].push_back(std::move(row[k]));
      }
    }
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<OwnedValue> results, OwnResults(std::move(carried), given));
  for (const std::vector<OwnedValue>& column : columns) {
    const ValueType& type = frame.graph->value(values[results.size()]).type;
    ABSL_ASSIGN_OR_RETURN(OwnedValue result, Stack(frame, column, type));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunWithEffects(Frame& frame,
                                                                          const Node& node,
                                                                          RunState& run) {
  // with_effects(token, operator, its arguments…); results are the token, then those of the
  // operator.
  const OpOverload* op = program_.ops->Find(node.argument("operator").get_if<OperatorName>()->name);
  const size_t first = *node.target->ArgumentIndex("operator") + 1;
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<Argument> arguments,
      CompleteArguments(*op->schema(), GivenArguments(node.arguments, node.argument_names, first),
                        false));
  if (node.outputs.empty()) return absl::InvalidArgumentError("the token is missing");
  ABSL_ASSIGN_OR_RETURN(
      std::vector<OwnedValue> results,
      RunOperator(frame, *op, arguments, absl::MakeConstSpan(node.outputs).subspan(1), run));
  results.insert(results.begin(), OwnedValue());
  return results;
}

absl::StatusOr<std::vector<OwnedValue>> Interpreter::Impl::RunDelegate(Frame& frame, NodeId id,
                                                                       RunState& run) {
  const Node& node = frame.graph->node(id);
  std::vector<OwnedValue> operands;
  std::vector<EValue> inputs;
  for (size_t i = 1; i < node.arguments.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(OwnedValue operand, Evaluate(frame, node.arguments[i]));
    operands.push_back(std::move(operand));
    inputs.push_back(operands.back().value());
  }
  return delegates_.at(*node.argument("module").get_if<ModuleId>())->Run(inputs, run);
}

}  // namespace belay::exir
