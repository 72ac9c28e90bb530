#include "backends/cpu/aot/passes/assign_layouts.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ops/layout_rules.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::NodeId;
using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;

// Whether the elements lie in the same places. Dimensions of one element do not count.
bool LiesAlike(const TensorMeta& a, const TensorMeta& b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (!(a.sizes[d] == SymInt(1)) && !(a.strides[d] == b.strides[d])) return false;
  }
  return true;
}

class LayoutAssignment {
 public:
  explicit LayoutAssignment(exir::ExportedProgram& program)
      : editor_(program.top()),
        graph_(editor_.graph()),
        copy_(program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"))) {}

  // Gives what operators get and what is returned the right layout.
  bool Convert(const std::vector<std::optional<TensorMeta>>& returned) {
    for (NodeId id : graph_.NodeList()) {
      const exir::Node& node = graph_.node(id);
      if (node.target->ns() != "belay_cpu") continue;
      const bool images = IsConvolution(*node.target);
      for (size_t i = 0; i < node.arguments.size(); ++i) {
        // Packed weights and biases have one dimension.
        const ValueId* value = graph_.node(id).arguments[i].get_if<ValueId>();
        if (value == nullptr || graph_.value(*value).tensor() == nullptr ||
            graph_.value(*value).tensor()->rank() < 2) {
          continue;
        }
        editor_.SetArgument(id, i, InOrder(*value, images, id));
      }
    }
    std::vector<Argument> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueId* value = outputs[k].get_if<ValueId>();
      if (value == nullptr || !returned[k].has_value()) continue;
      const TensorMeta& wanted = *returned[k];
      const bool channels_last =
          wanted.rank() == 4 &&
          LiesAlike(wanted, exir::DenseInFormat(wanted.dtype, wanted.sizes, true));
      if (LiesAlike(*graph_.value(*value).tensor(), wanted)) continue;
      if (!wanted.is_contiguous() && !channels_last) continue;
      outputs[k] = InOrder(*value, !wanted.is_contiguous(), NodeId());
    }
    if (changed_) editor_.SetOutputs(std::move(outputs));
    return changed_;
  }

 private:
  // The value itself or a copy, made before `reader` or at the end.
  ValueId InOrder(ValueId value, bool channels_last, NodeId reader) {
    const TensorMeta& meta = *graph_.value(value).tensor();
    TensorMeta wanted = exir::DenseInFormat(meta.dtype, meta.sizes, channels_last);
    if (LiesAlike(meta, wanted)) return value;
    const auto [it, inserted] = copies_.try_emplace({value, channels_last});
    if (!inserted) return it->second;
    changed_ = true;
    wanted.device = meta.device;
    const DimOrder order =
        channels_last ? ChannelsLastOrder(meta.rank()) : ContiguousOrder(meta.rank());
    Argument::List dims;
    for (uint8_t d : order) dims.emplace_back(int64_t{d});
    exir::GraphEditor::NewNode node{
        .name = channels_last ? "channels_last" : "contiguous",
        .target = copy_,
        .arguments = exir::ArgumentsByName(*copy_->schema(),
                                           {{"self", value}, {"dim_order", std::move(dims)}})};
    const NodeId source = reader.valid() ? reader : graph_.value(value).producer;
    if (source.valid()) {
      node.provenance = graph_.node(source).provenance;
      node.debug_handle = graph_.node(source).debug_handle;
    }
    it->second = editor_.InsertOp(reader, std::move(node), std::move(wanted));
    return it->second;
  }

  exir::GraphEditor editor_;
  const exir::Graph& graph_;
  const exir::OpOverload* copy_;
  absl::flat_hash_map<std::pair<ValueId, bool>, ValueId> copies_;
  bool changed_ = false;
};

absl::StatusOr<bool> Run(exir::ExportedProgram& program) {
  std::vector<std::optional<TensorMeta>> returned;
  for (const Argument& output : program.top().outputs()) {
    const ValueId* value = output.get_if<ValueId>();
    const TensorMeta* meta = value == nullptr ? nullptr : program.top().value(*value).tensor();
    returned.push_back(meta == nullptr ? std::nullopt : std::optional<TensorMeta>(*meta));
  }
  ABSL_ASSIGN_OR_RETURN(const bool refreshed, exir::RefreshLayouts(program));
  const bool converted = LayoutAssignment(program).Convert(returned);
  return refreshed || converted;
}

}  // namespace

exir::Pass AssignLayouts() { return {"assign_layouts", Run}; }

}  // namespace belay::cpu
