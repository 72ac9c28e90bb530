// Operators that change sizes only.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_RESHAPES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_RESHAPES_H_

#include <string_view>

#include "exir/ir/graph.h"

namespace belay::cpu {

// Whether the node returns the elements of its operand in row-major order, with other sizes. Not
// view_copy.dtype, which reinterprets them.
inline bool IsReshape(const exir::Node& node) {
  const std::string_view op = node.target->op();
  return node.target->ns() == "aten" && node.target->overload() != "dtype" &&
         (op == "view_copy" || op == "squeeze_copy" || op == "unsqueeze_copy");
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_RESHAPES_H_
