#include "backends/xnnpack/aot/xnnpack_backend.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "backends/xnnpack/aot/payload_writer.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/pass/pass_manager.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/propagate_constants.h"
#include "runtime/core/status_macros.h"

namespace belay::xnnpack {
namespace {

// Groups permuted or dequantized weights with their users.
std::vector<std::vector<exir::NodeId>> WeightGroups(const exir::ExportedProgram& program,
                                                    exir::GraphId graph, Target target) {
  std::vector<std::vector<exir::NodeId>> groups;
  if (graph != exir::ExportedProgram::kTop) return groups;
  for (exir::NodeId id : program.top().nodes()) {
    const absl::StatusOr<Operation> operation = ReadOperation(program, id, target);
    if (!operation.ok() || !operation->weight.has_value()) continue;
    std::vector<exir::NodeId> group = WeightNodes(program, *operation->weight);
    if (group.empty()) continue;
    group.push_back(id);
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
    ABSL_ASSIGN_OR_RETURN(const Target target, TargetOf(compile_specs_));
    const exir::CapabilityPartitioner capability(
        {std::string(kBackendId), compile_specs_},
        [target](const exir::ExportedProgram& p, exir::GraphId graph, exir::NodeId node) {
          if (graph != exir::ExportedProgram::kTop) {
            return std::string("it is in a control flow subgraph");
          }
          return std::string(CheckSupported(p, node, target).message());
        },
        {.tag_prefix = "xnnpack_",
         .tag_constants = false,
         .bodies = false,
         .groups = [target](const exir::ExportedProgram& p, exir::GraphId graph) {
           return WeightGroups(p, graph, target);
         }});
    ABSL_ASSIGN_OR_RETURN(exir::PartitionResult result, capability.Partition(program));
    absl::flat_hash_set<std::string> computing;
    for (const auto& tagged : result.nodes) {
      const auto operation = ReadOperation(program, tagged.node, target);
      const bool moves =
          !operation.ok() || operation->type == NodeType::NONE ||
          operation->type == NodeType::Convert ||
          (FindNodeRule(operation->type)->moves && operation->type != NodeType::Clamp &&
           operation->type != NodeType::MaxPooling2d);
      if (!moves) computing.insert(tagged.tag);
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
    return result;
  }

 private:
  std::vector<exir::CompileSpec> compile_specs_;
};

}  // namespace

absl::StatusOr<exir::PreprocessResult> XnnpackBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  ABSL_ASSIGN_OR_RETURN(const Target target, TargetOf(compile_specs));
  ABSL_ASSIGN_OR_RETURN(program, exir::RunPasses(std::move(program), {exir::MergeBatchNorm(),
                                                                      exir::PropagateConstants()}));
  return WritePayload(program, target);
}

std::unique_ptr<exir::Partitioner> CreateXnnpackPartitioner(
    std::vector<exir::CompileSpec> compile_specs) {
  return std::make_unique<XnnpackPartitioner>(std::move(compile_specs));
}

}  // namespace belay::xnnpack
