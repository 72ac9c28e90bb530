#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LIFT_TO_IMAGES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LIFT_TO_IMAGES_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Convolutions [n, c, l] by a constant weight of float32 or bfloat16 become convolutions over
// images [n, c, 1, l], which lower_conv2d supports:
//
//   y = conv1d(x, w)  ->  y = squeeze(conv2d(unsqueeze(x, 2), unsqueeze(w, 2)), 2)
//
// The squeezing sinks through operators that keep positions (pointwise operators, batch and group
// norm, concatenation, slices, splits, zero padding, expansions, average pools, means and extremes
// over l), so that consecutive convolutions need no reshaping between them, and an unsqueeze of a squeeze is its
// operand. Transpositions [n, c, l] <-> [n, l, c] become permutations of the images. Top graph
// only; layouts stay as declared.
exir::Pass LiftToImages();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LIFT_TO_IMAGES_H_
