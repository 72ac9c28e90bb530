// Nodes that copy a tensor to another layout.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LAYOUT_COPY_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LAYOUT_COPY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "exir/ir/graph_editor.h"
#include "runtime/core/sizes.h"

namespace belay::cpu {

// Returns a node that copies `value` to this dimension order by `copy`, the edge overload of
// dim_order_ops::_to_dim_order_copy.
inline exir::GraphEditor::NewNode LayoutCopy(std::string name, const exir::OpOverload* copy,
                                             exir::ValueId value, const DimOrder& order) {
  exir::Argument::List dims;
  for (uint8_t d : order) dims.emplace_back(int64_t{d});
  return {.name = std::move(name),
          .target = copy,
          .arguments = exir::ArgumentsByName(*copy->schema(),
                                             {{"self", value}, {"dim_order", std::move(dims)}})};
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LAYOUT_COPY_H_
