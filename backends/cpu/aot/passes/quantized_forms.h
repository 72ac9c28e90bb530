// Matches quantize and dequantize nodes.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_FORMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_FORMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/exported_program.h"

namespace belay::cpu {

// Quantization parameters of a quantize or dequantize node.
struct QuantizedForm {
  exir::ValueId input;  // of the node
  double scale = 1;
  int64_t zero_point = 0, quant_min = 0, quant_max = 0;
  DType dtype = DType::kUint8;

  // Whether the same bytes represent the same reals.
  bool IsLike(const QuantizedForm& other) const {
    return scale == other.scale && zero_point == other.zero_point && dtype == other.dtype;
  }
  // Whether the operators of backends/cpu/quantized_calls.h support it: uint8, and the zero point
  // is within the range.
  bool IsCallable() const {
    return dtype == DType::kUint8 && 0 <= quant_min && quant_min <= zero_point &&
           zero_point <= quant_max && quant_max <= 255;
  }
  // Quantizes `real` as quantize_per_tensor does. Precondition: not NaN.
  int64_t Quantized(float real) const;
  // [zero_point, quant_min, quant_max], an argument of calls.
  exir::Argument::List Range() const { return {zero_point, quant_min, quant_max}; }
};

// Parameters with which a dequantize node converts its input to float32.
struct DequantizeParameters {
  exir::Argument input;
  std::vector<double> scales = {};  // one, one per index of `axis`, or [rows, groups] row-major
  std::vector<double> zeros = {};   // likewise; empty if all are 0
  std::optional<int> axis = {};     // per channel
  int64_t group_size = 0;           // per channel and group: elements of the last dimension
};

// Whether the scale is from 2^-100 to 2^100. Then products with 8-bit values neither overflow nor
// become subnormal, and quantizing a dequantized value restores it.
bool IsUsualScale(double scale);

// An int8 constant, dequantized with zero points 0 and one scale or one per index of a dimension.
struct QuantizedConstant {
  ConstantView elements;
  std::vector<float> scales;  // one, or one per index of `axis`
  std::optional<int> axis;    // nullopt: one scale

  // Whether each scale times `scale`, the factor of accumulated sums, is usual as well.
  bool HasUsualProducts(double scale) const;
};

// A dynamically quantized int8 or uint8 tensor: the program computes scale and zero point.
struct DynamicForm {
  exir::ValueId input;  // of the node that dequantizes it: [..., k]
  // Scales of float32 or float64, zero points of int8, int32 or int64: [..., 1], or one element.
  exir::ValueId scales, zero_points;
};

// Matches patterns in the top graph of a program, which may change meanwhile except for its
// constants.
class QuantizedForms {
 public:
  // Both must outlive this.
  QuantizedForms(const exir::ExportedProgram& program, const ConstantViews& views);

  // Match quantize_per_tensor of a float32 tensor and dequantize_per_tensor to one, with literal
  // parameters: int8 or uint8, a zero point in that range, and a usual scale. nullopt for all else.
  std::optional<QuantizedForm> Quantize(exir::NodeId node) const;
  std::optional<QuantizedForm> Dequantize(exir::NodeId node) const;

  // Matches dequantize_per_tensor with literals, and dequantize_per_channel,
  // dequantize_per_channel_group and dequantize_per_token with constants, all to float32. nullopt
  // for all else. Zero points may be converted to int64 first, as in decomposed torchao operators.
  std::optional<DequantizeParameters> ParametersOf(exir::NodeId node) const;

  // Dequantize() of the node that produces the argument.
  std::optional<QuantizedForm> Dequantized(const exir::Argument& argument) const;
  // The same for uint8 only: operands of the operators of backends/cpu/quantized_calls.h.
  std::optional<QuantizedForm> DequantizedBytes(const exir::Argument& argument) const;

  // Matches dequantize_per_tensor.tensor and dequantize_per_token to float32. nullopt for all else.
  std::optional<DynamicForm> DequantizedDynamically(const exir::Argument& argument) const;

  // Returns the float32 tensor [..., k] that quantize_per_token quantizes to form.input, with the
  // parameters that choose_qparams_per_token_asymmetric computes of it. nullopt for other forms.
  std::optional<exir::ValueId> QuantizedTokens(const DynamicForm& form) const;

  // Matches dequantize_per_tensor or dequantize_per_channel, with usual scales and zero points 0,
  // of an int8 constant or a view of one.
  std::optional<QuantizedConstant> Constant(const exir::Argument& argument) const;

  // Dequantizes an int32 constant of one dimension that matches the same way.
  std::optional<std::vector<float>> DequantizedVector(const exir::Argument& argument) const;

  bool IsDequantizePerChannel(exir::NodeId node) const;

 private:
  // Parameters of the node that produces the argument, as Constant() requires them.
  std::optional<DequantizeParameters> SymmetricParametersOf(const exir::Argument& argument) const;
  std::optional<QuantizedForm> FormOf(exir::NodeId node, const exir::OpOverload* op) const;
  std::optional<std::vector<double>> ElementsOf(const exir::Argument& argument,
                                                DTypeSet types) const;
  std::optional<std::vector<double>> ZeroPointsOf(const exir::Argument& argument) const;

  const exir::ExportedProgram& program_;
  const ConstantViews& views_;
  const exir::OpOverload *quantize_, *dequantize_, *dequantize_channels_, *dequantize_groups_,
      *dequantize_by_tensors_, *dequantize_tokens_, *quantize_tokens_, *choose_tokens_, *convert_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_FORMS_H_
