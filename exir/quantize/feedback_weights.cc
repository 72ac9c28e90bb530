#include "exir/quantize/feedback_weights.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/quantize/error_feedback.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// A weight, and the inputs that it is multiplied by: pairs of program and value.
struct Target {
  size_t program;  // the first
  const Anchor* anchor;
  std::vector<std::pair<size_t, ValueId>> inputs;
};

// Weights that are multiplied by the same inputs share the matrix.
struct Gram {
  int64_t columns;
  std::vector<Target> targets;

  const std::vector<std::pair<size_t, ValueId>>& inputs() const { return targets[0].inputs; }
  uint64_t bytes() const {
    return static_cast<uint64_t>(columns) * static_cast<uint64_t>(columns) * sizeof(double);
  }
};

// Returns the input of the anchor, before a view of it as a matrix.
std::optional<ValueId> InputOf(const Graph& graph, const WeightUse& use) {
  const ValueId* input = graph.node(use.node).value_argument(use.input_argument);
  if (input == nullptr) return std::nullopt;
  const std::optional<NodeId> view = MatrixViewOf(graph, *input);
  return view.has_value() ? *graph.node(*view).operand().get_if<ValueId>() : *input;
}

std::vector<Target> TargetsOf(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs) {
  std::vector<Target> targets;
  for (size_t i = 0; i < programs.size(); ++i) {
    for (const Anchor& anchor : programs[i]->anchors()) {
      if (!anchor.reason.empty() || !anchor.scheme.error_feedback) continue;
      const std::optional<ValueId> input = InputOf(programs[i]->program().top(), anchor.use);
      if (!input.has_value()) continue;
      auto it = std::find_if(targets.begin(), targets.end(), [&](const Target& target) {
        const Anchor& other = *target.anchor;
        return other.weight.view().data == anchor.weight.view().data &&
               other.weight.sizes() == anchor.weight.sizes() &&
               other.weight.strides() == anchor.weight.strides() &&
               other.use.rows_first == anchor.use.rows_first &&
               HasSameWeight(other.scheme, anchor.scheme);
      });
      if (it == targets.end()) it = targets.insert(it, {i, &anchor, {}});
      it->inputs.emplace_back(i, *input);
    }
  }
  return targets;
}

std::vector<Gram> GramsOf(std::vector<Target> targets) {
  std::vector<Gram> grams;
  for (Target& target : targets) {
    const int64_t columns = ColumnsOf(target.anchor->weight, target.anchor->use.rows_first);
    auto it = std::find_if(grams.begin(), grams.end(), [&](const Gram& gram) {
      return gram.columns == columns && gram.inputs() == target.inputs;
    });
    if (it == grams.end()) it = grams.insert(it, {columns, {}});
    it->targets.push_back(std::move(target));
  }
  return grams;
}

// Divides the list into batches whose matrices have at most `max_bytes`, if each of them fits.
std::vector<absl::Span<const Gram>> BatchesOf(absl::Span<const Gram> grams, uint64_t max_bytes) {
  std::vector<absl::Span<const Gram>> batches;
  size_t begin = 0;
  uint64_t bytes = 0;
  for (size_t g = 0; g < grams.size(); ++g) {
    if (bytes > 0 && bytes + grams[g].bytes() > max_bytes) {
      batches.push_back(grams.subspan(begin, g - begin));
      begin = g;
      bytes = 0;
    }
    bytes += grams[g].bytes();
  }
  if (!grams.empty()) batches.push_back(grams.subspan(begin));
  return batches;
}

// Executes the calls of the programs, and returns the matrices of the batch.
absl::StatusOr<std::vector<GramMatrix>> Accumulate(
    absl::Span<const std::unique_ptr<ProgramQuantizer>> programs, absl::Span<const Gram> batch,
    const KernelRegistry& kernels, CallProgress& progress) {
  std::vector<GramMatrix> matrices;
  for (const Gram& gram : batch) matrices.emplace_back(gram.columns, kernels);
  for (size_t i = 0; i < programs.size(); ++i) {
    absl::flat_hash_map<ValueId, std::vector<GramMatrix*>> by_value;
    for (size_t g = 0; g < batch.size(); ++g) {
      for (const auto& [program, value] : batch[g].inputs()) {
        if (program == i) by_value[value].push_back(&matrices[g]);
      }
    }
    if (by_value.empty()) continue;
    const auto add = [&](ValueId value, const TensorView& view) {
      const auto it = by_value.find(value);
      if (it == by_value.end() || view.dtype != DType::kFloat32) return;
      for (GramMatrix* matrix : it->second) matrix->Add(view);
    };
    ABSL_RETURN_IF_ERROR(programs[i]->Annotated(RunCalls(
        programs[i]->program(), kernels, *programs[i]->calibration(), {.tensor = add}, &progress)));
  }
  return matrices;
}

// Quantizes the weights that are multiplied by the inputs of `matrix`.
absl::Status Encode(const Gram& gram, GramMatrix matrix, const KernelRegistry& kernels,
                    EncodedWeights& encoded) {
  ABSL_ASSIGN_OR_RETURN(std::vector<double> sum, std::move(matrix).Finish());
  ABSL_ASSIGN_OR_RETURN(const std::optional<std::vector<float>> factors,
                        FeedbackFactors(std::move(sum), gram.columns, kernels));
  if (!factors.has_value()) return absl::OkStatus();
  for (const Target& target : gram.targets) {
    const Anchor& anchor = *target.anchor;
    ABSL_ASSIGN_OR_RETURN(const WeightMatrix weight,
                          MatrixOf(anchor.weight, anchor.use.rows_first));
    ABSL_ASSIGN_OR_RETURN(QuantizedRows rows,
                          QuantizeRowsWithFeedback(weight.elements, weight.columns,
                                                   anchor.scheme.rows, *factors, kernels));
    encoded.AddWithFeedback(anchor.weight, weight, anchor.use.rows_first, anchor.scheme,
                            std::move(rows));
    ABSL_RETURN_IF_ERROR(CheckBudget());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EncodeWithErrorFeedback(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs,
                                     const KernelRegistry* kernels, EncodedWeights& encoded,
                                     CallProgress& progress, uint64_t max_gram_bytes) {
  const std::vector<Gram> grams = GramsOf(TargetsOf(programs));
  const std::vector<absl::Span<const Gram>> batches = BatchesOf(grams, max_gram_bytes);
  for (size_t i = 0; i < programs.size(); ++i) {
    const auto uses = [&](const Gram& gram) {
      return std::any_of(gram.inputs().begin(), gram.inputs().end(),
                         [&](const auto& input) { return input.first == i; });
    };
    if (std::none_of(grams.begin(), grams.end(), uses)) continue;
    if (programs[i]->calibration() == nullptr || kernels == nullptr) {
      return programs[i]->Annotated(
          absl::InvalidArgumentError("error feedback needs calibration data"));
    }
    progress.planned += programs[i]->calibration()->calls() * static_cast<int64_t>(batches.size());
  }
  for (absl::Span<const Gram> batch : batches) {
    ABSL_ASSIGN_OR_RETURN(std::vector<GramMatrix> matrices,
                          Accumulate(programs, batch, *kernels, progress));
    for (size_t g = 0; g < batch.size(); ++g) {
      ABSL_RETURN_IF_ERROR(programs[batch[g].targets[0].program]->Annotated(
          Encode(batch[g], std::move(matrices[g]), *kernels, encoded)));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
