#include "backends/cpu/aot/passes/simplify_copies.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/permuted_dims.h"
#include "exir/ir/graph_editor.h"
#include "exir/op/op_table.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

enum class Kind : uint8_t { kCopy, kReshape, kPermute };

struct Row {
  std::string_view op;
  Kind kind;
};
constexpr Row kRows[] = {
    {"aten.alias_copy.default", Kind::kCopy},
    {"aten.expand_copy.default", Kind::kCopy},
    {"aten.permute_copy.default", Kind::kPermute},
    {"aten.view_copy.default", Kind::kReshape},
    {"dim_order_ops._clone_dim_order.default", Kind::kCopy},
    {"dim_order_ops._to_dim_order_copy.default", Kind::kCopy},
};

class CopySimplification {
 public:
  CopySimplification(exir::ExportedProgram& program, FusedHandles& handles)
      : handles_(handles),
        editor_(program.top()),
        graph_(editor_.graph()),
        table_(*program.ops, kRows) {}

  bool Run(bool compose) {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const Row* row = table_.Find(graph_.node(id).target);
      if (row == nullptr || !graph_.node(id).operand().is<ValueId>()) continue;
      if (compose && row->kind != Kind::kCopy && Compose(id, row->kind)) changed = true;
      if (Remove(id, row->kind)) changed = true;
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  ValueId Operand(NodeId id) const { return *graph_.node(id).operand().get_if<ValueId>(); }

  // If the operand comes from a node of the same kind, merges that node into this one.
  bool Compose(NodeId id, Kind kind) {
    const NodeId inner = graph_.value(Operand(id)).producer;
    if (!inner.valid()) return false;
    const Row* row = table_.Find(graph_.node(inner).target);
    if (row == nullptr || row->kind != kind || !graph_.node(inner).operand().is<ValueId>()) {
      return false;
    }
    if (kind == Kind::kPermute) {
      const std::optional<std::vector<int64_t>> first = PermutedDims(graph_.node(inner)),
                                                second = PermutedDims(graph_.node(id));
      if (!first.has_value() || !second.has_value() || first->size() != second->size()) {
        return false;
      }
      Argument::List dims;
      for (int64_t d : *second) dims.emplace_back((*first)[d]);
      editor_.SetArgument(id, *graph_.node(id).target->ArgumentIndex("dims"), std::move(dims));
    }
    if (graph_.value(Operand(id)).users.size() == 1) handles_.Fuse(editor_, id, inner);
    editor_.SetArgument(id, 0, Operand(inner));
    return true;
  }

  bool Remove(NodeId id, Kind kind) {
    const ValueId operand = Operand(id), result = graph_.ResultOf(id);
    const TensorMeta* from = graph_.value(operand).tensor();
    const TensorMeta* to = graph_.value(result).tensor();
    if (from == nullptr || to == nullptr || from->dtype != to->dtype || from->sizes != to->sizes ||
        graph_.IsOutput(result)) {
      return false;
    }
    if (kind == Kind::kPermute) {
      const std::optional<std::vector<int64_t>> dims = PermutedDims(graph_.node(id));
      if (!dims.has_value()) return false;
      for (size_t d = 0; d < dims->size(); ++d) {
        if ((*dims)[d] != static_cast<int64_t>(d)) return false;
      }
    }
    const NodeId producer = graph_.value(operand).producer;
    if (producer.valid()) handles_.Fuse(editor_, producer, id);
    editor_.ReplaceAllUses(result, operand);
    editor_.EraseNode(id);
    return true;
  }

  FusedHandles& handles_;
  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const exir::OpTable<Row> table_;
};

}  // namespace

exir::Pass RemoveCopies(FusedHandles& handles) {
  return {"remove_copies", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return CopySimplification(program, handles).Run(/*compose=*/false);
          }};
}

exir::Pass SimplifyCopies(FusedHandles& handles) {
  return {"simplify_copies", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return CopySimplification(program, handles).Run(/*compose=*/true);
          }};
}

}  // namespace belay::cpu
