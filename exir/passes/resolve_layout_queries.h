#ifndef BELAY_EXIR_PASSES_RESOLVE_LAYOUT_QUERIES_H_
#define BELAY_EXIR_PASSES_RESOLVE_LAYOUT_QUERIES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Replaces sym_storage_offset, sym_stride and sym_is_contiguous by their values: literals, or
// arithmetic on sizes. These operators query the layout of PyTorch's views. In an edge program
// views are copies, so this pass must run before ReplaceViewOps.
//   errors of the meta kernel; kUnimplemented if a size in the result cannot be computed
Pass ResolveLayoutQueries();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_RESOLVE_LAYOUT_QUERIES_H_
