#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LINEAR_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LINEAR_H_

#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/pass_diagnostics.h"
#include "backends/cpu/aot/tied_tables.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Lowers mm, addmm and bmm with a constant right-hand matrix, or any view of one that ConstantViews
// supports:
//
//   float32                              ->  belay_cpu::linear
//   bfloat16, even k, constant bias row  ->  belay_cpu::bfloat16_linear (bfloat16_calls.h)
//   weight of int8 or bfloat16           ->  belay_cpu::weight_only_linear (WeightOnlyForms)
//   both sides dequantized               ->  belay_cpu::quantized_linear (QuantizedForms)
//   input quantized by run-time scalars  ->  belay_cpu::dynamic_quantized_linear
//
// A replaceable matrix of float32 or bfloat16 is packed when the delegate is initialized
// (packed_parameter.h).
//
// The matrix is packed in its format. A batch of the same matrix counts as one matrix. If the left
// side is a reshape to rows and the result is reshaped back, both reshapes are removed; with
// dynamic_quantized_linear the reshape to rows moves after the operator. Constants that are no
// longer used are erased. WidenProducts handles the remaining bfloat16 matmuls.
//
// Not lowered: other dtypes, a left side that is dequantized in another way, empty k or n, addmm
// with alpha or beta other than 1 or with a bias that is not a row. Top graph only. `handles` must
// outlive the pass; so must `diagnostics` and `tables`, which may be null. `tables` receives the
// layouts of packed matrices.
exir::Pass LowerLinear(FusedHandles& handles, PassDiagnostics* diagnostics = nullptr,
                       TiedTables* tables = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LINEAR_H_
