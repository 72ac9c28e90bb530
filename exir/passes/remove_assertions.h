#ifndef BELAY_EXIR_PASSES_REMOVE_ASSERTIONS_H_
#define BELAY_EXIR_PASSES_REMOVE_ASSERTIONS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Erases `aten._assert_tensor_metadata`: what it asserts at run time, the types of an exported
// program state already. Source: docs/edge-dialect.md §3 row 1.
Pass RemoveAssertions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REMOVE_ASSERTIONS_H_
