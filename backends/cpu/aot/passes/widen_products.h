#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_WIDEN_PRODUCTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_WIDEN_PRODUCTS_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Computes bfloat16 and float16 mm, addmm, bmm and convolution in float32: converts operands, each
// once, and rounds the result once. This matches PyTorch, which accumulates in float32.
//
// Convolution weights and float16 matmul weights become float32 constants. bfloat16 matmul weights
// stay, for belay_cpu::weight_only_linear. Top graph only. Runs after LowerLinear and LowerConv2d,
// which lower the bfloat16 operators that have kernels.
exir::Pass WidenProducts();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_WIDEN_PRODUCTS_H_
