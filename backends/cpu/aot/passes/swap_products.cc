#include "backends/cpu/aot/passes/swap_products.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/permuted_dims.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/match.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

namespace m = exir::match;
using exir::Argument;
using exir::NodeId;
using exir::OpOverload;
using exir::TensorMeta;
using exir::ValueId;

// With more rows, the product takes longer than the transposition.
constexpr int64_t kMostRows = 64;

class ProductSwap : NodeLowering {
 public:
  ProductSwap(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        permute_(program.ops->ToEdge(program.ops->Find("aten.permute_copy.default"))),
        view_(program.ops->ToEdge(program.ops->Find("aten.view_copy.default"))) {}

  absl::StatusOr<bool> Run() {
    if (permute_ == nullptr || view_ == nullptr) return false;
    FindConstants();
    return LowerNodes(program_, editor_, [this](NodeId id) { return Swap(id); });
  }

 private:
  // Collects the values that only depend on constants, such as dequantized weights.
  void FindConstants() {
    const auto variable = exir::VariableTensors(program_.signature);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const exir::InputSpec& spec = program_.signature.inputs[i];
      if (exir::NamesTensor(spec.kind) && !variable.contains(spec.target)) {
        constants_.insert(graph_.inputs()[i]);
      }
    }
    for (const NodeId id : graph_.nodes()) {
      bool any = false, all = true;
      for (const Argument& argument : graph_.node(id).arguments) {
        exir::ForEachValue(argument, [&](ValueId value) {
          any = true;
          all = all && constants_.contains(value);
        });
      }
      if (!any || !all) continue;
      for (const ValueId result : graph_.node(id).results()) constants_.insert(result);
    }
  }

  absl::StatusOr<bool> Swap(NodeId id) {
    ValueId a, b, bias;
    NodeId permute;
    const m::Pattern transpose = m::Op("aten.permute_copy.default", m::Value(&b)).As(&permute),
                     product =
                         m::Op({"aten.mm.default", "aten.bmm.default"}, m::Value(&a), transpose),
                     sum = m::Op("aten.addmm.default", m::Value(&bias), m::Value(&a), transpose);
    const bool biased = matcher_.Match(sum, id).has_value();
    if (!biased && !matcher_.Match(product, id).has_value()) return false;
    if (biased && graph_.MetaOf(bias).rank() != 1) return false;
    const ValueId transposed = graph_.ResultOf(permute), result = graph_.ResultOf(id);
    const std::optional<std::vector<int64_t>> dims = PermutedDims(graph_.node(permute));
    const TensorMeta &left = graph_.MetaOf(a), &right = graph_.MetaOf(b),
                     type = graph_.MetaOf(result);
    const std::optional<int64_t> elements = right.NumElements().AsInt(),
                                 moved_a = left.NumElements().AsInt(),
                                 moved_result = type.NumElements().AsInt();
    const auto rank = static_cast<size_t>(left.rank());
    if (!dims.has_value() || !graph_.HasOneUse(transposed) || !elements.has_value() ||
        !moved_a.has_value() || !moved_result.has_value() || left.dtype != DType::kFloat32 ||
        !left.is_contiguous() || !right.is_contiguous() || !type.is_contiguous() ||
        constants_.contains(b) ||
        *dims != (rank == 2 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 2, 1})) {
      return false;
    }
    const int64_t rows = *left.sizes[rank - 2].AsInt();
    if (rows == 0 || rows > kMostRows || *elements / 4 <= *moved_a + *moved_result) return false;
    ABSL_ASSIGN_OR_RETURN(const ValueId columns, Transpose(id, a, *dims));
    std::vector<Argument> operands = {Argument(b), Argument(columns)};
    if (biased) {
      // The bias of the columns, of one or n elements, becomes that of the rows.
      ABSL_ASSIGN_OR_RETURN(
          const ValueId column,
          InsertInferred(editor_, id, view_,
                         {Argument(bias), Argument::List{Argument(-1), Argument(1)}}));
      operands.insert(operands.begin(), Argument(column));
      for (const char* factor : {"beta", "alpha"}) {
        operands.push_back(graph_.node(id).argument(factor));
      }
    }
    ABSL_ASSIGN_OR_RETURN(const ValueId swapped,
                          InsertInferred(editor_, id, graph_.node(id).target, std::move(operands)));
    ABSL_ASSIGN_OR_RETURN(const ValueId back, Transpose(id, swapped, *dims));
    const NodeId last = graph_.value(back).producer;
    editor_.ReplaceAllUses(result, back);
    for (NodeId fused : {id, permute}) {
      handles_.Fuse(editor_, last, fused);
      editor_.EraseNode(fused);
    }
    return true;
  }

  // Inserts the transposition of the last two dimensions of `value` before node `before`.
  absl::StatusOr<ValueId> Transpose(NodeId before, ValueId value,
                                    const std::vector<int64_t>& dims) {
    const TensorMeta& meta = graph_.MetaOf(value);
    const auto rank = static_cast<size_t>(meta.rank());
    Argument::List sizes;
    bool view = false;
    for (const int64_t d : dims) {
      const int64_t size = *meta.sizes[static_cast<size_t>(d)].AsInt();
      sizes.push_back(Argument(size));
      view = view || (static_cast<size_t>(d) + 2 >= rank && size == 1);
    }
    if (view) return InsertInferred(editor_, before, view_, {Argument(value), std::move(sizes)});
    Argument::List order(dims.begin(), dims.end());
    return InsertInferred(editor_, before, permute_, {Argument(value), std::move(order)});
  }

  FusedHandles& handles_;
  const OpOverload *permute_, *view_;
  absl::flat_hash_set<ValueId> constants_;
};

}  // namespace

exir::Pass SwapProducts(FusedHandles& handles) {
  return {"swap_products", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return ProductSwap(program, handles).Run();
          }};
}

}  // namespace belay::cpu
