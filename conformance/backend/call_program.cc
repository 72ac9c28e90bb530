#include "conformance/backend/call_program.h"

#include <set>
#include <utility>

#include "conformance/differential/call_corpus.h"
#include "exir/builder/op_builder.h"
#include "exir/ir/graph_editor.h"
#include "exir/pipeline.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::ValueId;

// Appends single tensors and tensors in lists, in order.
absl::Status Flatten(const exir::Graph& graph, const Argument& result,
                     std::vector<Argument>& outputs) {
  if (const auto* list = result.get_if<Argument::List>()) {
    for (const Argument& element : *list) {
      ABSL_RETURN_IF_ERROR(Flatten(graph, element, outputs));
    }
    return absl::OkStatus();
  }
  const ValueId* value = result.get_if<ValueId>();
  if (value == nullptr || graph.value(*value).tensor() == nullptr) {
    return absl::UnimplementedError("a result is not a tensor");
  }
  outputs.push_back(result);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallProgram> MakeCallProgram(
    const exir::OpOverload& op, const OpCase& op_case, OnlyInput only_input,
    const exir::OpRegistry& ops, absl::Span<const exir::Partitioner* const> partitioners) {
  if (!op_case.expect.has_value()) return absl::UnimplementedError("an error is expected");
  ABSL_ASSIGN_OR_RETURN(const SampleCall call, ToSampleCall(op, op_case));
  if (only_input.has_value() && (call.tensors.size() < 2 || *only_input >= call.tensors.size())) {
    return absl::UnimplementedError("no parameters");
  }
  CallProgram made{.program = ExportedProgram(&ops), .inputs = {}};
  ExportedProgram& program = made.program;
  program.dialect = op.schema()->IsMutable() ? exir::IrDialect::kTraining : exir::IrDialect::kAten;
  program.graphs.push_back(exir::Graph());
  exir::GraphEditor editor(program.top());
  std::vector<ValueId> bound(call.tensors.size());
  // Parameters come before user inputs.
  for (const bool parameters : {true, false}) {
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const bool parameter = only_input.has_value() && i != *only_input;
      if (parameter != parameters) continue;
      exir::OwnedValue value = call.tensors[i].Copy();
      const std::string name = absl::StrCat(parameter ? "w" : "x", i);
      bound[i] = editor.AddInput(name, value.Meta());
      exir::InputSpec& spec = program.signature.inputs.emplace_back();
      if (parameter) {
        spec = {.kind = exir::InputKind::kParameter, .target = name};
        ABSL_ASSIGN_OR_RETURN(exir::ConstantTensor constant, value.ToConstant());
        program.state_dict.emplace(name, std::move(constant));
      } else {
        made.inputs.push_back(std::move(value));
      }
    }
  }
  std::vector<Argument> arguments = call.arguments;
  for (Argument& argument : arguments) {
    ForEachValueRef(argument, [&](ValueId& id) { id = bound[id.index()]; });
  }
  {
    exir::OpBuilder builder(program, editor);
    builder.MoveToEnd();
    const std::vector<Argument> results = builder.CallAll(&op, std::move(arguments));
    ABSL_RETURN_IF_ERROR(builder.status());
    std::vector<Argument> outputs;
    for (const Argument& result : results) {
      ABSL_RETURN_IF_ERROR(Flatten(editor.graph(), result, outputs));
    }
    program.signature.outputs.resize(outputs.size());
    editor.SetOutputs(std::move(outputs));
  }
  exir::ToEdgeOptions options;
  options.decompose = exir::KeepFor(program, partitioners);
  ABSL_ASSIGN_OR_RETURN(program, exir::ToEdge(std::move(program), options));
  return made;
}

absl::StatusOr<Offer> OfferTo(const exir::Partitioner& partitioner,
                              const exir::ExportedProgram& program) {
  ABSL_ASSIGN_OR_RETURN(const exir::PartitionResult result, partitioner.Partition(program));
  std::set<std::string_view> tags;
  for (const auto& [tag, delegation] : result.delegation) tags.insert(tag);
  Offer offer;
  for (const exir::Graph& graph : program.graphs) offer.nodes += graph.num_nodes();
  for (const exir::PartitionResult::NodeTag& node : result.nodes)
    offer.taken += tags.contains(node.tag);
  if (!result.rejections.empty()) offer.reason = result.rejections[0].reason;
  return offer;
}

}  // namespace belay::conformance
