#include "exir/quantize/quantize_program.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "exir/quantize/feedback_weights.h"
#include "exir/quantize/mixed_precision.h"
#include "exir/quantize/program_quantizer.h"
#include "exir/quantize/stored_weights.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::StatusOr<std::vector<QuantizeResult>> QuantizePrograms(
    absl::Span<const ProgramToQuantize> programs, const Recipe& recipe,
    const QuantizeOptions& options) {
  absl::btree_set<std::string> changing = options.changing;
  for (const ProgramToQuantize& program : programs) {
    const absl::btree_set<std::string_view> mutated = MutatedState(program.program->signature);
    changing.insert(mutated.begin(), mutated.end());
  }
  EncodedWeights encoded;
  std::vector<std::unique_ptr<ProgramQuantizer>> quantizers;
  for (const ProgramToQuantize& program : programs) {
    ABSL_ASSIGN_OR_RETURN(
        quantizers.emplace_back(),
        ProgramQuantizer::Create(program, recipe, options.kernels, changing, encoded));
  }
  CallProgress progress{.report = options.progress};
  ABSL_RETURN_IF_ERROR(EncodeWithErrorFeedback(quantizers, options.kernels, encoded, progress));
  MixedPrecision mixed{.kept = std::vector<KeptAnchors>(programs.size()), .losses = {}};
  if (options.max_loss.has_value()) {
    if (options.kernels == nullptr) {
      return absl::InvalidArgumentError("measuring the loss needs kernels");
    }
    ABSL_ASSIGN_OR_RETURN(
        mixed, ChooseMixedPrecision(quantizers, *options.max_loss, *options.kernels, progress));
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(quantizers[i]->Annotated(quantizers[i]->Plan(mixed.kept[i])));
    if (quantizers[i]->is_pending()) progress.planned += programs[i].calibration->calls();
  }
  std::vector<QuantizeResult> results;
  for (size_t i = 0; i < programs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(quantizers[i]->Annotated(quantizers[i]->Observe(&progress)));
    absl::StatusOr<QuantizeResult> result = quantizers[i]->Quantize(mixed.kept[i]);
    if (!result.ok()) return quantizers[i]->Annotated(result.status());
    if (options.max_loss.has_value()) result->measured = std::move(mixed.losses[i]);
    results.push_back(*std::move(result));
  }
  return results;
}

absl::StatusOr<QuantizeResult> QuantizeProgram(const ProgramToQuantize& program,
                                               const Recipe& recipe,
                                               const QuantizeOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::vector<QuantizeResult> results,
                        QuantizePrograms(absl::MakeConstSpan(&program, 1), recipe, options));
  return std::move(results[0]);
}

}  // namespace belay::exir
