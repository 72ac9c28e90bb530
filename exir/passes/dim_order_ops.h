#ifndef BELAY_EXIR_PASSES_DIM_ORDER_OPS_H_
#define BELAY_EXIR_PASSES_DIM_ORDER_OPS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Replaces operators with a memory format argument (`_to_copy`, `clone`, `empty.memory_format`) by
// those of `dim_order_ops`, which have a dim order instead. Preserve means the input's order.
// Source: docs/edge-dialect.md §3 row 13.
Pass ReplaceMemoryFormatOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_DIM_ORDER_OPS_H_
