#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FLUSH_SUBNORMALS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FLUSH_SUBNORMALS_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Replaces subnormal elements by zeros of the same sign in contiguous float32 constants that are only
// added and subtracted:
//
//   add(x, c)  ->  add(x, flushed c),  |flushed c - c| < 2^-126
//
// An addition of a subnormal number takes about 100 times as long as others on x86 CPUs. Softmax kernels
// compute no subnormal exponentials at run time for the same reason; folded ones have them. Other
// operators are excluded, since a zero may change their results by more (x * c for a large x). Top graph
// only. O(nodes + bytes of these constants).
exir::Pass FlushSubnormals();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FLUSH_SUBNORMALS_H_
