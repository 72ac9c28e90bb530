#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_NARROW_PRODUCTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_NARROW_PRODUCTS_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// For the compile spec precision=bfloat16: computes float32 mm, addmm and convolution with constant
// weights in bfloat16, where bfloat16_linear, bfloat16_conv2d, bfloat16_depthwise_conv2d or
// bfloat16_convolution supports them.
//
// Weights and biases are rounded at compile time, inputs at run time, each once. Accumulators are
// float32 and rounded to bfloat16. Users that need float32 get a conversion.
//
// Pointwise operators, max and mean pools, resizing and concatenations stay bfloat16 if all their
// inputs are such results, as under PyTorch's autocast. Activations in decomposed form
// (activation_forms.h) are rounded once. Softmax, norms, attention and sums with float32 operands
// stay float32. Top graph only. Runs before LowerLinear and LowerConv2d.
exir::Pass NarrowProducts();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_NARROW_PRODUCTS_H_
