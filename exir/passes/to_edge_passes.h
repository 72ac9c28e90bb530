// The list of passes that make an edge program of a functional ATen program.
#ifndef BELAY_EXIR_PASSES_TO_EDGE_PASSES_H_
#define BELAY_EXIR_PASSES_TO_EDGE_PASSES_H_

#include <vector>

#include "exir/pass/pass.h"

namespace belay::exir {

// In the order of docs/edge-dialect.md §3. A new pass is a file of its own and a line in
// to_edge_passes.cc. Without `dim_order`, operators keep memory formats and there are no
// dim_order_ops.
std::vector<Pass> ToEdgePasses(bool dim_order = true);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_TO_EDGE_PASSES_H_
