#include "backends/cpu/aot/passes/narrow_products.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/activation_forms.h"
#include "backends/cpu/aot/passes/bfloat16_forms.h"
#include "backends/cpu/aot/passes/float_casts.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "exir/ir/argument.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/node_like.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

// Operators that stay bfloat16 if all their tensor operands are results of narrowed operators.
// Multiplications by a scalar and permutations are not listed: FuseAttention, which computes in
// float32, must find them unchanged.
constexpr std::string_view kFollowers[] = {
    "aten._adaptive_avg_pool2d.default",
    "aten.abs.default",
    "aten.add.Scalar",
    "aten.add.Tensor",
    "aten.avg_pool2d.default",
    "aten.cat.default",
    "aten.clamp.default",
    "aten.constant_pad_nd.default",
    "aten.div.Tensor",
    "aten.gelu.default",
    "aten.hardtanh.default",
    "aten.leaky_relu.default",
    "aten.max_pool2d_with_indices.default",
    "aten.maximum.default",
    "aten.mean.dim",
    "aten.minimum.default",
    "aten.mul.Tensor",
    "aten.neg.default",
    "aten.pixel_shuffle.default",
    "aten.relu.default",
    "aten.sigmoid.default",
    "aten.sub.Tensor",
    "aten.tanh.default",
    "aten.upsample_bilinear2d.vec",
    "aten.upsample_nearest2d.default",
    "aten.upsample_nearest2d.vec",
};

class ProductNarrowing : NodeLowering {
 public:
  explicit ProductNarrowing(exir::ExportedProgram& program)
      : NodeLowering(program),
        constants_(program, editor_),
        casts_(program, editor_),
        activations_(program, views_),
        mm_(program.ops->Find("aten.mm.default")),
        addmm_(program.ops->Find("aten.addmm.default")),
        convolution_(program.ops->Find("aten.convolution.default")),
        followers_(*program.ops, kFollowers) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) -> absl::StatusOr<bool> {
      const exir::OpOverload* op = graph_.node(id).target->aten();
      if (op == mm_ || op == addmm_ || op == convolution_) return NarrowProduct(id);
      return activation_nodes_.contains(id) ? false : Follow(id);
    });
  }

 private:
  // Returns the argument if it is a float32 constant of this rank with known sizes.
  std::optional<ConstantView> Constant(const Argument& argument, int rank) const {
    std::optional<ConstantView> view = views_.Find(argument);
    if (!view.has_value() || view->rank() != rank || view->tensor->dtype() != DType::kFloat32 ||
        !view->ToTensor().has_value()) {
      return std::nullopt;
    }
    return view;
  }

  // Names of the arguments that are rounded.
  struct Operands {
    std::string_view input, weight, bias;  // bias: "" for none
  };
  // nullopt if no bfloat16 kernel supports the node.
  std::optional<Operands> OperandsOf(const Node& node) const {
    const exir::OpOverload* op = node.target->aten();
    const bool convolves = op == convolution_;
    Operands names = convolves      ? Operands{"input", "weight", "bias"}
                     : op == addmm_ ? Operands{"mat1", "mat2", "self"}
                                    : Operands{"self", "mat2", ""};
    const TensorMeta* input = Tensor(node.argument(names.input));
    if (input == nullptr || input->dtype != DType::kFloat32) return std::nullopt;
    const int rank = input->rank();
    if (convolves && rank != 4 && rank != 5) return std::nullopt;
    const std::optional<ConstantView> weight =
        Constant(node.argument(names.weight), convolves ? rank : 2);
    if (!weight.has_value()) return std::nullopt;
    if (convolves && node.argument("bias").is_none()) names.bias = "";
    if (!names.bias.empty() && !Constant(node.argument(names.bias), 1).has_value()) {
      return std::nullopt;
    }
    if (convolves) {
      const int64_t* groups = node.argument("groups").get_if<int64_t>();
      const bool* transposed = node.argument("transposed").get_if<bool>();
      return groups != nullptr && transposed != nullptr &&
                     SupportsBFloat16(*weight, *groups, *transposed)
                 ? std::optional(names)
                 : std::nullopt;
    }
    const auto is_one = [&](std::string_view name) {
      return views_.Number(node.argument(name)) == 1.0;
    };
    if (*weight->sizes[0].AsInt() % 2 != 0) return std::nullopt;
    if (op == addmm_ && !(is_one("alpha") && is_one("beta"))) return std::nullopt;
    return names;
  }

  // mm(x, W)  ->  float32(mm(bfloat16(x), bfloat16(W))); likewise addmm, bmm and convolution
  absl::StatusOr<bool> NarrowProduct(NodeId id) {
    const std::optional<Operands> names = OperandsOf(graph_.node(id));
    if (!names.has_value()) return false;
    for (std::string_view name : {names->weight, names->bias}) {
      if (name.empty()) continue;
      ABSL_ASSIGN_OR_RETURN(const ValueId narrow,
                            constants_.Narrowed(*views_.Find(graph_.node(id).argument(name))));
      SetArgument(id, name, narrow);
    }
    SetArgument(id, names->input, Narrow(*graph_.node(id).value_argument(names->input), id));
    NarrowActivation(WidenResult(id));
    return true;
  }

  // Rounds the result of a decomposed activation of `wide`, a converted product. FuseEpilogues
  // makes the conversions and the activation a part of the product.
  void NarrowActivation(ValueId wide) {
    const std::optional<ActivationForm> form = activations_.Find(wide);
    if (!form.has_value() || form->nodes.size() < 2) return;
    const NodeId last = form->nodes.back();
    const ValueId result = graph_.ResultOf(last);
    const NodeId next = graph_.next(last);
    const ValueId narrow = casts_.Insert(result, DType::kBFloat16, next, last, "narrow");
    const ValueId widened = casts_.Insert(narrow, DType::kFloat32, next, last, "wide");
    const TensorMeta& meta = graph_.MetaOf(result);
    if (graph_.MetaOf(widened).strides != meta.strides) {
      for (ValueId unused : {widened, narrow}) editor_.EraseNode(graph_.value(unused).producer);
      return;
    }
    editor_.ReplaceAllUses(result, widened);
    SetArgument(graph_.value(narrow).producer, "self", result);
    widened_.emplace(widened, narrow);
    activation_nodes_.insert(form->nodes.begin(), form->nodes.end());
  }

  // Converts a follower operator whose tensor operands are all results of narrowed operators.
  absl::StatusOr<bool> Follow(NodeId id) {
    const Node& node = graph_.node(id);
    if (!followers_.contains(node.target)) return false;
    // Only max pools have other results: their integer indices.
    if (!IsFloat32(node.outputs[0].values[0])) return false;
    std::vector<ValueId> reals;
    bool follows = true;
    for (const Argument& argument : node.arguments) {
      // An explicit dtype of the result.
      follows = follows && !argument.is<DType>();
      ForEachValue(argument, [&](ValueId value) {
        if (!IsFloat32(value)) return;
        reals.push_back(value);
        follows = follows && widened_.contains(Moved(value).from);
      });
    }
    if (!follows || reals.empty()) return false;
    for (ValueId value : reals) editor_.ReplaceUsesIn(id, value, Narrow(value, id));
    WidenResult(id);
    return true;
  }

  // The source of a value through data movement, up to a value that is known in bfloat16, and the
  // values from there to this one, last one first.
  struct MovedValue {
    ValueId from;
    std::vector<ValueId> through;
  };
  MovedValue Moved(ValueId value) const {
    MovedValue moved = Moved(value, exir::kReshapesBytes | exir::kPermutesBytes | exir::kCutsBytes);
    // An unknown source is rounded right before its reshapes, so that its producer can still return
    // it permuted.
    return IsKnown(moved.from) ? moved : Moved(value, exir::kReshapesBytes);
  }
  // Follows operators with any of `traits`.
  MovedValue Moved(ValueId value, uint32_t traits) const {
    MovedValue moved = {value, {}};
    constexpr size_t kMost = 16;  // models have a few in sequence
    while (moved.through.size() < kMost && !IsKnown(moved.from)) {
      const NodeId producer = graph_.value(moved.from).producer;
      const Node* node = producer.valid() ? &graph_.node(producer) : nullptr;
      const bool moves =
          node != nullptr && node->target->has_trait(static_cast<exir::OpTrait>(traits));
      const ValueId* operand = moves ? node->operand().get_if<ValueId>() : nullptr;
      if (operand == nullptr) break;
      moved.through.push_back(moved.from);
      moved.from = *operand;  // same dtype, by the traits
    }
    return moved;
  }

  bool IsKnown(ValueId value) const { return widened_.contains(value) || rounded_.contains(value); }

  // Returns the value in bfloat16, for `reader`. Converts the source of data movement, so that
  // several views of one value share the conversion and matmuls find their reshapes.
  ValueId Narrow(ValueId value, NodeId reader) {
    MovedValue moved = Moved(value);
    const auto known = widened_.find(moved.from);
    const bool exact = known != widened_.end();
    ValueId narrow;
    if (exact) {
      narrow = known->second;
    } else if (const auto it = rounded_.find(moved.from); it != rounded_.end()) {
      narrow = it->second;
    } else {
      // Inserted right after the value: views for other users may precede this one.
      const NodeId producer = graph_.value(moved.from).producer;
      const NodeId next = producer.valid() ? graph_.next(producer) : *graph_.nodes().begin();
      narrow = casts_.Insert(moved.from, DType::kBFloat16, next, reader, "narrow");
      rounded_.emplace(moved.from, narrow);
    }
    for (; !moved.through.empty(); moved.through.pop_back()) {
      const ValueId view = moved.through.back();
      const NodeId mover = graph_.value(view).producer;
      const Node& node = graph_.node(mover);
      std::vector<Argument> arguments = node.arguments;
      arguments[0] = narrow;
      TensorMeta meta = graph_.MetaOf(view);
      meta.dtype = DType::kBFloat16;
      narrow = editor_.InsertOp(mover, exir::NodeLike(node, std::move(arguments)), std::move(meta));
      (exact ? widened_ : rounded_).emplace(view, narrow);
    }
    return narrow;
  }
  // Changes the first result to bfloat16 and inserts a conversion to float32 for all its users.
  // Returns the converted value.
  ValueId WidenResult(NodeId id) {
    const ValueId result = graph_.ResultOf(id);
    TensorMeta meta = graph_.MetaOf(result);
    meta.dtype = DType::kBFloat16;
    editor_.SetType(result, meta);
    const ValueId wide = casts_.Insert(result, DType::kFloat32, graph_.next(id), id, "wide");
    editor_.ReplaceAllUses(result, wide);
    SetArgument(graph_.value(wide).producer, "self", result);
    // With other strides, users of the bfloat16 value would get another layout.
    if (graph_.value(wide).tensor()->strides == meta.strides) widened_.emplace(wide, result);
    return wide;
  }

  PackedConstants constants_;
  FloatCasts casts_;
  const ActivationForms activations_;
  const exir::OpOverload *mm_, *addmm_, *convolution_;
  const exir::OpTable<std::string_view> followers_;
  // float32 value -> bfloat16 value: exact ones, and rounded ones.
  absl::flat_hash_map<ValueId, ValueId> widened_, rounded_;
  // Nodes of decomposed activations of products, which stay float32.
  absl::flat_hash_set<NodeId> activation_nodes_;
};

}  // namespace

exir::Pass NarrowProducts() {
  return {"narrow_products",
          [](exir::ExportedProgram& program) { return ProductNarrowing(program).Run(); }};
}

}  // namespace belay::cpu
