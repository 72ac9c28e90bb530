#include "backends/cpu/aot/passes/quantized_arguments.h"

#include <limits>

#include "runtime/core/status_macros.h"

namespace belay::cpu {

using exir::Argument;

absl::StatusOr<std::vector<Argument>> QuantizedOperands(
    const QuantizedForm& input, const QuantizedConstant& weight, exir::ValueId packed, int channels,
    const Argument& bias, const QuantizedForms& forms, PackedConstants& constants) {
  const auto count = static_cast<size_t>(*weight.elements.sizes[channels].AsInt());
  const double input_scale = static_cast<float>(input.scale);
  std::vector<float> scales(count);
  for (size_t i = 0; i < count; ++i) {
    scales[i] = static_cast<float>(input_scale * weight.scales[weight.scales.size() == 1 ? 0 : i]);
  }
  ABSL_ASSIGN_OR_RETURN(const exir::ValueId products,
                        constants.Floats(weight.elements, "scales", scales));
  ABSL_ASSIGN_OR_RETURN(const exir::ValueId sums, constants.Sums(weight.elements, channels));
  std::vector<Argument> arguments = {input.input, packed, products, sums, bias};
  if (const auto reals = forms.DequantizedVector(bias)) {
    ABSL_ASSIGN_OR_RETURN(arguments.back(), constants.Floats(weight.elements, "bias", *reals));
  }
  return arguments;
}

void AppendEmptyEpilogue(std::vector<Argument>& arguments, const QuantizedForm& input) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  arguments.insert(arguments.end(), {input.zero_point, "none", -kInfinity, kInfinity, Argument(),
                                     Argument::List(), Argument(), Argument::List()});
}

}  // namespace belay::cpu
