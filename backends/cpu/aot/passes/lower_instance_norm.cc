#include "backends/cpu/aot/passes/lower_instance_norm.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/checked_math.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

class InstanceNormLowering : NodeLowering {
 public:
  explicit InstanceNormLowering(exir::ExportedProgram& program)
      : NodeLowering(program),
        batch_norm_(program.ops->Find("aten._native_batch_norm_legit.no_stats")),
        group_norm_(program.ops->ToEdge(program.ops->Find("aten.native_group_norm.default"))) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  bool Lower(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.target->aten() != batch_norm_) return false;
    const ValueId* input = node.value_argument("input");
    const TensorMeta* meta = input == nullptr ? nullptr : graph_.value(*input).tensor();
    const bool* training = node.argument("training").get_if<bool>();
    if (meta == nullptr || meta->dtype != DType::kFloat32 || meta->rank() < 3 ||
        !(meta->sizes[0] == SymInt(1)) || training == nullptr || !*training ||
        !UsesOnlyFirstResult(id)) {
      return false;
    }
    const std::optional<int64_t> channels = meta->sizes[1].AsInt();
    CheckedInt pixels = 1;
    for (int d = 2; d < meta->rank(); ++d) {
      const std::optional<int64_t> size = meta->sizes[d].AsInt();
      if (!size.has_value()) return false;
      pixels = pixels * CheckedInt(*size);
    }
    if (!channels.has_value() || *channels == 0 || !pixels.ok() || pixels.value() == 0) {
      return false;
    }
    const std::vector<ValueId> results = node.results();
    for (size_t k = 1; k < results.size(); ++k) {
      TensorMeta saved =
          TensorMeta::Contiguous(graph_.MetaOf(results[k]).dtype, {SymInt(1), SymInt(*channels)});
      saved.device = meta->device;
      editor_.SetType(results[k], std::move(saved));
    }
    std::vector<Argument> arguments = {
        Argument(*input),    node.argument("weight"),  node.argument("bias"), Argument(int64_t{1}),
        Argument(*channels), Argument(pixels.value()), Argument(*channels),   node.argument("eps")};
    editor_.SetTarget(id, group_norm_);
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  const exir::OpOverload *batch_norm_, *group_norm_;
};

}  // namespace

exir::Pass LowerInstanceNorm() {
  return {"lower_instance_norm", [](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return InstanceNormLowering(program).Run();
          }};
}

}  // namespace belay::cpu
