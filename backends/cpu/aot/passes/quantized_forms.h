// Quantized tensors as programs have them: behind quantize and dequantize nodes.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_FORMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_FORMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/exported_program.h"

namespace belay::cpu {

// What a node quantizes to, or dequantizes from.
struct QuantizedForm {
  exir::ValueId input;  // of the node
  double scale = 1;
  int64_t zero_point = 0, quant_min = 0, quant_max = 0;
  DType dtype = DType::kUint8;

  // Whether both mean the same reals by the same bytes.
  bool IsLike(const QuantizedForm& other) const {
    return scale == other.scale && zero_point == other.zero_point && dtype == other.dtype;
  }
  // Whether the operators of backends/cpu/quantized_calls.h can be given it: uint8, and the zero
  // point in the range.
  bool IsCallable() const {
    return dtype == DType::kUint8 && 0 <= quant_min && quant_min <= zero_point &&
           zero_point <= quant_max && quant_max <= 255;
  }
  // What `real` is quantized to, as quantize_per_tensor computes it. Precondition: not NaN.
  int64_t Quantized(float real) const;
  // [zero_point, quant_min, quant_max] as calls have it.
  exir::Argument::List Range() const { return {zero_point, quant_min, quant_max}; }
};

// How a dequantize node makes float32 of its input.
struct DequantizeParameters {
  exir::Argument input;
  std::vector<double> scales =
      {};  // one, one for each place of `axis`, or [rows, groups] row by row
  std::vector<double> zeros = {};  // likewise; none where all are 0
  std::optional<int> axis = {};    // per channel
  int64_t group_size = 0;          // per channel and group: of the last dimension's places
};

// A scale from 2^-100 to 2^100: then no product of a number of 8 bits overflows or becomes
// subnormal, and quantizing what was dequantized gives it back.
bool IsUsualScale(double scale);

// A constant int8 tensor, dequantized with zero points 0 by one scale or one for each place of a
// dimension.
struct QuantizedConstant {
  ConstantView elements;
  std::vector<float> scales;  // one, or one for each place of `axis`
  std::optional<int> axis;    // nullopt: one scale

  // Whether each scale times this one is usual, too: sums of products are scaled by that.
  bool HasUsualProducts(double scale) const;
};

// A tensor of int8 or uint8 that is dynamically quantized: by numbers that the program computes.
struct DynamicForm {
  exir::ValueId input;  // of the node that dequantizes it: [..., k]
  // Of float32 or float64, and of int8, int32 or int64: [..., 1], or one element.
  exir::ValueId scales, zero_points;
};

// Recognizes forms in the top graph of a program, which may change meanwhile but for its constants.
class QuantizedForms {
 public:
  // Both must outlive this.
  QuantizedForms(const exir::ExportedProgram& program, const ConstantViews& views);

  // quantize_per_tensor of a float32 tensor, and dequantize_per_tensor to one, by numbers that are
  // literals; int8 or uint8, a zero point that these have, and a usual scale. nullopt for all else.
  std::optional<QuantizedForm> Quantize(exir::NodeId node) const;
  std::optional<QuantizedForm> Dequantize(exir::NodeId node) const;

  // Of dequantize_per_tensor by literals, and of dequantize_per_channel and
  // dequantize_per_channel_group by constants; float32 all. nullopt for all else. Zero points may be
  // converted to int64 before, as they are where torchao's were decomposed.
  std::optional<DequantizeParameters> ParametersOf(exir::NodeId node) const;

  // Of the node that gives the argument.
  std::optional<QuantizedForm> Dequantized(const exir::Argument& argument) const;
  // The same, of uint8 alone: an operand of the operators of backends/cpu/quantized_calls.h.
  std::optional<QuantizedForm> DequantizedBytes(const exir::Argument& argument) const;

  // What dequantize_per_tensor.tensor or dequantize_per_token makes float32. nullopt for all else.
  std::optional<DynamicForm> DequantizedDynamically(const exir::Argument& argument) const;

  // dequantize_per_tensor or dequantize_per_channel, with usual scales and zero points 0, of an int8
  // constant or of a view of one.
  std::optional<QuantizedConstant> Constant(const exir::Argument& argument) const;

  // The same of an int32 constant of one dimension: what it is dequantized to.
  std::optional<std::vector<float>> DequantizedVector(const exir::Argument& argument) const;

  bool IsDequantizePerChannel(exir::NodeId node) const;

 private:
  // Of the node that gives the argument, as Constant wants it.
  std::optional<DequantizeParameters> SymmetricParametersOf(const exir::Argument& argument) const;
  std::optional<QuantizedForm> FormOf(exir::NodeId node, const exir::OpOverload* op) const;
  std::optional<std::vector<double>> ElementsOf(const exir::Argument& argument,
                                                DTypeSet types) const;
  std::optional<std::vector<double>> ZeroPointsOf(const exir::Argument& argument) const;

  const exir::ExportedProgram& program_;
  const ConstantViews& views_;
  const exir::OpOverload *quantize_, *dequantize_, *dequantize_channels_, *dequantize_groups_,
      *dequantize_by_tensors_, *dequantize_tokens_, *convert_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_QUANTIZED_FORMS_H_
