// Gives each user of a dequantized value its own dequantize node, so that each partition can
// include one.
//
// Source: docs/lowering.md row 54.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_DUPLICATE_DEQUANTIZE_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_DUPLICATE_DEQUANTIZE_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// The first user keeps the node; each other user gets a copy directly after it, also if the use is
// inside a list. If the value is a graph output, the output keeps the original node.
Pass DuplicateDequantize();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_DUPLICATE_DEQUANTIZE_H_
