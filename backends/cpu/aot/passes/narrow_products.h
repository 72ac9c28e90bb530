#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_NARROW_PRODUCTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_NARROW_PRODUCTS_H_

#include "exir/pass/pass.h"

namespace belay::cpu {

// For the compile spec precision=bfloat16: mm, addmm and convolution of float32 with constant
// weights, where bfloat16_linear and bfloat16_conv2d have kernels for them, compute in bfloat16.
// Their operands are rounded to it, weights and biases now and inputs before them, each once; sums
// are of float32 and rounded to bfloat16, and what needs float32 gets it back behind them. What
// works element by element, takes maxima or means by windows, or joins, of nothing but such results
// stays bfloat16, as under PyTorch's autocast; softmax, norms, attention and sums with what is
// float32 do not. Top graph only. Comes before LowerLinear and LowerConv2d.
exir::Pass NarrowProducts();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_NARROW_PRODUCTS_H_
