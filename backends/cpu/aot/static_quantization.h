// Operators that the CPU backend computes on int8, for exir/quantize.
#ifndef BELAY_BACKENDS_CPU_AOT_STATIC_QUANTIZATION_H_
#define BELAY_BACKENDS_CPU_AOT_STATIC_QUANTIZATION_H_

#include "exir/backend/partitioner.h"

namespace belay::cpu {

// Returns the patterns that the passes lower to quantized operators:
//
//   anchors   matmuls; 2-D convolutions, depthwise or with one group
//   sums      two tensors of one shape, alpha = 1
//   movement  reshapes, permutations, slices, cat, max pools
//   tables    elementwise operators of one tensor (lower_lookup)
//
// Epilogues of matmuls and convolutions may return float32.
exir::QuantizationPatterns StaticQuantizationPatterns();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_STATIC_QUANTIZATION_H_
