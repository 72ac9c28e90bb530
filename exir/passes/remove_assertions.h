#ifndef BELAY_EXIR_PASSES_REMOVE_ASSERTIONS_H_
#define BELAY_EXIR_PASSES_REMOVE_ASSERTIONS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Erases `aten._assert_tensor_metadata`: the types of an exported program already state what it
// asserts. Source: docs/edge-dialect.md §3 row 1.
Pass RemoveAssertions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REMOVE_ASSERTIONS_H_
