// The pass pipeline from a functional ATen program to an edge program.
#ifndef BELAY_EXIR_PASSES_TO_EDGE_PASSES_H_
#define BELAY_EXIR_PASSES_TO_EDGE_PASSES_H_

#include <vector>

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// In the order of docs/edge-dialect.md §3. To add a pass, add a file and a line in
// to_edge_passes.cc. If `dim_order` is false, operators keep memory formats and there are no
// dim_order_ops.
std::vector<Pass> ToEdgePasses(bool dim_order = true);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_TO_EDGE_PASSES_H_
