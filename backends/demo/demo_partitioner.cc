#include "backends/demo/demo_partitioner.h"

#include <string>
#include <utility>

#include "backends/demo/demo_ops.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/ir/text.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

std::string UnsupportedTensorReason(const exir::Graph& graph, std::string_view what,
                                    exir::ValueId value) {
  const exir::TensorMeta* meta = graph.value(value).tensor();
  if (meta == nullptr) return absl::StrCat(what, " is not a tensor");
  if (meta->dtype != DType::kFloat32 || !meta->is_contiguous() ||
      meta->layout != exir::Layout::kStrided || meta->rank() > kMaxRank) {
    return absl::StrCat(what, " is ", exir::PrintType(*meta), ", not a contiguous f32");
  }
  return "";
}

}  // namespace

std::string UnsupportedByDemoReason(const exir::Graph& graph, exir::NodeId id) {
  const exir::Node& node = graph.node(id);
  const DemoOpRow* row = nullptr;
  for (const DemoOpRow& candidate : kDemoOps) {
    if (candidate.name == node.target->name()) row = &candidate;
  }
  if (row == nullptr || node.target->schema() == nullptr) {
    return absl::StrCat("operator ", node.target->name(), " is not supported");
  }
  for (int i = 0; i < row->tensors; ++i) {
    const std::string what = absl::StrCat("'", node.target->schema()->arguments[i].name, "'");
    const exir::ValueId* value = node.arguments[i].get_if<exir::ValueId>();
    if (value == nullptr) return absl::StrCat(what, " is not a tensor");
    std::string reason = UnsupportedTensorReason(graph, what, *value);
    if (!reason.empty()) return reason;
  }
  for (int i : {row->alpha, row->beta}) {
    if (i < 0) continue;
    const exir::Argument& argument = node.arguments[i];
    if (!argument.is<int64_t>() && !argument.is<double>()) {
      return absl::StrCat("'", node.target->schema()->arguments[i].name, "' is not a scalar");
    }
  }
  for (exir::ValueId result : node.results()) {
    std::string reason = UnsupportedTensorReason(graph, "the result", result);
    if (!reason.empty()) return reason;
  }
  return "";
}

std::unique_ptr<exir::Partitioner> CreateDemoPartitioner(
    std::vector<exir::CompileSpec> compile_specs) {
  return std::make_unique<exir::CapabilityPartitioner>(
      exir::DelegationSpec{"demo", std::move(compile_specs)},
      [](const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId node) {
        return UnsupportedByDemoReason(program.graphs[graph], node);
      },
      exir::CapabilityPartitionerOptions{.tag_prefix = "demo_"});
}

}  // namespace belay::demo
