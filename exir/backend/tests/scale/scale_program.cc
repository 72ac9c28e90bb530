#include "exir/backend/tests/scale/scale_program.h"

#include <sys/resource.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr int64_t kRows = 256, kColumns = 1024;
constexpr size_t kNodesPerParameter = 100;
constexpr size_t kSkip = 7;  // distance of skip connections

}  // namespace

absl::StatusOr<ExportedProgram> CreateScaleProgram(const OpRegistry& ops, size_t nodes,
                                                   size_t partitions) {
  if (partitions == 0 || partitions > nodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(partitions, " partitions of ", nodes, " nodes are not possible"));
  }
  const OpOverload* add = ops.FindText("edge.aten.add.Tensor");
  const OpOverload* neg = ops.FindText("edge.aten.neg.default");
  if (add == nullptr || neg == nullptr) return absl::InvalidArgumentError("add or neg is unknown");
  ExportedProgram program(&ops);
  program.dialect = IrDialect::kEdge;
  program.graphs.push_back(Graph());
  GraphEditor editor(program.top());
  const ValueType type = TensorMeta::Contiguous(DType::kFloat32, {kRows, kColumns});
  std::vector<ValueId> parameters;
  for (size_t i = 0; i < nodes; i += kNodesPerParameter) {
    const std::string name = absl::StrCat("w", parameters.size());
    ABSL_ASSIGN_OR_RETURN(Storage zeros, Storage::Zeros(kRows * kColumns * sizeof(float)));
    ABSL_ASSIGN_OR_RETURN(
        ConstantTensor tensor,
        ConstantTensor::Contiguous(DType::kFloat32, {kRows, kColumns}, std::move(zeros)));
    program.state_dict.emplace(name, std::move(tensor));
    program.signature.inputs.push_back({InputKind::kParameter, name});
    parameters.push_back(editor.AddInput(name, type));
  }
  std::vector<ValueId> values = {editor.AddInput("x", type)};
  program.signature.inputs.push_back({});
  const size_t run = nodes / partitions;
  for (size_t i = 0; i < nodes; ++i) {
    GraphEditor::NewNode node{.name = "n", .target = neg, .arguments = {values.back()}};
    if (i % kNodesPerParameter == 1 || i % kSkip == 0) {
      const ValueId other = i % kNodesPerParameter == 1
                                ? parameters[i / kNodesPerParameter]
                                : values[values.size() - std::min(values.size(), kSkip)];
      node.target = add;
      node.arguments = {values.back(), other, DefaultArgument(add->schema()->arguments[2])};
    }
    const size_t partition = std::min(i / run, partitions - 1);
    if (run == 1 || i != partition * run) node.delegation_tag = absl::StrCat("t", partition);
    values.push_back(editor.InsertOp(NodeId(), std::move(node), type));
  }
  editor.SetOutputs({values.back()});
  program.signature.outputs.push_back({});
  return program;
}

size_t PeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace belay::exir
