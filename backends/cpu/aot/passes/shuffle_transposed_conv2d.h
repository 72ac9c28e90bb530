#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// A transposed convolution of stride s with few filters computes s * s phases, each with vectors that
// are mostly empty. One convolution computes them as channels instead:
//
//   convolution(x, W [c,f,k,k], b, [s,s], [p,p], [1,1], transposed)
//     ->  pixel_shuffle(convolution(x, W' [f*s*s,c,K,K], b', [1,1], [P,P], [1,1]), s)
//
//   P = floor((s - 1 + p) / s), K = 2 P + 1
//   W'[f*s*s + r_y*s + r_x, c, j_y, j_x] = W[c, f, r_y + p - s (j_y - P), r_x + p - s (j_x - P)],
//   0 outside of W
//
// For float32, constant finite weights, one group, results of s times the size of the images
// (k + output_padding - 2 p = s), windows that begin as far before a pixel as they end after it, and
// fewer multiply-adds by vectors of 16. A result next to an infinite pixel may be NaN, as in
// winograd_conv2d.
exir::Pass ShuffleTransposedConv2d();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_
