#include "backends/cpu/aot/passes/widen_products.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "exir/ir/argument.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/node_like.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

constexpr DTypeSet kNarrow = {DType::kBFloat16, DType::kFloat16};

class ProductWidening : NodeLowering {
 public:
  explicit ProductWidening(exir::ExportedProgram& program)
      : NodeLowering(program),
        constants_(program, editor_),
        casts_(program, editor_),
        convolution_(program.ops->Find("aten.convolution.default")),
        products_{program.ops->Find("aten.mm.default"), program.ops->Find("aten.addmm.default"),
                  program.ops->Find("aten.bmm.default")} {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Widen(id); });
  }

 private:
  // mm(x, W)  ->  narrow(mm(float32(x), float32(W))); likewise addmm, bmm and convolution
  absl::StatusOr<bool> Widen(NodeId id) {
    const exir::OpOverload* op = graph_.node(id).target->aten();
    const bool convolves = op == convolution_;
    if (!convolves &&
        std::find(std::begin(products_), std::end(products_), op) == std::end(products_)) {
      return false;
    }
    const TensorMeta narrow = graph_.MetaOf(graph_.ResultOf(id));
    if (!kNarrow.contains(narrow.dtype)) return false;
    std::vector<Argument> arguments = graph_.node(id).arguments;
    for (Argument& argument : arguments) {
      const ValueId* value = argument.get_if<ValueId>();
      const TensorMeta* meta = value == nullptr ? nullptr : graph_.value(*value).tensor();
      if (meta == nullptr || meta->dtype != narrow.dtype) continue;
      const bool stays = !convolves && narrow.dtype == DType::kBFloat16 && meta->rank() > 1;
      ABSL_ASSIGN_OR_RETURN(argument, Wide(*value, !stays, id));
    }
    // The node becomes the conversion of a new float32 node's result.
    TensorMeta wide = narrow;
    wide.dtype = DType::kFloat32;
    const ValueId computed = editor_.InsertOp(
        id, exir::NodeLike(graph_.node(id), std::move(arguments)), std::move(wide));
    casts_.Become(id, computed);
    return true;
  }

  // Returns the value in float32, for `reader`. `now`: a constant becomes a float32 constant.
  absl::StatusOr<ValueId> Wide(ValueId value, bool now, NodeId reader) {
    const auto [it, inserted] = wide_.try_emplace({value, now});
    if (!inserted) return it->second;
    const std::optional<ConstantView> view = now ? views_.Find(value) : std::nullopt;
    if (view.has_value() && view->ToTensor().has_value()) {
      ABSL_ASSIGN_OR_RETURN(it->second, constants_.Widened(*view));
      return it->second;
    }
    it->second = casts_.Insert(value, DType::kFloat32, reader, reader, "wide");
    return it->second;
  }

  PackedConstants constants_;
  FloatCasts casts_;
  const exir::OpOverload *convolution_, *products_[3];
  absl::flat_hash_map<std::pair<ValueId, bool>, ValueId> wide_;
};

}  // namespace

exir::Pass WidenProducts() {
  return {"widen_products",
          [](exir::ExportedProgram& program) { return ProductWidening(program).Run(); }};
}

}  // namespace belay::cpu
