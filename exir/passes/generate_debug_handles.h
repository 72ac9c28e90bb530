#ifndef BELAY_EXIR_PASSES_GENERATE_DEBUG_HANDLES_H_
#define BELAY_EXIR_PASSES_GENERATE_DEBUG_HANDLES_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Numbers the nodes that have no debug handle: from 1 (or above the largest existing one), breadth
// first over the top graph and then the control-flow subgraphs. Nodes of one origin share a handle.
// Source: docs/lowering.md §4.1.
Pass GenerateDebugHandles();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_GENERATE_DEBUG_HANDLES_H_
