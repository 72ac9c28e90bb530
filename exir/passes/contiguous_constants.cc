#include "exir/passes/contiguous_constants.h"

#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

bool IsKeptOrder(const ConstantTensor& tensor) {
  if (!IsDense(tensor.sizes(), tensor.strides())) return false;
  if (tensor.is_contiguous()) return true;
  const auto order = DimOrderOf(tensor.sizes(), tensor.strides());
  return order.has_value() && *order == ChannelsLastOrder(tensor.sizes().size());
}

// Replaceable tensors become row-major, the order of data files.
absl::StatusOr<bool> Convert(const absl::btree_set<std::string_view>& replaceable,
                             ConstantMap& map) {
  bool changed = false;
  for (auto& [name, tensor] : map) {
    const bool keeps = replaceable.contains(name) ? tensor.is_contiguous() : IsKeptOrder(tensor);
    if (keeps) continue;
    ABSL_ASSIGN_OR_RETURN(Storage dense, tensor.Dense(ContiguousOrder(tensor.sizes().size())));
    ABSL_ASSIGN_OR_RETURN(
        tensor, ConstantTensor::Contiguous(tensor.dtype(), tensor.sizes(), std::move(dense)));
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  absl::btree_set<std::string_view> replaceable;
  for (const InputSpec& spec : program.signature.inputs) {
    if (spec.replaceable) replaceable.insert(spec.target);
  }
  ABSL_ASSIGN_OR_RETURN(bool changed, Convert(replaceable, program.state_dict));
  ABSL_ASSIGN_OR_RETURN(const bool constants_changed, Convert(replaceable, program.constants));
  changed |= constants_changed;
  // Updates the inputs' types to the tensors, regardless of the strides in the archive.
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ConstantTensor* tensor = program.FindConstant(program.signature.inputs[i]);
    const ValueId input = graph.inputs()[i];
    if (tensor == nullptr) continue;
    const TensorMeta* meta = graph.value(input).tensor();
    const DimOrder order =
        tensor->is_contiguous() ? ContiguousOrder(meta->rank()) : ChannelsLastOrder(meta->rank());
    TensorMeta dense = TensorMeta::Dense(meta->dtype, meta->sizes, order);
    dense.device = meta->device;
    dense.requires_grad = meta->requires_grad;
    if (dense == *meta) continue;
    editor.SetType(input, std::move(dense));
    changed = true;
  }
  return changed;
}

}  // namespace

Pass ContiguousConstants() { return {"contiguous_constants", Run}; }

}  // namespace belay::exir
