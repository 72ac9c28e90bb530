#include "backends/cpu/aot/passes/lift_to_images.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/permuted_dims.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

enum class Kind : uint8_t {
  kConvolution,
  kNorm,      // of the channels of its first argument
  kAlongDim,  // moves elements along `dim`
  kCat,
  kPad,
  kAvgPool,
  kExpand,
  kReduction,  // over `dim`, with `keepdim`
  kPermute,
  kSplit,
  kTranspose,
  kSqueeze,
  kUnsqueeze,
};

struct Row {
  std::string_view op;
  Kind kind;
};
constexpr Row kRows[] = {
    {"aten._native_batch_norm_legit_no_training.default", Kind::kNorm},
    {"aten.amax.default", Kind::kReduction},
    {"aten.amin.default", Kind::kReduction},
    {"aten.avg_pool1d.default", Kind::kAvgPool},
    {"aten.cat.default", Kind::kCat},
    {"aten.constant_pad_nd.default", Kind::kPad},
    {"aten.convolution.default", Kind::kConvolution},
    {"aten.expand_copy.default", Kind::kExpand},
    {"aten.mean.dim", Kind::kReduction},
    {"aten.native_group_norm.default", Kind::kNorm},
    {"aten.permute_copy.default", Kind::kPermute},
    {"aten.slice_copy.Tensor", Kind::kAlongDim},
    {"aten.split_with_sizes_copy.default", Kind::kSplit},
    {"aten.squeeze_copy.dim", Kind::kSqueeze},
    {"aten.transpose_copy.int", Kind::kTranspose},
    {"aten.unsqueeze_copy.default", Kind::kUnsqueeze},
};

class Lifting : NodeLowering {
 public:
  explicit Lifting(exir::ExportedProgram& program)
      : NodeLowering(program),
        table_(*program.ops, kRows),
        squeeze_(program.ops->ToEdge(program.ops->Find("aten.squeeze_copy.dim"))),
        unsqueeze_(program.ops->ToEdge(program.ops->Find("aten.unsqueeze_copy.default"))),
        permute_(program.ops->ToEdge(program.ops->Find("aten.permute_copy.default"))),
        avg_pool2d_(program.ops->ToEdge(program.ops->Find("aten.avg_pool2d.default"))) {}

  bool Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      if (graph_.contains(id) && Lift(id)) changed = true;
    }
    if (changed) EraseUnused(program_, editor_);
    return changed;
  }

 private:
  static std::optional<int64_t> Int(const Argument& argument) {
    const int64_t* number = argument.get_if<int64_t>();
    return number == nullptr ? std::nullopt : std::optional(*number);
  }

  // Returns x [n, c, 1, l] if the argument is squeeze(x, 2) [n, c, l]; nullopt otherwise.
  std::optional<ValueId> SqueezedImages(const Argument& argument) const {
    const ValueId* value = argument.get_if<ValueId>();
    const NodeId producer = value == nullptr ? NodeId() : graph_.value(*value).producer;
    if (!producer.valid()) return std::nullopt;
    const Node& node = graph_.node(producer);
    const Row* row = table_.Find(node.target);
    const TensorMeta* meta = Tensor(node.operand());
    if (row == nullptr || row->kind != Kind::kSqueeze || meta == nullptr) return std::nullopt;
    const std::optional<int64_t> dim = Int(node.argument("dim"));
    if (meta->rank() != 4 || (dim != 2 && dim != -2) || !(meta->sizes[2] == SymInt(1))) {
      return std::nullopt;
    }
    return *node.operand().get_if<ValueId>();
  }

  // Returns the type with a dimension of 1 inserted at `dim`.
  static TensorMeta UnsqueezedMeta(const TensorMeta& meta, int dim) {
    std::vector<SymInt> sizes = meta.sizes;
    sizes.insert(sizes.begin() + dim, SymInt(1));
    TensorMeta unsqueezed = TensorMeta::Contiguous(meta.dtype, std::move(sizes));
    unsqueezed.device = meta.device;
    return unsqueezed;
  }

  ValueId Insert(NodeId before, const exir::OpOverload* target, std::string_view name,
                 std::vector<Argument> arguments, TensorMeta type, NodeId source) {
    exir::GraphEditor::NewNode node{
        .name = std::string(name), .target = target, .arguments = std::move(arguments)};
    node.provenance = graph_.node(source).provenance;
    node.debug_handle = graph_.node(source).debug_handle;
    return editor_.InsertOp(before, std::move(node), std::move(type));
  }
  ValueId Unsqueezed(ValueId value, int64_t dim, NodeId before) {
    const TensorMeta type = UnsqueezedMeta(graph_.MetaOf(value), static_cast<int>(dim));
    return Insert(before, unsqueeze_, "images", {value, dim}, type, before);
  }

  // Whether the node swaps the last two of three dimensions.
  bool SwapsLastTwo(NodeId id) const {
    const Node& node = graph_.node(id);
    const Row* row = table_.Find(node.target);
    const TensorMeta* meta = Tensor(node.operand());
    if (row == nullptr || meta == nullptr || meta->rank() != 3) return false;
    if (row->kind == Kind::kPermute) return PermutedDims(node) == std::vector<int64_t>{0, 2, 1};
    if (row->kind != Kind::kTranspose) return false;
    const auto is_dim = [&](std::string_view name, int64_t d) {
      const std::optional<int64_t> dim = Int(node.argument(name));
      return dim == d || dim == d - 3;
    };
    return (is_dim("dim0", 1) && is_dim("dim1", 2)) || (is_dim("dim0", 2) && is_dim("dim1", 1));
  }

  // Returns `value`, [n, c, l], as images. New nodes are inserted before node `id`.
  ValueId ToImages(ValueId value, NodeId id) {
    if (const std::optional<ValueId> images = SqueezedImages(value)) return *images;
    const NodeId producer = graph_.value(value).producer;
    if (producer.valid() && SwapsLastTwo(producer)) {
      // [n, l, c] -> [n, 1, l, c] -> [n, c, 1, l]: images channels last.
      const ValueId rows = *graph_.node(producer).operand().get_if<ValueId>();
      const ValueId unsqueezed = Unsqueezed(rows, 1, id);
      return Insert(id, permute_, "images", {unsqueezed, Argument::List{0, 3, 1, 2}},
                    UnsqueezedMeta(graph_.MetaOf(value), 2), id);
    }
    return Unsqueezed(value, 2, id);
  }

  // Declares the result of `id` as images and squeezes them for its users.
  void Squeeze(NodeId id) { Squeeze(id, graph_.ResultOf(id)); }
  void Squeeze(NodeId id, ValueId result) {
    const TensorMeta type = graph_.MetaOf(result);
    editor_.SetType(result, UnsqueezedMeta(type, 2));
    const NodeId next = graph_.next(id);
    const ValueId squeezed =
        Insert(next, squeeze_, "squeezed", {result, Argument(int64_t{2})}, type, id);
    const NodeId node = graph_.value(squeezed).producer;
    editor_.ReplaceAllUses(result, squeezed);
    editor_.SetArgument(node, 0, result);
  }

  bool Lift(NodeId id) {
    const Node& node = graph_.node(id);
    const Row* row = table_.Find(node.target);
    if (row != nullptr && row->kind == Kind::kSplit) return LiftSplit(id);
    if (node.outputs.empty() || node.outputs[0].values.size() != 1) return false;
    const TensorMeta* result = Tensor(graph_.ResultOf(id));
    if (result == nullptr) return false;
    if (row == nullptr) return result->rank() == 3 && LiftPointwise(id);
    switch (row->kind) {
      case Kind::kConvolution:
        return LiftConvolution(id);
      case Kind::kReduction:
        return LiftReduction(id);
      case Kind::kPermute:
      case Kind::kTranspose:
        return LiftSwap(id);
      case Kind::kUnsqueeze:
        return Cancel(id);
      case Kind::kSplit:
      case Kind::kSqueeze:
        return false;
      case Kind::kCat:
        return LiftCat(id);
      default:
        break;
    }
    const std::optional<ValueId> images = SqueezedImages(node.operand());
    if (result->rank() != 3 || !images.has_value()) return false;
    switch (row->kind) {
      case Kind::kPad: {
        const Argument::List* pad = node.argument("pad").get_if<Argument::List>();
        if (pad == nullptr || pad->size() != 2) return false;
        break;
      }
      case Kind::kAlongDim: {
        const std::optional<Argument> dim = ImageDim(node.argument("dim"));
        if (!dim.has_value()) return false;
        SetArgument(id, "dim", *dim);
        break;
      }
      case Kind::kAvgPool:
        if (!ToAvgPool2d(id)) return false;
        break;
      case Kind::kExpand: {
        const Argument::List* size = node.argument("size").get_if<Argument::List>();
        if (size == nullptr || size->size() != 3) return false;
        SetArgument(id, "size", Argument::List{(*size)[0], (*size)[1], int64_t{1}, (*size)[2]});
        break;
      }
      default:
        break;
    }
    editor_.SetArgument(id, 0, Argument(*images));
    Squeeze(id);
    return true;
  }

  // Returns the dimension of [n, c, 1, l] that is this one of [n, c, l].
  static std::optional<Argument> ImageDim(const Argument& argument) {
    const std::optional<int64_t> dim = Int(argument);
    if (!dim.has_value() || *dim < -3 || *dim > 2) return std::nullopt;
    const int64_t positive = *dim < 0 ? *dim + 3 : *dim;
    return Argument(positive == 2 ? int64_t{3} : positive);
  }

  bool LiftSplit(NodeId id) {
    const std::optional<ValueId> images = SqueezedImages(graph_.node(id).operand());
    const std::optional<Argument> dim = ImageDim(graph_.node(id).argument("dim"));
    if (!images.has_value() || !dim.has_value()) return false;
    editor_.SetArgument(id, 0, Argument(*images));
    SetArgument(id, "dim", *dim);
    for (ValueId part : graph_.node(id).results()) Squeeze(id, part);
    return true;
  }

  bool LiftPointwise(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.target->has_trait(exir::kPointwise) || node.results().size() != 1 ||
        node.target->ArgumentIndex("axis").has_value() ||
        node.target->ArgumentIndex("dim").has_value()) {
      return false;
    }
    bool any = false;
    for (const Argument& argument : node.arguments) {
      if (argument.is<Argument::List>()) return false;
      if (SqueezedImages(argument).has_value()) any = true;
    }
    if (!any) return false;
    for (size_t i = 0; i < graph_.node(id).arguments.size(); ++i) {
      const Argument operand = graph_.node(id).arguments[i];
      const TensorMeta* meta = Tensor(operand);
      if (meta == nullptr || meta->rank() < 2) continue;
      const ValueId value = *operand.get_if<ValueId>();
      const ValueId lifted = meta->rank() == 3 ? ToImages(value, id) : Unsqueezed(value, 1, id);
      editor_.SetArgument(id, i, Argument(lifted));
    }
    Squeeze(id);
    return true;
  }

  bool LiftCat(NodeId id) {
    const Node& node = graph_.node(id);
    const Argument::List* list = node.argument("tensors").get_if<Argument::List>();
    const std::optional<Argument> dim = ImageDim(node.argument("dim"));
    if (list == nullptr || !dim.has_value()) return false;
    bool any = false;
    for (const Argument& argument : *list) {
      const TensorMeta* meta = Tensor(argument);
      if (meta == nullptr || meta->rank() != 3) return false;
      any = any || SqueezedImages(argument).has_value();
    }
    if (!any) return false;
    Argument::List images;
    for (const Argument& argument : Argument::List(*list)) {
      images.emplace_back(ToImages(*argument.get_if<ValueId>(), id));
    }
    SetArgument(id, "tensors", std::move(images));
    SetArgument(id, "dim", *dim);
    Squeeze(id);
    return true;
  }

  // Lifts a reduction over l to images: over the last two dimensions, or the last one with keepdim.
  bool LiftReduction(NodeId id) {
    const Node& node = graph_.node(id);
    const std::optional<ValueId> images = SqueezedImages(node.operand());
    const Argument::List* dims = node.argument("dim").get_if<Argument::List>();
    const bool* keeps = node.argument("keepdim").get_if<bool>();
    if (!images.has_value() || dims == nullptr || keeps == nullptr || dims->size() != 1) {
      return false;
    }
    const std::optional<int64_t> dim = Int((*dims)[0]);
    if (dim != 2 && dim != -1) return false;
    const bool keep = *keeps;
    SetArgument(id, "dim", keep ? Argument::List{3} : Argument::List{2, 3});
    editor_.SetArgument(id, 0, Argument(*images));
    if (keep) Squeeze(id);
    return true;
  }

  // Replaces an avg_pool1d by the avg_pool2d of images with a height of 1.
  bool ToAvgPool2d(NodeId id) {
    const Node& node = graph_.node(id);
    const auto pair = [&](std::string_view name, int64_t other) -> std::optional<Argument::List> {
      const Argument::List* list = node.argument(name).get_if<Argument::List>();
      if (list == nullptr || list->size() > 1) return std::nullopt;
      if (list->empty()) return Argument::List{};
      return Argument::List{other, (*list)[0]};
    };
    const std::optional<Argument::List> kernel = pair("kernel_size", 1), stride = pair("stride", 1),
                                        padding = pair("padding", 0);
    if (!kernel.has_value() || kernel->empty() || !stride.has_value() || !padding.has_value() ||
        padding->empty()) {
      return false;
    }
    std::vector<Argument> arguments = {node.operand(),
                                       *kernel,
                                       *stride,
                                       *padding,
                                       node.argument("ceil_mode"),
                                       node.argument("count_include_pad"),
                                       Argument()};
    editor_.SetTarget(id, avg_pool2d_);
    editor_.SetArguments(id, std::move(arguments));
    return true;
  }

  // transpose(squeeze(images, 2), 1, 2)  ->  squeeze(permute(images, [0, 2, 3, 1]), 1)
  bool LiftSwap(NodeId id) {
    const std::optional<ValueId> images = SqueezedImages(graph_.node(id).operand());
    if (!images.has_value() || !SwapsLastTwo(id)) return false;
    const ValueId result = graph_.ResultOf(id);
    const TensorMeta type = graph_.MetaOf(result);
    const ValueId rows = Insert(id, permute_, "rows", {*images, Argument::List{0, 2, 3, 1}},
                                UnsqueezedMeta(type, 1), id);
    const ValueId squeezed =
        Insert(id, squeeze_, "squeezed", {rows, Argument(int64_t{1})}, type, id);
    editor_.ReplaceAllUses(result, squeezed);
    return true;
  }

  // unsqueeze(squeeze(x, 2), 2) -> x
  bool Cancel(NodeId id) {
    const Node& node = graph_.node(id);
    const std::optional<ValueId> images = SqueezedImages(node.operand());
    const std::optional<int64_t> dim = Int(node.argument("dim"));
    if (!images.has_value() || (dim != 2 && dim != -2)) return false;
    editor_.ReplaceAllUses(graph_.ResultOf(id), *images);
    return true;
  }

  bool LiftConvolution(NodeId id) {
    const Node& node = graph_.node(id);
    const std::optional<ConstantView> view = views_.Find(node.argument("weight"));
    const TensorMeta* meta = Tensor(node.argument("input"));
    if (meta == nullptr || meta->rank() != 3 || !view.has_value() || view->rank() != 3 ||
        view->tensor->dtype() != meta->dtype ||
        (meta->dtype != DType::kFloat32 && meta->dtype != DType::kBFloat16)) {
      return false;
    }
    struct Number {
      std::string_view name;
      int64_t other;
    };
    constexpr Number kNumbers[] = {
        {"stride", 1}, {"padding", 0}, {"dilation", 1}, {"output_padding", 0}};
    for (const Number& number : kNumbers) {
      const Argument::List* list = node.argument(number.name).get_if<Argument::List>();
      if (list == nullptr || list->size() != 1) return false;
    }
    for (const Number& number : kNumbers) {
      const Argument one = (*graph_.node(id).argument(number.name).get_if<Argument::List>())[0];
      SetArgument(id, number.name, Argument::List{number.other, one});
    }
    SetArgument(id, "input", Argument(ToImages(*graph_.node(id).value_argument("input"), id)));
    SetArgument(id, "weight",
                Argument(Unsqueezed(*graph_.node(id).value_argument("weight"), 2, id)));
    Squeeze(id);
    return true;
  }

  const exir::OpTable<Row> table_;
  const exir::OpOverload *squeeze_, *unsqueeze_, *permute_, *avg_pool2d_;
};

}  // namespace

exir::Pass LiftToImages() {
  return {"lift_to_images", [](exir::ExportedProgram& program) { return Lifting(program).Run(); }};
}

}  // namespace belay::cpu
