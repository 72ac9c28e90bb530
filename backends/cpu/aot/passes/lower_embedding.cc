#include "backends/cpu/aot/passes/lower_embedding.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::ValueId;

class EmbeddingLowering : NodeLowering {
 public:
  EmbeddingLowering(exir::ExportedProgram& program, const TiedTables& tables,
                    PassDiagnostics* diagnostics)
      : NodeLowering(program, diagnostics),
        tables_(tables),
        constants_(program, editor_),
        embedding_(program.ops->Find("aten.embedding.default")),
        bytes_(program.ops->Find("quantized_decomposed.embedding_byte.default")) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // embedding(T, indices), T packed by a linear layer  ->  packed_embedding(packed T, indices)
  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& node = graph_.node(id);
    const exir::OpOverload* op = node.target->aten();
    if (op == nullptr || (op != embedding_ && op != bytes_)) return false;
    std::optional<ConstantView> table = views_.Find(node.argument("weight"));
    if (!table.has_value()) return false;
    const std::optional<TableLayout> layout = tables_.LayoutOf(*table);
    if (!layout.has_value()) return false;
    const int64_t rows = *table->sizes[0].AsInt(), features = *table->sizes[1].AsInt();
    std::swap(table->sizes[0], table->sizes[1]);
    std::swap(table->strides[0], table->strides[1]);

    Argument scales, zeros;
    int64_t group = 0;
    if (RowOf(*layout).is_integer()) {
      const auto parameters = [&](std::string_view name) {
        return Parameters(node.argument(name), rows);
      };
      const std::optional<std::vector<float>> s = parameters("weight_scales");
      std::optional<std::vector<float>> z = parameters("weight_zero_points");
      if (node.argument("weight_zero_points").is_none()) z.emplace();
      if (!s.has_value() || !z.has_value() || (!z->empty() && z->size() != s->size())) {
        return Leave(id, "its scales or zero points are not float32 constants");
      }
      group = features * rows / static_cast<int64_t>(s->size());
      if (group < features && group % 8 != 0) {
        return Leave(id, "its groups are not a multiple of 8");
      }
      ABSL_ASSIGN_OR_RETURN(scales, constants_.GroupFloats(*table, "scales", group, *s));
      if (std::any_of(z->begin(), z->end(), [](float zero) { return zero != 0; })) {
        ABSL_ASSIGN_OR_RETURN(zeros, constants_.GroupFloats(*table, "zeros", group, *z));
      }
    }
    ABSL_ASSIGN_OR_RETURN(const ValueId packed, constants_.InLayout(*table, *layout));
    Say(id, absl::StrCat("packed_embedding, table of ", rows, " x ", features,
                         " stored as the packed weight of a linear layer"));
    const Argument indices = node.argument("indices");
    editor_.SetTarget(id, CpuOp("packed_embedding"));
    editor_.SetArguments(id, {packed, scales, zeros, indices, rows, features,
                              std::string(RowOf(*layout).name), group});
    return true;
  }

  // Returns the constant [rows] or [rows, groups] arranged as [groups, rows].
  std::optional<std::vector<float>> Parameters(const Argument& argument, int64_t rows) const {
    const std::optional<ConstantView> view = views_.Find(argument);
    if (!view.has_value() || view->tensor->dtype() != DType::kFloat32) return std::nullopt;
    const std::optional<std::vector<double>> elements = view->Elements();
    const auto count = static_cast<size_t>(rows);
    if (!elements.has_value() || elements->empty() || elements->size() % count != 0) {
      return std::nullopt;
    }
    const size_t groups = elements->size() / count;
    std::vector<float> arranged(elements->size());
    for (size_t i = 0; i < arranged.size(); ++i) {
      arranged[i] = static_cast<float>((*elements)[i % count * groups + i / count]);
    }
    return arranged;
  }

  const TiedTables& tables_;
  PackedConstants constants_;
  const exir::OpOverload *const embedding_, *const bytes_;
};

}  // namespace

exir::Pass LowerEmbedding(const TiedTables& tables, PassDiagnostics* diagnostics) {
  return {"lower_embedding", [&tables, diagnostics](exir::ExportedProgram& program) {
            return EmbeddingLowering(program, tables, diagnostics).Run();
          }};
}

}  // namespace belay::cpu
