#include "backends/cpu/aot/passes/float_casts.h"

#include <string>
#include <utility>

#include "exir/ir/match.h"

namespace belay::cpu {

using exir::Argument;
using exir::Node;
using exir::NodeId;
using exir::TensorMeta;
using exir::ValueId;

std::optional<ValueId> ConvertedFloat(const exir::Graph& graph, ValueId value) {
  const std::optional<ValueId> operand =
      exir::match::Matcher(graph).OperandOf("dim_order_ops._to_dim_order_copy.default", value);
  if (!operand.has_value() || !kFloatCastTypes.contains(graph.MetaOf(*operand).dtype) ||
      !kFloatCastTypes.contains(graph.MetaOf(value).dtype)) {
    return std::nullopt;
  }
  return operand;
}

std::vector<Argument> FloatCasts::Of(ValueId value, const TensorMeta& result) const {
  Argument::List dims;
  const DimOrder order = *exir::DimOrderOf(result);
  for (uint8_t d : order) dims.emplace_back(int64_t{d});
  return exir::ArgumentsByName(
      *cast_->schema(), {{"self", value}, {"dtype", result.dtype}, {"dim_order", std::move(dims)}});
}

ValueId FloatCasts::Insert(ValueId value, DType dtype, NodeId before, NodeId reader,
                           std::string_view name) {
  TensorMeta meta = *editor_.graph().value(value).tensor();
  const absl::StatusOr<DimOrder> order = exir::DimOrderOf(meta);
  if (!order.ok() ||
      !(*order == ContiguousOrder(meta.rank()) || *order == ChannelsLastOrder(meta.rank()))) {
    meta = TensorMeta::Contiguous(meta.dtype, meta.sizes);
  }
  meta.dtype = dtype;
  std::vector<Argument> arguments = Of(value, meta);
  const Node& node = editor_.graph().node(reader);
  return editor_.InsertOp(before,
                          {.name = std::string(name),
                           .target = cast_,
                           .arguments = std::move(arguments),
                           .provenance = node.provenance,
                           .debug_handle = node.debug_handle},
                          std::move(meta));
}

void FloatCasts::Become(NodeId node, ValueId value) {
  const ValueId result = editor_.graph().node(node).results()[0];
  std::vector<Argument> arguments = Of(value, *editor_.graph().value(result).tensor());
  editor_.SetTarget(node, cast_);
  editor_.SetArguments(node, std::move(arguments));
}

}  // namespace belay::cpu
