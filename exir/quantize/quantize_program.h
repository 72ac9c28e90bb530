// Quantizes edge programs: afterwards quantization is explicit in their nodes.
//
//   ABSL_ASSIGN_OR_RETURN(Recipe recipe, RecipeByName("8da4w"));
//   ABSL_ASSIGN_OR_RETURN(QuantizeResult result, QuantizeProgram({&program}, recipe));
//   // result.program lowers like one that PT2E or torchao quantized before export.
#ifndef BELAY_EXIR_QUANTIZE_QUANTIZE_PROGRAM_H_
#define BELAY_EXIR_QUANTIZE_QUANTIZE_PROGRAM_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/quantize/output_loss.h"
#include "exir/quantize/quantized_program.h"
#include "exir/quantize/recipe.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

struct QuantizeOptions {
  // Tensors that are not constant, in addition to those that the programs write to.
  absl::btree_set<std::string> changing = {};
  // Kernels that execute the calibration data. Needed if a program has data.
  const KernelRegistry* kernels = nullptr;
  // Bound of the loss of each method. The operators that cost most stay in float32
  // (exir/quantize/mixed_precision.h). nullopt: quantizes all.
  std::optional<MaxLoss> max_loss = {};
  // Measures the loss of the results of nodes, in methods with data (exir/quantize/node_loss.h).
  bool node_losses = false;
  // Quantizes weights with these threads; must outlive the call. Null: only with the calling one.
  ThreadPool* threads = nullptr;
  // Called after each executed call with the completed fraction, in [0, 1]. Empty: not called.
  std::function<void(double)> progress = nullptr;
};

// Quantizes the operators of the top graphs of all methods of a file by `recipe`. Returns a result
// per program, in the same order. Methods that share a weight share the quantized one.
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
// are quantized, and write 1-D and transposed convolutions as 2-D ones
// (exir/quantize/image_convolutions.h, exir/quantize/transposed_convolutions.h).
// Activations are placed by exir/quantize/placement.h, calibrated by
// exir/quantize/activation_statistics.h, and get int8 parameters per tensor, asymmetric, as PT2E's
// XNNPACKQuantizer chooses them:
//
//   quantize_per_tensor, dequantize_per_tensor    after the producer, one dequantization per user
//
// With Recipe::bias_correction, the bias of a static operator gets the mean error of its weight W,
// so that the mean of each output channel over the calibration data stays that of float32 (Nagel et
// al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, §4.2):
//
//   bias' = bias + mean(conv(x, W) - conv(x, W'))     W': the quantized weight, x: float32 input
//
// With Recipe::quantize_io, user inputs whose only users quantize them, and user outputs that are
// results of quantized operators, are int8; a note names each with its parameters.
//
// Schemes with error feedback quantize weights as exir/quantize/error_feedback.h, with the float32
// inputs of all operators that share the weight, in all methods.
//
// Schemes with activation scaling, and Recipe::equalization, first scale the channels of
// activations (exir/quantize/channel_scales.h). The float32 program of all comparisons is the scaled
// one.
//
// Each method is calibrated by its own data. State that several methods write to continues from
// method to method (ShareState in exir/quantize/calibration.h).
//
// Deterministic. O(nodes + elements of weights). Memory: the quantized weights, and a copy of one
// float32 weight at a time if it is not contiguous by rows. Charges nothing to a Budget, but checks
// it after each weight.
//   kFailedPrecondition  a program is not an edge program
//   kInvalidArgument     an operator is quantized statically, with error feedback or activation
//                        scaling, or the loss is bounded, and calibration data or kernels are missing
//   errors of RunCalls (exir/quantize/calibration.h) and ReferenceOutputs
//   (exir/quantize/output_loss.h)
//   kDeadlineExceeded, kCancelled  of the thread's Budget
// Errors are annotated with the method.
absl::StatusOr<std::vector<QuantizeResult>> QuantizePrograms(
    absl::Span<const ProgramToQuantize> programs, const Recipe& recipe,
    const QuantizeOptions& options = {});

// QuantizePrograms of one program.
absl::StatusOr<QuantizeResult> QuantizeProgram(const ProgramToQuantize& program,
                                               const Recipe& recipe,
                                               const QuantizeOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_QUANTIZE_PROGRAM_H_
