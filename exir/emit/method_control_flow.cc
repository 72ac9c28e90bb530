// Emits subgraphs: branches, loops, row loops, and operators with effects.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/emit/method_builder.h"
#include "exir/ir/call_arguments.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::StatusOr<std::vector<MethodBuilder::ValueIndex>> MethodBuilder::EmitSubgraph(
    const Graph& body, const std::vector<ValueIndex>& operands) {
  if (body.inputs().size() != operands.size()) {
    return absl::InvalidArgumentError(absl::StrCat("body '", body.name(), "' takes ",
                                                   body.inputs().size(), " operands, the call has ",
                                                   operands.size()));
  }
  Scope scope;
  for (size_t i = 0; i < operands.size(); ++i) scope[body.inputs()[i]] = operands[i];
  const Graph* outer_graph = current_graph_;
  const NodeId outer_node = current_node_;
  ABSL_RETURN_IF_ERROR(EmitGraph(body, scope));
  current_graph_ = outer_graph;
  current_node_ = outer_node;
  std::vector<ValueIndex> outputs;
  for (const Argument& output : body.outputs()) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, ArgumentValue(body, output, scope));
    outputs.push_back(value);
  }
  return outputs;
}

absl::Status MethodBuilder::EmitCond(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  if (node.arguments.size() != 4) return absl::InvalidArgumentError("cond takes 4 arguments");
  const GraphId* bodies[2] = {node.argument("true_graph").get_if<GraphId>(),
                              node.argument("false_graph").get_if<GraphId>()};
  if (bodies[0] == nullptr || bodies[1] == nullptr) {
    return absl::InvalidArgumentError("cond without two bodies");
  }
  ABSL_ASSIGN_OR_RETURN(const ValueIndex predicate,
                        ArgumentValue(graph, node.argument("predicate"), scope));
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> operands,
                        OperandValues(graph, node.argument("operands"), scope));
  std::vector<ValueIndex> results;
  for (ValueId value : node.results()) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex result, AddResult(graph, value));
    scope[value] = result;
    results.push_back(result);
  }
  AddInstruction().mutable_jump_if_false()->set_condition(predicate);
  const int branch = method_.instructions_size() - 1;
  int jump = -1;
  for (int k = 0; k < 2; ++k) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> outputs,
                          EmitSubgraph(program_.graphs[*bodies[k]], operands));
    if (outputs.size() != results.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a branch returns ", outputs.size(), " values, cond ", results.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) AddMove(outputs[i], results[i]);
    if (k == 0) {
      AddInstruction().mutable_jump();
      jump = method_.instructions_size() - 1;
      method_.mutable_instructions(branch)->mutable_jump_if_false()->set_target(
          method_.instructions_size());
    }
  }
  method_.mutable_instructions(jump)->mutable_jump()->set_target(method_.instructions_size());
  return absl::OkStatus();
}

absl::Status MethodBuilder::EmitWhileLoop(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  if (node.arguments.size() != 4) return absl::InvalidArgumentError("while_loop takes 4 arguments");
  const GraphId* condition = node.argument("condition").get_if<GraphId>();
  const GraphId* body = node.argument("body").get_if<GraphId>();
  if (condition == nullptr || body == nullptr) {
    return absl::InvalidArgumentError("while_loop without two bodies");
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> initial,
                        OperandValues(graph, node.argument("carried"), scope));
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> additional,
                        OperandValues(graph, node.argument("additional"), scope));
  const std::vector<ValueId> results = node.results();
  if (results.size() != initial.size()) {
    return absl::InvalidArgumentError(absl::StrCat("while_loop carries ", initial.size(),
                                                   " values and has ", results.size(), " results"));
  }
  // The carried values are the results.
  std::vector<ValueIndex> carried;
  for (size_t i = 0; i < results.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, AddResult(graph, results[i]));
    scope[results[i]] = value;
    carried.push_back(value);
    AddMove(initial[i], value);
  }
  std::vector<ValueIndex> operands = carried;
  operands.insert(operands.end(), additional.begin(), additional.end());
  const int start = method_.instructions_size();
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> test,
                        EmitSubgraph(program_.graphs[*condition], operands));
  if (test.size() != 1) return absl::InvalidArgumentError("the loop's condition is not one value");
  AddInstruction().mutable_jump_if_false()->set_condition(test[0]);
  const int leave = method_.instructions_size() - 1;
  ABSL_ASSIGN_OR_RETURN(std::vector<ValueIndex> outputs,
                        EmitSubgraph(program_.graphs[*body], operands));
  if (outputs.size() != carried.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the loop's body returns ", outputs.size(),
                                                   " values, the loop carries ", carried.size()));
  }
  CarryOver(std::move(outputs), carried);
  AddInstruction().mutable_jump()->set_target(start);
  method_.mutable_instructions(leave)->mutable_jump_if_false()->set_target(
      method_.instructions_size());
  return absl::OkStatus();
}

void MethodBuilder::CarryOver(std::vector<ValueIndex> outputs,
                              const std::vector<ValueIndex>& carried) {
  // A carried value that moves to another position must not be overwritten before it is read.
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (outputs[i] != carried[k]) continue;
      const ValueIndex temporary = AddTemporaryLike(outputs[i]);
      AddMove(outputs[i], temporary);
      outputs[i] = temporary;
      break;
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != carried[i]) AddMove(outputs[i], carried[i]);
  }
}

absl::Status MethodBuilder::EmitMap(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  if (node.arguments.size() != 3) return absl::InvalidArgumentError("map_impl takes 3 arguments");
  return EmitRowLoop(graph, id, scope);
}

absl::Status MethodBuilder::EmitScan(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  if (node.arguments.size() != 4) return absl::InvalidArgumentError("scan takes 4 arguments");
  return EmitRowLoop(graph, id, scope);
}

std::optional<MethodBuilder::ValueIndex> MethodBuilder::ComputeSize(const Graph& graph, NodeId id,
                                                                    const Scope& scope,
                                                                    const SymInt& size) {
  if (const std::optional<int64_t> number = size.AsInt()) return AddInt(*number);
  // An equal size of an operand.
  std::optional<std::pair<ValueId, int64_t>> found;
  for (const Argument& argument : graph.node(id).arguments) {
    ForEachValue(argument, [&](ValueId value) {
      const TensorMeta* tensor = graph.value(value).tensor();
      for (int64_t d = 0; tensor != nullptr && !found && d < tensor->rank(); ++d) {
        if (tensor->sizes[d] == size) found.emplace(value, d);
      }
    });
  }
  if (found.has_value()) {
    const ValueIndex dim = AddInt(found->second);
    const ValueIndex result = AddScalarSlot(schema::ScalarSlot::INT);
    AddKernelCall("aten.sym_size.int", {*scope.get(found->first), dim}, {result});
    return result;
  }
  // Or an expression of such sizes.
  std::string op;
  if (size.kind() == SymExpr::Kind::kAdd) op = "executorch_prim.add.Scalar";
  if (size.kind() == SymExpr::Kind::kMul) op = "executorch_prim.mul.Scalar";
  if (size.name() == "FloorDiv") op = "executorch_prim.floordiv.Scalar";
  if (size.name() == "Max") op = "executorch_prim.sym_max.Scalar";
  if (size.name() == "Min") op = "executorch_prim.sym_min.Scalar";
  if (op.empty()) return std::nullopt;
  std::optional<ValueIndex> result;
  for (const SymExpr& argument : size.arguments()) {
    const std::optional<ValueIndex> operand = ComputeSize(graph, id, scope, argument);
    if (!operand.has_value()) return std::nullopt;
    if (!result.has_value()) {
      result = operand;
      continue;
    }
    const ValueIndex joined = AddScalarSlot(schema::ScalarSlot::INT);
    AddKernelCall(op, {*result, *operand}, {joined});
    result = joined;
  }
  return result;
}

absl::Status MethodBuilder::EmitRowLoop(const Graph& graph, NodeId id, Scope& scope) {
  const Node& node = graph.node(id);
  const GraphId* body_id = node.argument("body").get_if<GraphId>();
  if (body_id == nullptr) return absl::InvalidArgumentError("a loop without a body");
  const Graph& body = program_.graphs[*body_id];
  std::vector<ValueIndex> initial;
  if (node.target->ArgumentIndex("initial").has_value()) {
    ABSL_ASSIGN_OR_RETURN(initial, OperandValues(graph, node.argument("initial"), scope));
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> mapped,
                        OperandValues(graph, node.argument("rows"), scope));
  ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> additional,
                        OperandValues(graph, node.argument("additional"), scope));
  const std::vector<ValueId> results = graph.node(id).results();
  if (mapped.empty()) return absl::InvalidArgumentError("a row loop without tensors");
  if (results.size() < initial.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the loop carries ", initial.size(),
                                                   " values and has ", results.size(), " results"));
  }
  if (body.inputs().size() != initial.size() + mapped.size() + additional.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "body '", body.name(), "' takes ", body.inputs().size(), " operands, the call has ",
        initial.size() + mapped.size() + additional.size()));
  }
  // The results are the carried values and the tensors that collect the rows.
  std::vector<ValueIndex> carried, stacked;
  const ValueIndex zero = AddInt(0), one = AddInt(1), none = AddNone();
  const ValueIndex count = AddScalarSlot(schema::ScalarSlot::INT);
  AddKernelCall("aten.sym_size.int", {mapped[0], zero}, {count});
  for (size_t i = 0; i < results.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, AddResult(graph, results[i]));
    scope[results[i]] = value;
    if (i < initial.size()) {
      carried.push_back(value);
      AddMove(initial[i], value);
      continue;
    }
    const TensorMeta* meta = graph.value(results[i]).tensor();
    if (meta == nullptr || meta->rank() == 0) {
      return absl::InvalidArgumentError("a result of a row loop is not a tensor with rows");
    }
    stacked.push_back(value);
    // Sets its sizes for the case of zero rows.
    std::vector<ValueIndex> sizes = {count};
    for (int d = 1; d < meta->rank(); ++d) {
      const std::optional<ValueIndex> size = ComputeSize(graph, id, scope, meta->sizes[d]);
      sizes.push_back(size.has_value() ? *size : AddInt(meta->sizes[d].Range(program_.ranges).max));
    }
    schema::Value dtype;
    dtype.set_dtype(static_cast<uint32_t>(meta->dtype));
    AddKernelCall("aten.empty.memory_format",
                  {AddList(sizes), AddLiteral(dtype), none, none, none, none}, {value});
  }
  const ValueIndex index = AddScalarSlot(schema::ScalarSlot::INT);
  const ValueIndex next = AddScalarSlot(schema::ScalarSlot::INT);
  const ValueIndex more = AddScalarSlot(schema::ScalarSlot::BOOL);
  AddMove(zero, index);
  const int start = method_.instructions_size();
  AddKernelCall("executorch_prim.lt.Scalar", {index, count}, {more});
  AddInstruction().mutable_jump_if_false()->set_condition(more);
  const int leave = method_.instructions_size() - 1;
  std::vector<ValueIndex> operands = carried;
  for (size_t k = 0; k < mapped.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex row, AddResult(body, body.inputs()[operands.size()]));
    AddKernelCall("aten.select_copy.int", {mapped[k], zero, index}, {row});
    operands.push_back(row);
  }
  operands.insert(operands.end(), additional.begin(), additional.end());
  ABSL_ASSIGN_OR_RETURN(std::vector<ValueIndex> outputs, EmitSubgraph(body, operands));
  if (outputs.size() != results.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the loop's body returns ", outputs.size(),
                                                   " values, the loop has ", results.size(),
                                                   " results"));
  }
  for (size_t k = 0; k < stacked.size(); ++k) {
    AddKernelCall("belay.set_row_.default", {stacked[k], outputs[carried.size() + k], index, count},
                  {stacked[k]});
  }
  outputs.resize(carried.size());
  CarryOver(std::move(outputs), carried);
  AddKernelCall("executorch_prim.add.Scalar", {index, one}, {next});
  AddMove(next, index);
  AddInstruction().mutable_jump()->set_target(start);
  method_.mutable_instructions(leave)->mutable_jump_if_false()->set_target(
      method_.instructions_size());
  return absl::OkStatus();
}

absl::Status MethodBuilder::EmitWithEffects(const Graph& graph, NodeId id, Scope& scope) {
  // `operator` is followed by its arguments; results are the token, then the operator's results.
  // Instructions keep the node order, so tokens are not emitted.
  const Node& node = graph.node(id);
  const OperatorName* name = node.argument("operator").get_if<OperatorName>();
  const OpOverload* op = name == nullptr ? nullptr : program_.ops->Find(name->name);
  if (op == nullptr || op->schema() == nullptr) {
    AddUnknownOperator(name == nullptr ? node.target->name() : name->name, node);
    return AddResults(graph, id, scope).status();
  }
  const size_t first = *node.target->ArgumentIndex("operator") + 1;
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<Argument> complete,
      CompleteArguments(*op->schema(), GivenArguments(node.arguments, node.argument_names, first),
                        false));
  std::vector<ValueIndex> arguments;
  for (const Argument& argument : complete) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, ArgumentValue(graph, argument, scope));
    arguments.push_back(value);
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<ValueIndex> outputs, AddResults(graph, id, scope));
  if (outputs.empty()) return absl::InvalidArgumentError("with_effects without a token");
  outputs.erase(outputs.begin());
  if (outputs.size() < op->schema()->returns.size()) {
    return absl::InvalidArgumentError(absl::StrCat(op->name(), " has more results than the call"));
  }
  outputs.resize(op->schema()->returns.size());
  AddKernelCall(op->name(), arguments, outputs);
  return absl::OkStatus();
}

}  // namespace belay::exir
