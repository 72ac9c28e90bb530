#include "backends/null/null_partitioner.h"

#include <string>
#include <utility>

#include "exir/backend/partitioners/capability_partitioner.h"
#include "runtime/core/status_macros.h"

namespace belay::null {
namespace {

// Returns "" if the backend supports the node, else the reason.
std::string UnsupportedReason(const exir::Graph& graph, exir::NodeId node) {
  return absl::StrCat("operator ", graph.node(node).target->name(), " is not supported");
}

}  // namespace

std::unique_ptr<exir::Partitioner> CreateNullPartitioner(
    std::vector<exir::CompileSpec> compile_specs) {
  return std::make_unique<exir::CapabilityPartitioner>(
      exir::DelegationSpec{"null", std::move(compile_specs)},
      [](const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId node) {
        return UnsupportedReason(program.graphs[graph], node);
      },
      exir::CapabilityPartitionerOptions{.tag_prefix = "null_"});
}

}  // namespace belay::null
