#ifndef BELAY_EXIR_PASSES_RESOLVE_LAYOUT_QUERIES_H_
#define BELAY_EXIR_PASSES_RESOLVE_LAYOUT_QUERIES_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Replaces sym_storage_offset, sym_stride and sym_is_contiguous by their values: numbers, or
// arithmetic on sizes. They ask for the layout that PyTorch's views have; in an edge program views
// are copies, so later the answer would be another one. Comes before ReplaceViewOps.
//   what the meta kernel returns; kUnimplemented when a size in the answer can't be computed
Pass ResolveLayoutQueries();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_RESOLVE_LAYOUT_QUERIES_H_
