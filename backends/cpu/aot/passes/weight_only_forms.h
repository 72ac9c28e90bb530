// Matches constant matrices of few bits together with the nodes that convert them to float32.
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

// Matches patterns in the top graph of a program, which may change meanwhile except for its
// constants.
class WeightOnlyForms {
 public:
  // All must outlive this.
  WeightOnlyForms(const exir::ExportedProgram& program, const ConstantViews& views,
                  const QuantizedForms& quantized);

  // Matches a float32 matrix computed from an int8 constant, or a view of one, by
  //
  //   dequantize_per_tensor, with literals
  //   dequantize_per_channel, over columns
  //   dequantize_per_channel_group, transposed, in groups of a multiple of 8 rows or of all rows
  //   a conversion to float32, optionally times a constant with one scale, or one per column
  //
  // or from a bfloat16 constant by conversion. Transpositions may follow each of these. Integers
  // from -8 to 7 select int4; only the constant decides, since a node's declared range does not
  // clamp. Scales may be negative. nullopt for anything else, including scales whose magnitude
  // IsUsualScale rejects and zero points that are not finite.
  std::optional<WeightOnlyForm> Find(const exir::Argument& argument) const;

 private:
  // `transposed`: the matrix is the transpose of the node's result.
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
