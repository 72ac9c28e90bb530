// Arguments that quantized matmuls and convolutions share.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_ARGUMENTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_ARGUMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "exir/ir/argument.h"

namespace belay::cpu {

// Returns input, weight, scales, weight_sums and bias of a call on the tensor that `input`
// dequantizes. `packed` is the packed weight; its dimension `channels` becomes the result's
// channels. Adds constants. Precondition: the weight has one scale, or one per channel.
absl::StatusOr<std::vector<exir::Argument>> QuantizedOperands(
    const QuantizedForm& input, const QuantizedConstant& weight, exir::ValueId packed, int channels,
    const exir::Argument& bias, const QuantizedForms& forms, PackedConstants& constants);

// Appends input_zero_point and an epilogue that only scales.
void AppendEmptyEpilogue(std::vector<exir::Argument>& arguments, const QuantizedForm& input);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_ARGUMENTS_H_
