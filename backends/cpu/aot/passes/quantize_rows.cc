#include "backends/cpu/aot/passes/quantize_rows.h"

#include <optional>
#include <string>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "backends/cpu/weight_only_calls.h"
#include "exir/ir/argument.h"

namespace belay::cpu {
namespace {

using exir::Node;
using exir::NodeId;

class RowQuantization : NodeLowering {
 public:
  explicit RowQuantization(exir::ExportedProgram& program) : NodeLowering(program) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) -> absl::StatusOr<bool> {
      const Node& node = graph_.node(id);
      if (!IsCpuOp(*node.target, "weight_only_linear") || !node.argument("zeros").is_none())
        return false;
      const std::string* format = node.argument("format").get_if<std::string>();
      const int64_t* group = node.argument("group").get_if<int64_t>();
      const exir::TensorMeta* input = Tensor(node.argument("input"));
      const std::optional<int64_t> k = input->sizes.back().AsInt();
      if (!k.has_value() || !HasWholeBlocks(*group, *k)) return false;
      for (const WeightFormatRow& row : kWeightFormats) {
        if (!row.by_int8 || NameOf(row.format) != *format) continue;
        SetArgument(id, "format", std::string(row.name));
        return true;
      }
      return false;
    });
  }
};

}  // namespace

exir::Pass QuantizeRows() {
  return {"quantize_rows",
          [](exir::ExportedProgram& program) { return RowQuantization(program).Run(); }};
}

}  // namespace belay::cpu
