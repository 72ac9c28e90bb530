// Input and result of QuantizePrograms (exir/quantize/quantize_program.h).
#ifndef BELAY_EXIR_QUANTIZE_QUANTIZED_PROGRAM_H_
#define BELAY_EXIR_QUANTIZE_QUANTIZED_PROGRAM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/distribution.h"
#include "exir/quantize/node_loss.h"
#include "exir/quantize/output_loss.h"

namespace belay::exir {

// A method of a file.
struct ProgramToQuantize {
  const ExportedProgram* program = nullptr;
  std::string method = {};  // for messages; "" for none
  // Operators that the backend computes on integers (Partitioner::StaticQuantization).
  QuantizationPatterns patterns = {};
  // Needed if the recipe quantizes an operator statically, with error feedback or activation scaling,
  // and to measure the loss. Null for none.
  CalibrationData* calibration = nullptr;
};

// An operator whose weight is quantized.
struct QuantizedNode {
  std::string node, op, module, source;
  std::string weight;       // fully qualified name
  std::string scheme;       // Scheme::ToString()
  std::string shares_with;  // an earlier node with the same quantized weight; "" if none
  QuantizationLoss loss;    // of the weight
  uint64_t bytes_before = 0, bytes_after = 0;  // of the weight, packed; 0 if it is shared
  bool corrects_bias = false;                  // whether the bias has the mean error of the weight
  bool error_feedback = false;     // whether the weight is quantized with error feedback
  Distribution distribution = {};  // of the weight; empty if it is shared, and for bfloat16
};
// An operator that the recipe selects and that stays in float32.
struct UnquantizedNode {
  std::string node, op, module, source, reason;
};

// An activation that is quantized statically.
struct QuantizedTensor {
  std::string value;        // its name in the program
  float low = 0, high = 0;  // range of the calibration data that is represented
  AffineParameters parameters;
  // Of the calibration data: of all activations with the same parameters. `after` is empty. Empty
  // for observers without a histogram.
  Distribution distribution = {};
  // Likewise, by that histogram; without elements for these observers.
  QuantizationLoss loss = {};
};

// Loss of a method's program over its calibration data (QuantizeOptions::max_loss). nullopt for a
// method without operators that the recipe quantizes.
struct LossMeasurement {
  LossMetric metric = LossMetric::kSnr;
  std::optional<double> all_quantized;  // with all operators quantized
  std::optional<double> loss;           // of the result
  // By node: with only the operators quantized that share its weight. The worst of all methods.
  // Empty if the bound holds with all operators quantized.
  std::map<std::string, double> individual = {};
};

struct QuantizeResult {
  ExportedProgram program;
  std::vector<QuantizedNode> quantized;      // in execution order
  std::vector<UnquantizedNode> unquantized;  // likewise
  std::vector<QuantizedTensor> activations;  // in the order of their definitions
  // One line each: rules that match no operator, weights that are stored in several formats, and the
  // number of activations whose channels are scaled.
  std::vector<std::string> notes;
  std::optional<LossMeasurement> measured = {};  // with QuantizeOptions::max_loss
  std::optional<NodeLosses> node_losses = {};    // with QuantizeOptions::node_losses
  // Results that another node computes than in the float32 program, by that program's value.
  std::map<ValueId, ValueId> replaced = {};
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_QUANTIZED_PROGRAM_H_
