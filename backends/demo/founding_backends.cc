#include "backends/demo/founding_backends.h"

#include <string>
#include <utility>

#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

using exir::Graph;
using exir::Node;
using exir::NodeId;
using exir::ValueId;

exir::Storage TextStorage(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return exir::Storage::Own({bytes, bytes + text.size()});
}

// The values that a call takes, alpha and the like at their defaults.
bool TakesOnly(const Node& node, std::initializer_list<ValueId> values) {
  size_t i = 0;
  for (ValueId value : values) {
    const ValueId* argument = node.arguments[i++].get_if<ValueId>();
    if (argument == nullptr || *argument != value) return false;
  }
  for (; i < node.arguments.size(); ++i) {
    if (!(node.arguments[i] == exir::DefaultArgument(node.target->schema()->arguments[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<exir::PreprocessResult> CompilerDemoBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec>) const {
  const Graph& graph = program.top();
  const auto unsupported = [&](NodeId node) {
    return absl::UnimplementedError(absl::StrCat(
        "call_function ", graph.node(node).target->name(),
        " is not supported in backend BackendWithCompilerDemo: ", exir::DescribeNode(graph, node)));
  };
  if (graph.inputs().empty()) return absl::UnimplementedError("a program without inputs");
  ValueId value = graph.inputs()[0];
  size_t next_input = 1;
  size_t count = 0;
  std::string instructions;
  exir::PreprocessResult result;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::string& op = node.target->name();
    if (op == "aten.sin.default") {
      if (!TakesOnly(node, {value})) return unsupported(id);
    } else if (op == "aten.mm.default" || op == "aten.add.Tensor") {
      if (next_input >= graph.inputs().size() ||
          !TakesOnly(node, {value, graph.inputs()[next_input]})) {
        return unsupported(id);
      }
      ++next_input;
    } else {
      return unsupported(id);
    }
    value = node.results()[0];
    const exir::TensorMeta* meta = graph.value(value).tensor();
    if (meta == nullptr || meta->dtype != DType::kFloat32 || !meta->is_static()) {
      return unsupported(id);
    }
    absl::StrAppend(&instructions, "op:demo::", op, ", numel:", meta->NumElements().ToString(),
                    ", dtype:torch.float32<debug_handle>", node.debug_handle, "#");
    if (node.debug_handle != 0) {
      result.debug_handle_map[node.debug_handle] = {node.debug_handle};
    }
    ++count;
  }
  if (next_input != graph.inputs().size() || graph.outputs().size() != 1 ||
      !(graph.outputs()[0] == exir::Argument(value))) {
    return absl::UnimplementedError("the program is no chain from its inputs to one output");
  }
  result.processed = TextStorage(absl::StrCat(count, "version:0#", instructions));
  return result;
}

absl::StatusOr<exir::PreprocessResult> DelegateMappingDemoBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec>) const {
  const Graph& graph = program.top();
  exir::DelegateMappingBuilder builder(exir::DelegateMappingBuilder::Identifiers::kGenerated);
  std::string instructions;
  size_t count = 0;
  const auto add = [&](std::string_view name, absl::Span<const NodeId> nodes) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const exir::DelegateId id, builder.InsertNodes(graph, nodes));
    absl::StrAppend(&instructions, name, ",", std::get<int64_t>(id), ",");
    ++count;
    return absl::OkStatus();
  };
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::string& op = node.target->name();
    if (op == "aten.relu.default") {
      const ValueId* input = node.arguments[0].get_if<ValueId>();
      const NodeId producer = input == nullptr ? NodeId() : graph.value(*input).producer;
      if (producer.valid() && graph.node(producer).target->name() == "aten.convolution.default") {
        ABSL_RETURN_IF_ERROR(add("conv_relu_op", {producer, id}));
      }
    } else if (op == "aten.tan.default") {
      ABSL_RETURN_IF_ERROR(add("sin_decomp_from_tan", {id}));
      ABSL_RETURN_IF_ERROR(add("cos_decomp_from_tan", {id}));
      ABSL_RETURN_IF_ERROR(add("div_decomp_from_tan", {id}));
    }
  }
  exir::PreprocessResult result;
  result.processed = TextStorage(absl::StrCat(count, "#", instructions));
  result.debug_handle_map = builder.mapping();
  return result;
}

std::unique_ptr<exir::Partitioner> CreateAddMulPartitionerDemo() {
  return std::make_unique<exir::CapabilityPartitioner>(
      exir::DelegationSpec{"BackendWithCompilerDemo", {{"max_value", "\4"}}},
      exir::SupportOps({"aten.add.Tensor", "aten.mm.default"}));
}

}  // namespace belay::demo
