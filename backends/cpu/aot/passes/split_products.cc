#include "backends/cpu/aot/passes/split_products.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/aot/passes/lower_nodes.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/node_like.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

constexpr size_t kMaxParts = 8;

class ProductSplitting : NodeLowering {
 public:
  ProductSplitting(exir::ExportedProgram& program, FusedHandles& handles)
      : NodeLowering(program),
        handles_(handles),
        constants_(program, editor_),
        split_(program.ops->Find("aten.split_with_sizes_copy.default")),
        even_split_(program.ops->Find("aten.split_copy.Tensor")),
        view_(program.ops->Find("aten.view_copy.default")) {}

  absl::StatusOr<bool> Run() {
    return LowerNodes(program_, editor_, [this](NodeId id) { return Lower(id); });
  }

 private:
  // A product whose result is split, perhaps after a reshape.
  struct Product {
    NodeId node, reshape;
    ConstantView weight;
    std::optional<ConstantView> bias;
    size_t features_dim = 0;  // of the product's result
    int64_t depth = 0;        // rows of the weight
  };

  // Returns the sizes of the parts in dimension `dim`, if each starts at a panel.
  std::optional<std::vector<int64_t>> PartSizes(const Node& split, size_t dim) const {
    const std::vector<ValueId> parts = split.results();
    if (parts.size() < 2 || parts.size() > kMaxParts) return std::nullopt;
    std::vector<int64_t> sizes;
    int64_t first = 0;
    for (ValueId part : parts) {
      const std::optional<int64_t> size = graph_.MetaOf(part).sizes[dim].AsInt();
      if (!size.has_value() || *size < 1 || first % kPanelColumns != 0) return std::nullopt;
      sizes.push_back(*size);
      first += *size;
    }
    return sizes;
  }

  // Returns the product whose features are dimension `dim` of the value.
  std::optional<Product> ProductOf(ValueId value, size_t dim) const {
    const TensorMeta& meta = graph_.MetaOf(value);
    Product product;
    NodeId producer = graph_.value(value).producer;
    if (producer.valid() && graph_.HasOneUse(value) &&
        graph_.node(producer).target->aten() == view_) {
      product.reshape = producer;
      const ValueId* reshaped = graph_.node(producer).operand().get_if<ValueId>();
      if (reshaped == nullptr) return std::nullopt;
      value = *reshaped;
      producer = graph_.value(value).producer;
    }
    if (!producer.valid() || !graph_.HasOneUse(value)) return std::nullopt;
    product.node = producer;
    const Node& node = graph_.node(producer);
    const TensorMeta& result = graph_.MetaOf(value);
    const bool linear = IsCpuOp(*node.target, "linear");
    if (!linear && (!IsCpuOp(*node.target, "conv2d") || product.reshape.valid())) {
      return std::nullopt;
    }
    product.features_dim = linear ? static_cast<size_t>(result.rank() - 1) : 1;
    if (linear && result.NumElements() == result.sizes.back()) return std::nullopt;  // one row
    if (dim != (linear ? meta.sizes.size() - 1 : 1) ||
        !(meta.sizes[dim] == result.sizes[product.features_dim]) ||
        !node.argument("other").is_none()) {
      return std::nullopt;
    }
    return WithConstants(node, std::move(product));
  }

  // Adds the constants. nullopt if another node uses the weight.
  std::optional<Product> WithConstants(const Node& node, Product product) const {
    const ValueId* weight = node.value_argument("weight");
    std::optional<ConstantView> packed = views_.Find(node.argument("weight"));
    if (weight == nullptr || !packed.has_value() || packed->rank() != 1 ||
        !graph_.HasOneUse(*weight) || packed->tensor->dtype() != DType::kFloat32) {
      return std::nullopt;
    }
    const std::optional<int64_t> elements = packed->sizes[0].AsInt();
    const std::optional<int64_t> features =
        graph_.MetaOf(node.results()[0]).sizes[product.features_dim].AsInt();
    if (!elements.has_value() || !features.has_value() || *features < 1) return std::nullopt;
    const int64_t columns = (*features + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
    if (*elements % columns != 0) return std::nullopt;
    product.depth = *elements / columns;
    product.weight = *std::move(packed);
    if (!node.argument("bias").is_none()) {
      product.bias = views_.Find(node.argument("bias"));
      if (!product.bias.has_value() || product.bias->rank() != 1 ||
          product.bias->tensor->dtype() != DType::kFloat32) {
        return std::nullopt;
      }
    }
    return product;
  }

  absl::StatusOr<bool> Lower(NodeId id) {
    const Node& split = graph_.node(id);
    if (split.target->aten() != split_ && split.target->aten() != even_split_) return false;
    const ValueId* operand = split.operand().get_if<ValueId>();
    const TensorMeta* meta = Tensor(split.operand());
    const int64_t* dim = split.argument("dim").get_if<int64_t>();
    if (meta == nullptr || dim == nullptr) return false;
    const auto features = static_cast<size_t>(*dim < 0 ? *dim + meta->rank() : *dim);
    const std::optional<std::vector<int64_t>> sizes = PartSizes(split, features);
    const std::optional<Product> product = ProductOf(*operand, features);
    if (!sizes.has_value() || !product.has_value()) return false;
    const std::vector<ValueId> parts = split.results();
    int64_t first = 0;
    for (size_t k = 0; k < parts.size(); ++k) {
      ABSL_ASSIGN_OR_RETURN(ValueId part, Part(id, *product, first, (*sizes)[k]));
      if (product->reshape.valid()) part = Reshaped(id, product->reshape, part, parts[k]);
      if (k == 0) handles_.Fuse(editor_, graph_.value(part).producer, id);
      editor_.ReplaceAllUses(parts[k], part);
      first += (*sizes)[k];
    }
    return true;
  }

  // Computes features [first, first + count) of the product, before node `id`.
  absl::StatusOr<ValueId> Part(NodeId id, const Product& product, int64_t first, int64_t count) {
    const int64_t panels = (count + kPanelColumns - 1) / kPanelColumns;
    ABSL_ASSIGN_OR_RETURN(const ValueId weight,
                          constants_.Part(product.weight, first * product.depth,
                                          panels * kPanelColumns * product.depth));
    const Node& whole_node = graph_.node(product.node);
    exir::GraphEditor::NewNode node = exir::NodeLike(whole_node, whole_node.arguments);
    const auto set = [&](std::string_view name, Argument value) {
      node.arguments[*node.target->ArgumentIndex(name)] = std::move(value);
    };
    set("weight", Argument(weight));
    if (product.bias.has_value()) {
      ABSL_ASSIGN_OR_RETURN(const ValueId bias, constants_.Part(*product.bias, first, count));
      set("bias", Argument(bias));
    }
    set(IsCpuOp(*node.target, "linear") ? "out_features" : "out_channels", Argument(count));
    const TensorMeta& whole = graph_.MetaOf(graph_.ResultOf(product.node));
    std::vector<SymInt> sizes = whole.sizes;
    sizes[product.features_dim] = SymInt(count);
    TensorMeta type = TensorMeta::Contiguous(whole.dtype, std::move(sizes));
    type.device = whole.device;
    return editor_.InsertOp(id, std::move(node), std::move(type));
  }

  // Reshapes a part to the type of `like`.
  ValueId Reshaped(NodeId id, NodeId reshape, ValueId part, ValueId like) {
    const TensorMeta type = graph_.MetaOf(like);
    Argument::List size = *graph_.node(reshape).argument("size").get_if<Argument::List>();
    size.back() = Argument(*type.sizes.back().AsInt());
    return editor_.InsertOp(
        id, exir::NodeLike(graph_.node(reshape), {Argument(part), Argument(std::move(size))}),
        type);
  }

  FusedHandles& handles_;
  PackedConstants constants_;
  const exir::OpOverload *split_, *even_split_, *view_;
};

}  // namespace

exir::Pass SplitProducts(FusedHandles& handles) {
  return {"split_products", [&handles](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
            return ProductSplitting(program, handles).Run();
          }};
}

}  // namespace belay::cpu
