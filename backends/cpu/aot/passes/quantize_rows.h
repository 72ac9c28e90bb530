#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZE_ROWS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZE_ROWS_H_

#include <cstdint>

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

enum class RowQuantization : uint8_t {
  // Layers with an unknown number of rows (prompts) or at least kBlockGemmRows rows (batches of
  // sessions): to int8 after a norm, otherwise to int16.
  kManyRows,
  kInt8,  // all layers: to int8
};

// weight_only_linear of integers without zero points, and with groups of whole blocks, quantizes
// many rows of its input in blocks of 32 (runtime/kernels/packed/block_gemm.h):
//
//   weight_only_linear(rms_norm(x), format=int8)  ->  weight_only_linear(…, format=int8_by_int8)
//   weight_only_linear(x, format=int4)            ->  weight_only_linear(…, format=int4_by_int16)
//
// Norms scale a row to similar magnitudes. Other inputs, such as gated activations, have elements
// that exceed their neighbors by orders of magnitude, which leaves few of 8 bits to the neighbors.
// Top graph only. Runs after FuseRmsNorm.
exir::Pass QuantizeRows(RowQuantization quantization);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZE_ROWS_H_
