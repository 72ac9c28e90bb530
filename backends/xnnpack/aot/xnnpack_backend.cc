#include "backends/xnnpack/aot/xnnpack_backend.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/xnnpack/aot/dynamic_form.h"
#include "backends/xnnpack/aot/payload_writer.h"
#include "backends/xnnpack/aot/static_quantization.h"
#include "backends/xnnpack/aot/weight.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/ir/subgraph_operands.h"
#include "exir/pass_manager/pass_manager.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/propagate_constants.h"
#include "runtime/core/status_macros.h"

namespace belay::xnnpack {
namespace {

// A program, and a program for each of its subgraphs.
class GraphsAsPrograms {
 public:
  explicit GraphsAsPrograms(const exir::ExportedProgram& program) : program_(program) {
    const exir::ConstantSubgraphInputs constants = exir::FindConstantSubgraphInputs(program);
    for (uint32_t g = 1; g < program.graphs.size(); ++g) {
      subgraphs_.push_back(exir::SubgraphAsProgram(program, exir::GraphId(g), constants[g]));
    }
  }
  const exir::ExportedProgram& operator[](exir::GraphId graph) const {
    return graph == exir::ExportedProgram::kTop ? program_ : subgraphs_[graph.index() - 1];
  }

 private:
  const exir::ExportedProgram& program_;
  std::vector<exir::ExportedProgram> subgraphs_;
};

// Groups permuted, reshaped or dequantized constants with their users, operators of a composite one
// with each other, and rows that are quantized at run time with all of theirs.
std::vector<std::vector<exir::NodeId>> WeightGroups(const exir::ExportedProgram& program,
                                                    Target target) {
  std::vector<std::vector<exir::NodeId>> groups;
  absl::flat_hash_map<exir::NodeId, size_t> by_rows;
  for (exir::NodeId id : program.top().nodes()) {
    const absl::StatusOr<Operation> operation = ReadOperation(program, id, target);
    if (!operation.ok()) continue;
    std::vector<exir::NodeId> group = operation->inner;
    for (const std::optional<exir::ValueId>& constant : {operation->weight, operation->slopes}) {
      if (!constant.has_value()) continue;
      const std::vector<exir::NodeId> nodes = WeightNodes(program, *constant);
      group.insert(group.end(), nodes.begin(), nodes.end());
    }
    if (group.empty()) continue;
    group.push_back(id);
    if (operation->dynamic) {
      const DynamicRows rows = *DynamicRowsOf(program, id);
      const auto [it, added] = by_rows.emplace(rows.choose, groups.size());
      if (!added) {
        std::vector<exir::NodeId>& shared = groups[it->second];
        shared.insert(shared.end(), group.begin(), group.end());
        continue;
      }
      group.insert(group.end(), rows.nodes.begin(), rows.nodes.end());
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

class XnnpackPartitioner final : public exir::Partitioner {
 public:
  explicit XnnpackPartitioner(std::vector<exir::CompileSpec> compile_specs)
      : compile_specs_(std::move(compile_specs)) {}

  absl::StatusOr<exir::PartitionResult> Partition(
      const exir::ExportedProgram& program) const override {
    ABSL_ASSIGN_OR_RETURN(const Choices choices, ChoicesOf(compile_specs_));
    const Target target = choices.target;
    const GraphsAsPrograms graphs(program);
    const exir::CapabilityPartitioner capability(
        {std::string(kBackendId), compile_specs_},
        [&](const exir::ExportedProgram&, exir::GraphId graph, exir::NodeId node) {
          return std::string(CheckChosen(graphs[graph], node, choices).message());
        },
        {.tag_prefix = "xnnpack_",
         .tag_constants = false,
         .groups = [&](const exir::ExportedProgram&, exir::GraphId graph) {
           return WeightGroups(graphs[graph], target);
         }});
    ABSL_ASSIGN_OR_RETURN(exir::PartitionResult result, capability.Partition(program));
    absl::flat_hash_set<std::string> computing;
    for (const auto& tagged : result.nodes) {
      const auto operation = ReadOperation(graphs[tagged.graph], tagged.node, target);
      if (operation.ok() && Computes(operation->type)) computing.insert(tagged.tag);
    }
    std::erase_if(result.nodes, [&](const exir::PartitionResult::NodeTag& tagged) {
      if (computing.contains(tagged.tag)) return false;
      result.rejections.push_back(
          {tagged.graph, tagged.node, "its partition would only move elements"});
      return true;
    });
    std::erase_if(result.delegation,
                  [&](const auto& entry) { return !computing.contains(entry.first); });
    exir::TagConstantData(program, result);
    exir::TagSubgraphConstants(program, result);
    return result;
  }
  exir::QuantizationPatterns StaticQuantization() const override {
    const absl::StatusOr<Choices> choices = ChoicesOf(compile_specs_);
    return choices.ok() ? StaticQuantizationPatterns(choices->target)
                        : exir::QuantizationPatterns();
  }

 private:
  std::vector<exir::CompileSpec> compile_specs_;
};

}  // namespace

absl::StatusOr<exir::PreprocessResult> XnnpackBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  ABSL_ASSIGN_OR_RETURN(const Choices choices, ChoicesOf(compile_specs));
  ABSL_ASSIGN_OR_RETURN(program, exir::RunPasses(std::move(program), {exir::MergeBatchNorm(),
                                                                      exir::PropagateConstants()}));
  return WritePayload(program, choices.target);
}

std::unique_ptr<exir::Partitioner> CreateXnnpackPartitioner(
    std::vector<exir::CompileSpec> compile_specs) {
  return std::make_unique<XnnpackPartitioner>(std::move(compile_specs));
}

}  // namespace belay::xnnpack
