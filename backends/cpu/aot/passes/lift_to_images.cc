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
#include "exir/ir/graph_editor.h"
#include "exir/op/op_table.h"
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
  kMean,
  kPermute,
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
    {"aten.avg_pool1d.default", Kind::kAvgPool},
    {"aten.cat.default", Kind::kCat},
    {"aten.constant_pad_nd.default", Kind::kPad},
    {"aten.convolution.default", Kind::kConvolution},
    {"aten.mean.dim", Kind::kMean},
    {"aten.permute_copy.default", Kind::kPermute},
    {"aten.slice_copy.Tensor", Kind::kAlongDim},
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
  const TensorMeta* MetaOf(ValueId value) const { return graph_.value(value).tensor(); }
  static std::optional<int64_t> Int(const Argument& argument) {
    const int64_t* number = argument.get_if<int64_t>();
    return number == nullptr ? std::nullopt : std::optional(*number);
  }

  // The images [n, c, 1, l] that `value`, [n, c, l], is squeezed of.
  std::optional<ValueId> Twin(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid()) return std::nullopt;
    const Node& node = graph_.node(producer);
    const Row* row = table_.Find(node.target);
    const ValueId* images = node.operand().get_if<ValueId>();
    if (row == nullptr || row->kind != Kind::kSqueeze || images == nullptr) return std::nullopt;
    const TensorMeta* meta = MetaOf(*images);
    const std::optional<int64_t> dim = Int(node.argument("dim"));
    if (meta == nullptr || meta->rank() != 4 || (dim != 2 && dim != -2) ||
        !(meta->sizes[2] == SymInt(1))) {
      return std::nullopt;
    }
    return *images;
  }
  bool HasTwin(const Argument& argument) const {
    const ValueId* value = argument.get_if<ValueId>();
    return value != nullptr && Twin(*value).has_value();
  }

  // The type with a dimension of 1 at `dim`.
  static TensorMeta Wider(const TensorMeta& meta, int dim) {
    std::vector<SymInt> sizes = meta.sizes;
    sizes.insert(sizes.begin() + dim, SymInt(1));
    TensorMeta wider = TensorMeta::Contiguous(meta.dtype, std::move(sizes));
    wider.device = meta.device;
    return wider;
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
    const TensorMeta type = Wider(*MetaOf(value), static_cast<int>(dim));
    return Insert(before, unsqueeze_, "images", {value, dim}, type, before);
  }

  // Whether it swaps the last two of three dimensions.
  bool SwapsRows(NodeId id) const {
    const Node& node = graph_.node(id);
    const Row* row = table_.Find(node.target);
    const ValueId* value = node.operand().get_if<ValueId>();
    if (row == nullptr || value == nullptr || MetaOf(*value) == nullptr ||
        MetaOf(*value)->rank() != 3) {
      return false;
    }
    const auto dim = [](const Argument& a) {
      const int64_t d = Int(a).value_or(9);
      return d < 0 ? d + 3 : d;
    };
    if (row->kind == Kind::kPermute) {
      const Argument::List* dims = node.argument("dims").get_if<Argument::List>();
      return dims != nullptr && dims->size() == 3 && dim((*dims)[0]) == 0 && dim((*dims)[1]) == 2 &&
             dim((*dims)[2]) == 1;
    }
    if (row->kind != Kind::kTranspose) return false;
    const int64_t a = dim(node.argument("dim0")), b = dim(node.argument("dim1"));
    return (a == 1 && b == 2) || (a == 2 && b == 1);
  }

  // `value`, [n, c, l], as images, before node `id`.
  ValueId Images(ValueId value, NodeId id) {
    if (const std::optional<ValueId> twin = Twin(value)) return *twin;
    const NodeId producer = graph_.value(value).producer;
    if (producer.valid() && SwapsRows(producer)) {
      // Rows [n, l, c]: seen as [n, 1, l, c], they are images channels last.
      const ValueId rows = *graph_.node(producer).operand().get_if<ValueId>();
      const ValueId wide = Unsqueezed(rows, 1, id);
      return Insert(id, permute_, "images", {wide, Argument::List{0, 3, 1, 2}},
                    Wider(*MetaOf(value), 2), id);
    }
    return Unsqueezed(value, 2, id);
  }

  // The node gives images from now on, which are squeezed for its users.
  void Squeeze(NodeId id) {
    const ValueId result = graph_.node(id).results()[0];
    const TensorMeta narrow = *MetaOf(result);
    editor_.SetType(result, Wider(narrow, 2));
    const NodeId next = graph_.next(id);
    const ValueId squeezed =
        Insert(next, squeeze_, "squeezed", {result, Argument(int64_t{2})}, narrow, id);
    const NodeId node = graph_.value(squeezed).producer;
    editor_.ReplaceAllUses(result, squeezed);
    editor_.SetArgument(node, 0, result);
  }

  bool Lift(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.empty() || node.outputs[0].values.size() != 1) return false;
    const Row* row = table_.Find(node.target);
    const TensorMeta* result = MetaOf(node.results()[0]);
    if (result == nullptr) return false;
    if (row == nullptr) return result->rank() == 3 && LiftPointwise(id);
    switch (row->kind) {
      case Kind::kConvolution:
        return LiftConvolution(id);
      case Kind::kMean:
        return LiftMean(id);
      case Kind::kPermute:
      case Kind::kTranspose:
        return LiftSwap(id);
      case Kind::kUnsqueeze:
        return Cancel(id);
      case Kind::kSqueeze:
        return false;
      case Kind::kCat:
        return LiftCat(id);
      default:
        break;
    }
    const ValueId* value = node.operand().get_if<ValueId>();
    if (result->rank() != 3 || value == nullptr || !Twin(*value).has_value()) return false;
    switch (row->kind) {
      case Kind::kPad: {
        const Argument::List* pad = node.argument("pad").get_if<Argument::List>();
        if (pad == nullptr || pad->size() != 2) return false;
        break;
      }
      case Kind::kAlongDim: {
        const std::optional<Argument> dim = WiderDim(node.argument("dim"));
        if (!dim.has_value()) return false;
        SetArgument(id, "dim", *dim);
        break;
      }
      case Kind::kAvgPool:
        if (!WidenPool(id)) return false;
        break;
      default:
        break;
    }
    editor_.SetArgument(id, 0, Argument(*Twin(*value)));
    Squeeze(id);
    return true;
  }

  // A dimension of [n, c, l] as one of [n, c, 1, l].
  static std::optional<Argument> WiderDim(const Argument& argument) {
    const std::optional<int64_t> dim = Int(argument);
    if (!dim.has_value() || *dim < -3 || *dim > 2) return std::nullopt;
    const int64_t positive = *dim < 0 ? *dim + 3 : *dim;
    return Argument(positive == 2 ? int64_t{3} : positive);
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
      if (HasTwin(argument)) any = true;
    }
    if (!any) return false;
    for (size_t i = 0; i < graph_.node(id).arguments.size(); ++i) {
      const ValueId* value = graph_.node(id).arguments[i].get_if<ValueId>();
      const TensorMeta* meta = value == nullptr ? nullptr : MetaOf(*value);
      if (meta == nullptr || meta->rank() < 2) continue;
      const ValueId wide = meta->rank() == 3 ? Images(*value, id) : Unsqueezed(*value, 1, id);
      editor_.SetArgument(id, i, Argument(wide));
    }
    Squeeze(id);
    return true;
  }

  bool LiftCat(NodeId id) {
    const Node& node = graph_.node(id);
    const Argument::List* list = node.argument("tensors").get_if<Argument::List>();
    const std::optional<Argument> dim = WiderDim(node.argument("dim"));
    if (list == nullptr || !dim.has_value()) return false;
    bool any = false;
    for (const Argument& argument : *list) {
      const ValueId* value = argument.get_if<ValueId>();
      const TensorMeta* meta = value == nullptr ? nullptr : MetaOf(*value);
      if (meta == nullptr || meta->rank() != 3) return false;
      any = any || HasTwin(argument);
    }
    if (!any) return false;
    Argument::List images;
    for (const Argument& argument : Argument::List(*list)) {
      images.emplace_back(Images(*argument.get_if<ValueId>(), id));
    }
    SetArgument(id, "tensors", std::move(images));
    SetArgument(id, "dim", *dim);
    Squeeze(id);
    return true;
  }

  // Means over l: of [n, c, 1, l] over the last two dimensions, or the last one if they are kept.
  bool LiftMean(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId* value = node.operand().get_if<ValueId>();
    const Argument::List* dims = node.argument("dim").get_if<Argument::List>();
    const bool* keeps = node.argument("keepdim").get_if<bool>();
    if (value == nullptr || dims == nullptr || keeps == nullptr || dims->size() != 1) return false;
    const std::optional<ValueId> twin = Twin(*value);
    const std::optional<int64_t> dim = Int((*dims)[0]);
    if (!twin.has_value() || (dim != 2 && dim != -1)) return false;
    const bool keep = *keeps;
    SetArgument(id, "dim", keep ? Argument::List{3} : Argument::List{2, 3});
    editor_.SetArgument(id, 0, Argument(*twin));
    if (keep) Squeeze(id);
    return true;
  }

  bool WidenPool(NodeId id) {
    const Node& node = graph_.node(id);
    const auto wide = [&](std::string_view name, int64_t other) -> std::optional<Argument::List> {
      const Argument::List* list = node.argument(name).get_if<Argument::List>();
      if (list == nullptr || list->size() > 1) return std::nullopt;
      if (list->empty()) return Argument::List{};
      return Argument::List{other, (*list)[0]};
    };
    const std::optional<Argument::List> kernel = wide("kernel_size", 1), stride = wide("stride", 1),
                                        padding = wide("padding", 0);
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

  // [n, c, l] -> [n, l, c] of images: [n, 1, l, c] without its second dimension.
  bool LiftSwap(NodeId id) {
    const ValueId* value = graph_.node(id).operand().get_if<ValueId>();
    if (value == nullptr || !SwapsRows(id)) return false;
    const std::optional<ValueId> twin = Twin(*value);
    if (!twin.has_value()) return false;
    const ValueId result = graph_.node(id).results()[0];
    const TensorMeta narrow = *MetaOf(result);
    const ValueId rows =
        Insert(id, permute_, "rows", {*twin, Argument::List{0, 2, 3, 1}}, Wider(narrow, 1), id);
    const ValueId squeezed =
        Insert(id, squeeze_, "squeezed", {rows, Argument(int64_t{1})}, narrow, id);
    editor_.ReplaceAllUses(result, squeezed);
    return true;
  }

  // unsqueeze(squeeze(x, 2), 2) -> x
  bool Cancel(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId* value = node.operand().get_if<ValueId>();
    const std::optional<int64_t> dim = Int(node.argument("dim"));
    if (value == nullptr || (dim != 2 && dim != -2)) return false;
    const std::optional<ValueId> twin = Twin(*value);
    if (!twin.has_value()) return false;
    editor_.ReplaceAllUses(node.results()[0], *twin);
    return true;
  }

  bool LiftConvolution(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId *input = node.value_argument("input"), *weight = node.value_argument("weight");
    const std::optional<ConstantView> view = views_.Find(node.argument("weight"));
    const TensorMeta* meta = input == nullptr ? nullptr : MetaOf(*input);
    if (meta == nullptr || meta->rank() != 3 || weight == nullptr || !view.has_value() ||
        view->rank() != 3 || view->tensor->dtype() != meta->dtype ||
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
    SetArgument(id, "input", Argument(Images(*graph_.node(id).value_argument("input"), id)));
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
