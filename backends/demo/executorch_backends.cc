#include "backends/demo/executorch_backends.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "backends/demo/chain.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {

using exir::Graph;
using exir::Node;
using exir::NodeId;
using exir::ValueId;

absl::StatusOr<exir::PreprocessResult> CompilerDemoBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec>) const {
  static constexpr std::string_view kOps[] = {"aten.sin.default", "aten.mm.default",
                                              "aten.add.Tensor"};
  ABSL_ASSIGN_OR_RETURN(const Chain chain, ReadChain(program, kOps, id()));
  const Graph& graph = program.top();
  if (!chain.constants.empty()) {
    return absl::UnimplementedError(absl::StrCat("backend ", id(), " takes no constants, and %",
                                                 graph.value(chain.constants[0]).name, " is one"));
  }
  std::string text = absl::StrCat(chain.nodes.size(), "version:0#");
  exir::PreprocessResult result;
  for (NodeId id : chain.nodes) {
    const Node& node = graph.node(id);
    absl::StrAppend(&text, "op:demo::", node.target->name(),
                    ", numel:", graph.value(node.results()[0]).tensor()->NumElements().ToString(),
                    ", dtype:torch.float32<debug_handle>", node.debug_handle, "#");
    if (node.debug_handle != 0) {
      result.debug_handle_map[node.debug_handle] = {node.debug_handle};
    }
  }
  result.processed = StringStorage(text);
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
  result.processed = StringStorage(absl::StrCat(count, "#", instructions));
  result.debug_handle_map = builder.mapping();
  return result;
}

namespace {

constexpr std::string_view kElementwise[] = {"aten.add.Tensor",  "aten.cos.default",
                                             "aten.div.Tensor",  "aten.mul.Tensor",
                                             "aten.sin.default", "aten.sub.Tensor"};

}  // namespace

absl::StatusOr<exir::PreprocessResult> NamedDataDemoBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec>) const {
  ABSL_ASSIGN_OR_RETURN(const Chain chain, ReadChain(program, kElementwise, id()));
  const Graph& graph = program.top();
  if (!chain.constants.empty()) {
    return absl::UnimplementedError(absl::StrCat("backend ", id(), " takes no constants, and %",
                                                 graph.value(chain.constants[0]).name, " is one"));
  }
  exir::NamedDataStore store;
  std::vector<std::string> keys;
  for (NodeId node : chain.nodes) {
    keys.push_back(graph.node(node).target->name());
    ABSL_RETURN_IF_ERROR(store.Add(keys.back(), StringStorage(absl::StrCat("op:", keys.back()))));
  }
  exir::PreprocessResult result;
  result.processed = StringStorage(absl::StrJoin(keys, "\n"));
  result.named_data = store.output();
  return result;
}

absl::StatusOr<exir::PreprocessResult> PreprocessAllDemoBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  exir::MethodPartitions methods;
  methods.emplace_back("", std::vector<exir::PartitionInput>());
  methods[0].second.push_back(
      {std::move(program), {compile_specs.begin(), compile_specs.end()}, ""});
  ABSL_ASSIGN_OR_RETURN(exir::MethodResults results,
                        PreprocessMultimethod(std::move(methods), /*threads=*/1));
  return std::move(results[0].second[0]);
}

absl::StatusOr<exir::MethodResults> PreprocessAllDemoBackend::PreprocessMultimethod(
    exir::MethodPartitions methods, int) const {
  size_t total = 0;
  for (const auto& [method, partitions] : methods) {
    for (const exir::PartitionInput& partition : partitions) {
      total += partition.program.top().num_nodes();
    }
  }
  exir::MethodResults results;
  for (const auto& [method, partitions] : methods) {
    auto& replies = results.emplace_back(method, std::vector<exir::PreprocessResult>()).second;
    for (const exir::PartitionInput& partition : partitions) {
      const exir::ExportedProgram& program = partition.program;
      const Graph& graph = program.top();
      ABSL_ASSIGN_OR_RETURN(const Chain chain, ReadChain(program, kElementwise, id()));
      exir::NamedDataStore store;
      std::vector<std::string> ops, specs;
      for (ValueId constant : chain.constants) {
        const exir::InputSpec& spec = program.signature.inputs[*program.InputIndex(constant)];
        const exir::ConstantTensor* tensor = program.FindConstant(spec);
        if (tensor == nullptr || spec.target.find_first_of("+#") != std::string::npos) {
          return absl::UnimplementedError(
              absl::StrCat("backend ", id(), " takes no constant ", spec.target));
        }
        exir::NamedDataOptions aligned;
        aligned.alignment = sizeof(float);
        ABSL_RETURN_IF_ERROR(store.AddTensor(spec.target, *tensor, aligned));
        ops.push_back(absl::StrCat("CONST", spec.target));
      }
      for (NodeId node : chain.nodes) ops.push_back(graph.node(node).target->name());
      for (const exir::CompileSpec& spec : partition.compile_specs) {
        specs.push_back(absl::StrCat(spec.key, "=", absl::BytesToHexString(spec.value)));
      }
      replies.push_back(
          {.processed = StringStorage(absl::StrCat(id(), "#", total, "#", absl::StrJoin(ops, "+"),
                                                   "#", absl::StrJoin(specs, ","))),
           .named_data = store.output()});
    }
  }
  return results;
}

std::unique_ptr<exir::Partitioner> CreateAddMulPartitionerDemo() {
  return std::make_unique<exir::CapabilityPartitioner>(
      exir::DelegationSpec{"BackendWithCompilerDemo", {{"max_value", "\4"}}},
      exir::SupportOps({"aten.add.Tensor", "aten.mm.default"}));
}

}  // namespace belay::demo
