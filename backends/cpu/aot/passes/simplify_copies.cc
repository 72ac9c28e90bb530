#include "backends/cpu/aot/passes/simplify_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/permuted_dims.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/checked_math.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::SymInt;
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

// Returns for each dimension of `coarse` the number of consecutive dimensions of `fine` that a
// reshape merges into it; nullopt if it does more than that.
std::optional<std::vector<size_t>> MergedDims(const std::vector<SymInt>& fine,
                                              const std::vector<SymInt>& coarse) {
  std::vector<size_t> counts;
  size_t next = 0;
  for (const SymInt& size : coarse) {
    size_t count = 0;
    if (next < fine.size() && fine[next] == size) {
      count = 1;
    } else if (!(size == SymInt(1))) {
      const std::optional<int64_t> whole = size.AsInt();
      CheckedInt product = 1;
      while (whole.has_value() && product.ok() && product.value() < *whole &&
             next + count < fine.size()) {
        const std::optional<int64_t> part = fine[next + count].AsInt();
        if (!part.has_value()) return std::nullopt;
        product = product * CheckedInt(*part);
        ++count;
      }
      if (!product.ok() || product.value() != whole) return std::nullopt;
    }
    counts.push_back(count);
    next += count;
  }
  if (counts.empty()) return std::nullopt;
  for (; next < fine.size(); ++next, ++counts.back()) {
    if (!(fine[next] == SymInt(1))) return std::nullopt;
  }
  return counts;
}

class CopySimplification {
 public:
  CopySimplification(exir::ExportedProgram& program, FusedHandles& handles)
      : handles_(handles),
        editor_(program.top()),
        graph_(editor_.graph()),
        table_(*program.ops, kRows),
        permute_(program.ops->ToEdge(program.ops->Find("aten.permute_copy.default"))),
        view_(program.ops->ToEdge(program.ops->Find("aten.view_copy.default"))) {}

  bool Run(bool compose) {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const std::optional<Kind> kind = KindOf(id);
      if (!kind.has_value()) continue;
      if (compose && *kind != Kind::kCopy) {
        if (Compose(id, *kind)) changed = true;
        if (*kind == Kind::kReshape ? SplitBefore(id) : MergeAfter(id)) changed = true;
      }
      if (Remove(id, *KindOf(id))) changed = true;
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  // nullopt for other nodes, and for one whose operand is not a value.
  std::optional<Kind> KindOf(NodeId id) const {
    if (!id.valid()) return std::nullopt;
    const exir::Node& node = graph_.node(id);
    const Row* row = table_.Find(node.target);
    if (row == nullptr || !node.operand().is<ValueId>()) return std::nullopt;
    return row->kind;
  }
  ValueId Operand(NodeId id) const { return *graph_.node(id).operand().get_if<ValueId>(); }

  // permute(permute(x, p), q)  ->  permute(x, p[q]);  reshape(reshape(x))  ->  reshape(x)
  bool Compose(NodeId id, Kind kind) {
    const NodeId inner = graph_.value(Operand(id)).producer;
    if (KindOf(inner) != kind) return false;
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

  // Inserts a reshape or permutation like node `id`, before it, and merges it into its producer if
  // that is of the same kind. Returns its result.
  ValueId Insert(NodeId id, NodeId provenance, const exir::OpOverload* target,
                 std::vector<Argument> arguments, std::vector<SymInt> sizes) {
    const TensorMeta& like = graph_.MetaOf(graph_.ResultOf(id));
    TensorMeta type = TensorMeta::Contiguous(like.dtype, std::move(sizes));
    type.device = like.device;
    const exir::Node& from = graph_.node(provenance);
    exir::GraphEditor::NewNode node{.name = from.name,
                                    .target = target,
                                    .arguments = std::move(arguments),
                                    .provenance = from.provenance,
                                    .debug_handle = from.debug_handle};
    const ValueId result = editor_.InsertOp(id, std::move(node), std::move(type));
    const NodeId inserted = graph_.value(result).producer;
    Compose(inserted, *KindOf(inserted));
    return result;
  }

  // view(permute(x)) -> permute(view(x)), if the reshape only splits dimensions and x has at most
  // 3. Rows [n, h * w, c] thus become images [n, c, h, w] by a permutation that is channels last.
  bool SplitBefore(NodeId id) {
    const NodeId inner = graph_.value(Operand(id)).producer;
    const Argument::List* list = graph_.node(id).argument("size").get_if<Argument::List>();
    if (KindOf(inner) != Kind::kPermute || !graph_.HasOneUse(Operand(id)) || list == nullptr) {
      return false;
    }
    const ValueId x = Operand(inner);
    const TensorMeta& fine = graph_.MetaOf(graph_.ResultOf(id));
    const TensorMeta& coarse = graph_.MetaOf(Operand(id));
    const std::optional<std::vector<int64_t>> dims = PermutedDims(graph_.node(inner));
    const std::optional<std::vector<size_t>> counts = MergedDims(fine.sizes, coarse.sizes);
    if (!dims.has_value() || !counts.has_value() || dims->size() > 3 ||
        fine.rank() <= coarse.rank() || list->size() != fine.sizes.size()) {
      return false;
    }
    // first[j]: the first dimension of the result that is a part of dimension j of the permutation.
    std::vector<size_t> first(counts->size());
    std::exclusive_scan(counts->begin(), counts->end(), first.begin(), size_t{0});
    Argument::List sizes, permuted(fine.sizes.size());
    std::vector<SymInt> split;
    for (size_t d = 0; d < dims->size(); ++d) {
      const auto j = static_cast<size_t>(std::find(dims->begin(), dims->end(), d) - dims->begin());
      for (size_t k = first[j]; k < first[j] + (*counts)[j]; ++k) {
        permuted[k] = Argument(static_cast<int64_t>(split.size()));
        sizes.push_back((*list)[k]);
        split.push_back(fine.sizes[k]);
      }
    }
    const ValueId parts =
        Insert(id, inner, view_, {Argument(x), Argument(std::move(sizes))}, std::move(split));
    editor_.SetTarget(id, permute_);
    editor_.SetArguments(id, {Argument(parts), Argument(std::move(permuted))});
    return true;
  }

  // permute(view(y)) -> view(permute(y)), if the reshape only merges dimensions. Channels last
  // images [n, c, h, w] thus become rows [n, h * w, c] by a permutation that moves no data.
  bool MergeAfter(NodeId id) {
    const NodeId inner = graph_.value(Operand(id)).producer;
    if (KindOf(inner) != Kind::kReshape) return false;
    const Argument::List* list = graph_.node(inner).argument("size").get_if<Argument::List>();
    const ValueId y = Operand(inner);
    const TensorMeta* fine = graph_.value(y).tensor();
    const TensorMeta& coarse = graph_.MetaOf(Operand(id));
    const std::optional<std::vector<int64_t>> dims = PermutedDims(graph_.node(id));
    if (fine == nullptr || list == nullptr || !dims.has_value()) return false;
    const std::optional<std::vector<size_t>> counts = MergedDims(fine->sizes, coarse.sizes);
    if (!counts.has_value() || fine->rank() <= coarse.rank() || list->size() != dims->size()) {
      return false;
    }
    std::vector<size_t> first(counts->size());
    std::exclusive_scan(counts->begin(), counts->end(), first.begin(), size_t{0});
    Argument::List sizes, permuted;
    std::vector<SymInt> parts;
    for (int64_t dim : *dims) {
      const auto d = static_cast<size_t>(dim);
      sizes.push_back((*list)[d]);
      for (size_t k = first[d]; k < first[d] + (*counts)[d]; ++k) {
        permuted.push_back(Argument(static_cast<int64_t>(k)));
        parts.push_back(fine->sizes[k]);
      }
    }
    const bool sole = graph_.HasOneUse(Operand(id));
    const ValueId moved =
        Insert(id, id, permute_, {Argument(y), Argument(std::move(permuted))}, std::move(parts));
    if (sole) handles_.Fuse(editor_, id, inner);
    editor_.SetTarget(id, view_);
    editor_.SetArguments(id, {Argument(moved), Argument(std::move(sizes))});
    return true;
  }

  // Returns the operand, or the source of its chain of reshapes if that has the result's sizes.
  ValueId SourceOf(NodeId id, Kind kind) const {
    const ValueId operand = Operand(id);
    if (kind != Kind::kReshape) return operand;
    const TensorMeta* to = graph_.value(graph_.ResultOf(id)).tensor();
    for (ValueId source = operand;;) {
      const TensorMeta* from = graph_.value(source).tensor();
      if (from != nullptr && to != nullptr && from->sizes == to->sizes) return source;
      const NodeId producer = graph_.value(source).producer;
      if (KindOf(producer) != Kind::kReshape) return operand;
      source = Operand(producer);
    }
  }

  // copy(x), reshape(x), permute(x) that change neither dtype, sizes nor order  ->  x
  bool Remove(NodeId id, Kind kind) {
    const ValueId operand = SourceOf(id, kind), result = graph_.ResultOf(id);
    const TensorMeta* from = graph_.value(operand).tensor();
    const TensorMeta* to = graph_.value(result).tensor();
    if (from == nullptr || to == nullptr || from->dtype != to->dtype || from->sizes != to->sizes) {
      return false;
    }
    // Outputs are values of their own. The source of reshapes that cancel out can be one.
    if (graph_.IsOutput(result) &&
        (kind != Kind::kReshape || graph_.IsOutput(operand) || from->strides != to->strides ||
         !graph_.value(operand).producer.valid())) {
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
  const exir::OpOverload *permute_, *view_;
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
