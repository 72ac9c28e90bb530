#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// A transposed convolution of stride s is s * s convolutions, one for each phase of the result. With
// few filters, most of each vector of filters would be empty. One convolution computes the phases as
// channels instead (a sub-pixel convolution: Shi et al., "Is the deconvolution layer the same as a
// convolutional layer?", 2016):
//
//   convolution(x, W [c,f,k,k], b, [s,s], [p,p], [1,1], transposed)
//     ->  pixel_shuffle(convolution(x, W' [f*s*s,c,K,K], b', [1,1], [P,P], [1,1]), s)
//
//   P = floor((s - 1 + p) / s), K = 2 P + 1
//   W'[f*s*s + r_y*s + r_x, c, j_y, j_x] = W[c, f, r_y + p - s (j_y - P), r_x + p - s (j_x - P)],
//   0 outside of W
//
// Conditions: float32; constant, finite weights; one group; a result of s times the size of the
// images (k + output_padding - 2 p = s); the same padding P before and after an image; and fewer
// multiply-adds, counted in vectors of 16 filters. A result next to an infinite pixel may be NaN, as
// in winograd_conv2d.
exir::Pass ShuffleTransposedConv2d();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SHUFFLE_TRANSPOSED_CONV2D_H_
