#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// A transposed convolution of stride s is s * s convolutions, one for each phase of the result.
// With few filters, most of each vector of filters would be empty. One convolution computes the
// phases as channels instead (exir/passes/phase_convolution.h).
//
// Conditions: float32; constant, finite weights; a stride of 2 to 8; no slice; and fewer
// multiply-adds, counted in vectors of 16 filters. A result next to an infinite pixel may be NaN,
// as in winograd_conv2d.
exir::Pass ShuffleTransposedConv2d();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_
