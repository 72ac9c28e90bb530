// Gives each user of a dequantized value a dequantize node of its own, so that partitions can each
// take theirs along.
//
// Source: docs/lowering.md row 54.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_DUPLICATE_DEQUANTIZE_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_DUPLICATE_DEQUANTIZE_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// The first user keeps the node; each further one gets a copy right behind it, also where it uses
// the value inside a list. A value that is returned keeps the node for that.
Pass DuplicateDequantize();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_DUPLICATE_DEQUANTIZE_H_
