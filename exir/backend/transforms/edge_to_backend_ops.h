// Converts edge operators to backend operators, after partitioning.
//
// Source: docs/lowering.md §5.9. Replaces all operators that have a backend overload, independent
// of earlier lookups in the registry (docs/lowering.md §7.26).
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_EDGE_TO_BACKEND_OPS_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_EDGE_TO_BACKEND_OPS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// In all graphs, Python functions on scalars (_operator.add, torch.sym_max, …) become
// executorch_prim operators. Overloads with a kernel in namespaces of backend operators become
// backend overloads. Operators without a backend operator in the registry are unchanged.
Pass EdgeToBackendOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_EDGE_TO_BACKEND_OPS_H_
