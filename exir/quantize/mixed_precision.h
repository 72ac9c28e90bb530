// Mixed precision: selects the operators that stay in float32, so that a bound of the loss holds.
#ifndef BELAY_EXIR_QUANTIZE_MIXED_PRECISION_H_
#define BELAY_EXIR_QUANTIZE_MIXED_PRECISION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/output_loss.h"
#include "exir/quantize/program_quantizer.h"
#include "exir/quantize/quantized_program.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

struct MixedPrecision {
  std::vector<KeptAnchors> kept;        // by program
  std::vector<LossMeasurement> losses;  // likewise
};

// Measures the loss of each group of anchors by itself, and keeps in float32 those with the largest
// loss. A group is the anchors that share a weight, in all programs.
//
//   1. loss of the whole program; if the bound holds, nothing is kept
//   2. loss with only this group quantized, for each group
//   3. bisection for the smallest k such that the bound holds with the k worst groups in float32
//
// A loss is that of the worst floating-point output of each program, over its calibration data; the
// bound must hold for each program. Deterministic: groups of equal loss are kept in execution order.
// Executes the calls at most groups + log2(groups) + 3 times, and once more for statistics.
//   kInvalidArgument  a program with anchors has no calibration data
//   errors of ReferenceOutputs and ProgramQuantizer, annotated with the method
absl::StatusOr<MixedPrecision> ChooseMixedPrecision(
    absl::Span<const std::unique_ptr<ProgramQuantizer>> programs, const MaxLoss& max_loss,
    const KernelRegistry& kernels, CallProgress& progress);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_MIXED_PRECISION_H_
