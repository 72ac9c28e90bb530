#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_WIDEN_PRODUCTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_WIDEN_PRODUCTS_H_

#include "exir/pass/pass.h"

namespace belay::cpu {

// mm, addmm, bmm and convolution of bfloat16 or float16 compute in float32: their operands are made
// that before them, each once, and their results what they were behind them, rounded once, as in
// PyTorch, which sums in float32. Weights of convolutions, and float16 ones of products, become float32
// constants; bfloat16 ones of products stay, for belay_cpu::weight_only_linear. Top graph only. Comes
// behind LowerLinear and LowerConv2d, which take those of bfloat16 that have kernels of their own.
exir::Pass WidenProducts();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_WIDEN_PRODUCTS_H_
