#include "backends/cpu/aot/passes/fuse_pixel_shuffle.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/permuted_dims.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/match.h"

namespace belay::cpu {
namespace {

namespace m = exir::match;
using exir::Argument;
using exir::NodeId;
using exir::OpOverload;
using exir::SymInt;
using exir::ValueId;
using SymSizes = std::vector<SymInt>;

// Keeps products of sizes far from overflow; that of the decomposition.
constexpr int64_t kMostFactor = int64_t{1} << 20;

class PixelShuffleFusion : NodeLowering {
 public:
  PixelShuffleFusion(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        shuffle_(program.ops->ToEdge(program.ops->Find("aten.pixel_shuffle.default"))),
        unshuffle_(program.ops->ToEdge(program.ops->Find("aten.pixel_unshuffle.default"))) {}

  absl::StatusOr<bool> Run() {
    if (shuffle_ == nullptr || unshuffle_ == nullptr) return false;
    return LowerNodes(program_, editor_, [this](NodeId id) { return Fuse(id); });
  }

 private:
  bool Fuse(NodeId id) {
    static constexpr char kView[] = "aten.view_copy.default";
    ValueId x;
    NodeId permute, view;
    const m::Pattern pattern = m::Op(
        kView,
        m::Op("aten.permute_copy.default", m::Op(kView, m::Value(&x)).As(&view)).As(&permute));
    if (!matcher_.Match(pattern, id).has_value()) return false;
    const ValueId cut = graph_.ResultOf(view), moved = graph_.ResultOf(permute);
    const std::optional<std::vector<int64_t>> dims = PermutedDims(graph_.node(permute));
    if (!dims.has_value() || !graph_.HasOneUse(cut) || !graph_.HasOneUse(moved)) return false;
    const SymSizes &from = graph_.MetaOf(x).sizes, &parts = graph_.MetaOf(cut).sizes,
                   &to = graph_.MetaOf(graph_.ResultOf(id)).sizes;
    const bool shuffles = *dims == std::vector<int64_t>{0, 1, 4, 2, 5, 3};
    if (!shuffles && *dims != std::vector<int64_t>{0, 1, 3, 5, 2, 4}) return false;
    const int64_t factor = parts[shuffles ? 2 : 3].AsInt().value_or(0);
    if (factor < 2 || factor > kMostFactor) return false;
    if (shuffles) {
      if (parts[3] != SymInt(factor) ||
          from != SymSizes{parts[0], parts[1] * (factor * factor), parts[4], parts[5]} ||
          to != SymSizes{parts[0], parts[1], parts[4] * factor, parts[5] * factor}) {
        return false;
      }
    } else {
      if (parts[5] != SymInt(factor) ||
          from != SymSizes{parts[0], parts[1], parts[2] * factor, parts[4] * factor} ||
          to != SymSizes{parts[0], parts[1] * (factor * factor), parts[2], parts[4]}) {
        return false;
      }
    }
    editor_.SetTarget(id, shuffles ? shuffle_ : unshuffle_);
    editor_.SetArguments(id, {Argument(x), Argument(factor)});
    for (NodeId fused : {permute, view}) {
      handles_.Fuse(editor_, id, fused);
      editor_.EraseNode(fused);
    }
    return true;
  }

  FusedHandles& handles_;
  const OpOverload *shuffle_, *unshuffle_;
};

}  // namespace

exir::Pass FusePixelShuffle(FusedHandles& handles) {
  return {"fuse_pixel_shuffle", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return PixelShuffleFusion(program, handles).Run();
          }};
}

}  // namespace belay::cpu
