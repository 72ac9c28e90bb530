#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LINEAR_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LINEAR_H_

#include "backends/cpu/aot/decisions.h"
#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// mm, addmm and bmm whose right side is a constant matrix, in any form that ConstantViews sees
// through, become belay_cpu::linear with that matrix packed; a batch of the same matrix is one. Where
// the left side is a reshape to rows and the result is reshaped back, both reshapes go. Constants
// that nothing reads any more go.
//
// Of bfloat16 they become belay_cpu::bfloat16_linear (backends/cpu/bfloat16_calls.h), if k is even and
// the bias a constant row; WidenProducts takes those that are left.
//
// A matrix that is made of int8 or bfloat16 (WeightOnlyForms) is packed as that, for
// belay_cpu::weight_only_linear; where both sides are dequantized, as QuantizedForms has it, the
// product becomes belay_cpu::quantized_linear, or belay_cpu::dynamic_quantized_linear if the input was
// quantized by numbers that are known at run time alone. A reshape to rows comes behind the latter.
//
// Left as they are: other dtypes, a left side that is dequantized otherwise, sides
// without elements in k or n, and addmm with alpha or beta other than 1 or a bias that is not a
// row. Top graph only. `handles` and `decisions`, null for nobody who asks, must outlive the pass.
exir::Pass LowerLinear(FusedHandles& handles, Decisions* decisions = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LINEAR_H_
