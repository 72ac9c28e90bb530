// Edge operators → backend operators, for after partitioning.
//
// Source: docs/lowering.md §5.9. Which operators are replaced does not depend on what was looked up
// before (docs/lowering.md §7.26): it is those that have a backend overload, all of them.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_EDGE_TO_BACKEND_OPS_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_EDGE_TO_BACKEND_OPS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// In all graphs: Python functions on scalars (_operator.add, torch.sym_max, …) become
// executorch_prim operators, and overloads of namespaces of backend operators that have a kernel
// become backend overloads. What the registry has no backend operator for stays as it is.
Pass EdgeToBackendOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_EDGE_TO_BACKEND_OPS_H_
