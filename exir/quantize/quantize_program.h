// Quantizes an edge program: afterwards quantization is explicit in its nodes.
//
//   ABSL_ASSIGN_OR_RETURN(Recipe recipe, RecipeByName("8da4w"));
//   ABSL_ASSIGN_OR_RETURN(QuantizeResult result, QuantizeProgram(program, recipe));
//   // result.program lowers like one that PT2E or torchao quantized before export.
#ifndef BELAY_EXIR_QUANTIZE_QUANTIZE_PROGRAM_H_
#define BELAY_EXIR_QUANTIZE_QUANTIZE_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/recipe.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

class EncodedWeights;  // exir/quantize/stored_weights.h

struct QuantizeOptions {
  // Tensors that are not constant because another method of the program writes to them.
  absl::btree_set<std::string> changing = {};
  // Shared by the methods of a program, so that weights of several methods are quantized once.
  // Null: this call quantizes all.
  EncodedWeights* encoded = nullptr;
  // Needed by recipes that quantize statically: what the backend computes on integers
  // (Partitioner::StaticQuantization), data, and kernels that execute the float32 program.
  QuantizationPatterns patterns = {};
  CalibrationData* calibration = nullptr;
  const KernelRegistry* kernels = nullptr;
};

// An operator whose weight is quantized.
struct QuantizedNode {
  std::string node, op, module, source;
  std::string weight;       // fully qualified name
  std::string scheme;       // Scheme::ToString()
  std::string shares_with;  // an earlier node with the same quantized weight; "" if none
  QuantizationLoss loss;    // of the weight
  uint64_t bytes_before = 0, bytes_after = 0;  // of the weight, packed; 0 if it is shared
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
};

struct QuantizeResult {
  ExportedProgram program;
  std::vector<QuantizedNode> quantized;      // in execution order
  std::vector<UnquantizedNode> unquantized;  // likewise
  std::vector<QuantizedTensor> activations;  // in the order of their definitions
  // One line each: rules that match no operator, and weights that are stored in several formats.
  std::vector<std::string> notes;
};

// Quantizes the operators of the top graph by `recipe`.
//
// Weights are stored once per scheme, so tied weights share constants if their rules agree. float32
// weights without remaining users are removed. Dynamic recipes quantize each input of matmuls once,
// before a view of it as a matrix:
//
//   choose_qparams_per_token_asymmetric, quantize_per_token, dequantize_per_token
//
// Their formulas are those of ExecuTorch's 8da4w and of torchao's asymmetric int8 activations.
//
// Static recipes first merge batch norms (exir/passes/merge_batch_norm.h), so that merged filters
// are quantized. Activations are placed by exir/quantize/placement.h, calibrated by
// exir/quantize/calibration.h, and get int8 parameters per tensor, asymmetric, as PT2E's
// XNNPACKQuantizer chooses them:
//
//   quantize_per_tensor, dequantize_per_tensor    after the producer, one dequantization per user
//
// Deterministic. O(nodes + elements of weights). Memory: the quantized weights, and a copy of one
// float32 weight at a time if it is not contiguous by rows. Charges nothing to a Budget, but checks
// it after each weight.
//   kFailedPrecondition  `program` is not an edge program
//   kInvalidArgument     the recipe is static, and calibration data or kernels are missing
//   errors of Calibrate
//   kDeadlineExceeded, kCancelled  of the thread's Budget
absl::StatusOr<QuantizeResult> QuantizeProgram(const ExportedProgram& program, const Recipe& recipe,
                                               const QuantizeOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_QUANTIZE_PROGRAM_H_
