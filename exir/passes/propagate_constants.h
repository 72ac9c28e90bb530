#ifndef BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_
#define BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_

#include <cstdint>

#include "exir/pass/pass.h"

namespace belay::exir {

struct PropagateConstantsOptions {
  // By how much the program's constants may grow, all together; what goes because nothing reads it
  // any more counts against what comes.
  uint64_t max_growth_bytes = uint64_t{1} << 20;
  // Of one result, also of those that only other constants are computed from.
  uint64_t max_tensor_bytes = uint64_t{1} << 30;
};

// Computes now, with the reference kernels, what depends on nothing but parameters, buffers and
// constants, and makes it a constant "_prop_tensor_constant<N>"; constants that nothing reads any
// more go. Only in the top graph.
//
// Not constant: what the program mutates, or shares its storage; parameters and buffers whose
// gradients it returns, which somebody trains. Not computed: random operators, those with effects
// or with sizes that data decide, results that are returned, fills and the like, which are smaller
// as nodes, and dequantizations, which would undo what quantization saved. A call that fails is
// left for the runtime to fail. Source: docs/edge-dialect.md §6 row 1.
Pass PropagateConstants(PropagateConstantsOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PROPAGATE_CONSTANTS_H_
