// The arguments that quantized products and convolutions have in common.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_ARGUMENTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_ARGUMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/aot/passes/packed_constants.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "exir/ir/argument.h"

namespace belay::cpu {

// input, weight, scales, weight_sums and bias: of what `input` dequantizes with a weight, packed
// already, whose dimension `channels` gives the result's. Adds constants. Precondition: the weight
// has one scale, or one for each channel.
absl::StatusOr<std::vector<exir::Argument>> QuantizedOperands(
    const QuantizedForm& input, const QuantizedConstant& weight, exir::ValueId packed, int channels,
    const exir::Argument& bias, const QuantizedForms& forms, PackedConstants& constants);

// input_zero_point and what follows: an epilogue that does nothing but scale.
void AppendEmptyEpilogue(std::vector<exir::Argument>& arguments, const QuantizedForm& input);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_ARGUMENTS_H_
