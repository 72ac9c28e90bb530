#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZE_ROWS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZE_ROWS_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// For the compile spec precision=int8: weight_only_linear of integers without zero points, and with
// groups of whole blocks, quantizes the rows of prompts to int8.
//
//   weight_only_linear(format=int8)  ->  weight_only_linear(format=int8_by_int8)
//   weight_only_linear(format=int4)  ->  weight_only_linear(format=int4_by_int8)
//
// Top graph only. Runs after LowerLinear.
exir::Pass QuantizeRows();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZE_ROWS_H_
