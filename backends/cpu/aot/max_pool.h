// Max pools that the backend lowers.
#ifndef BELAY_BACKENDS_CPU_AOT_MAX_POOL_H_
#define BELAY_BACKENDS_CPU_AOT_MAX_POOL_H_

#include <algorithm>

#include "exir/ir/graph.h"

namespace belay::cpu {

// Whether an aten.max_pool2d_with_indices has dilation 1 and its indices are unused.
inline bool IsPlainMaxPool(const exir::Graph& graph, exir::NodeId id) {
  const exir::Node& node = graph.node(id);
  const exir::ValueId indices = node.outputs[1].values[0];
  const exir::Argument& dilation = node.argument("dilation");
  const auto is_one = [](const exir::Argument& d) { return d == exir::Argument(1); };
  const auto* list = dilation.get_if<exir::Argument::List>();
  const bool dense =
      list == nullptr ? is_one(dilation) : std::all_of(list->begin(), list->end(), is_one);
  return dense && graph.value(indices).users.empty() && !graph.IsOutput(indices);
}

// Whether the number of windows follows from the window and the paddings: no ceil_mode, or images
// of known size.
inline bool HasKnownWindows(const exir::Graph& graph, exir::NodeId id) {
  const exir::Node& node = graph.node(id);
  if (node.argument("ceil_mode") == exir::Argument(false)) return true;
  const exir::ValueId* input = node.value_argument("self");
  const exir::TensorMeta* images = input == nullptr ? nullptr : graph.value(*input).tensor();
  return node.argument("ceil_mode") == exir::Argument(true) && images != nullptr &&
         images->rank() == 4 && images->sizes[2].AsInt().has_value() &&
         images->sizes[3].AsInt().has_value();
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_MAX_POOL_H_
