// Constant matrices of few bits as programs have them: behind what makes floats of them.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_WEIGHT_ONLY_FORMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_WEIGHT_ONLY_FORMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/aot/passes/quantized_forms.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {

// A matrix [k, n] of elements (q - zero) * scale, or of bfloat16.
struct WeightOnlyForm {
  ConstantView elements;  // [k, n], static, of int8 or bfloat16
  WeightFormat format = WeightFormat::kInt8;
  int64_t group = 0;          // rows that share scales; 0 for bfloat16
  std::vector<float> scales;  // [groups, n]; none for bfloat16
  std::vector<float> zeros;   // likewise, if one is not 0
};

// Recognizes them in the top graph of a program, which may change meanwhile but for its constants.
class WeightOnlyForms {
 public:
  // All must outlive this.
  WeightOnlyForms(const exir::ExportedProgram& program, const ConstantViews& views,
                  const QuantizedForms& quantized);

  // Of a float32 matrix that a node makes of an int8 constant, or of a view of one:
  //
  //   dequantize_per_tensor, by literals
  //   dequantize_per_channel, of columns
  //   dequantize_per_channel_group, transposed, in groups of a multiple of 8 or of all rows
  //   a conversion to float32, alone or times a constant that has one scale, or one for each column
  //
  // or of a bfloat16 constant by conversion; all of that also behind transpositions. Integers that
  // all are from -8 to 7 make int4: the constant decides, since a node's range clamps nothing.
  // nullopt for anything else, among it unusual scales and zero points that are no integers from -128
  // to 127.
  std::optional<WeightOnlyForm> Find(const exir::Argument& argument) const;

 private:
  // `transposed`: the matrix is that of the node transposed.
  std::optional<DequantizeParameters> ParametersOf(exir::NodeId node, bool transposed) const;
  std::optional<DequantizeParameters> ProductParameters(const exir::Node& node,
                                                        bool transposed) const;
  std::optional<exir::NodeId> Producer(const exir::Argument& argument) const;

  const exir::ExportedProgram& program_;
  const ConstantViews& views_;
  const QuantizedForms& quantized_;
  const exir::OpOverload *convert_, *mul_, *permute_, *transpose_, *t_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_WEIGHT_ONLY_FORMS_H_
