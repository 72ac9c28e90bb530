#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FLUSH_SUBNORMALS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FLUSH_SUBNORMALS_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Replaces subnormal elements by zeros of the same sign in contiguous float32 constants that are only
// added, subtracted and multiplied:
//
//   add(x, c)  ->  add(x, flushed c),  |flushed c - c| < 2^-126
//
// An addition of a subnormal number takes about 100 times as long as others on x86 CPUs. Softmax kernels
// compute no subnormal exponentials at run time for the same reason; folded ones have them. Division,
// comparison, logarithm and others are excluded, since a zero changes their results by more. Top graph
// only. O(nodes + bytes of these constants).
exir::Pass FlushSubnormals();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FLUSH_SUBNORMALS_H_
