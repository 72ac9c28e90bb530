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
      return gram.columns == columns && gram.targets[0].inputs == target.inputs;
    });
    if (it == grams.end()) it = grams.insert(it, {columns, {}});
    it->targets.push_back(std::move(target));
  }
  return grams;
}

}  // namespace

absl::Status EncodeWithErrorFeedback(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs,
                                     const KernelRegistry* kernels, EncodedWeights& encoded,
                                     CallProgress& progress, uint64_t max_gram_bytes) {
  const std::vector<Gram> grams = GramsOf(TargetsOf(programs));
  // Ends of the batches.
  std::vector<size_t> ends;
  uint64_t bytes = 0;
  for (size_t g = 0; g < grams.size(); ++g) {
    if (bytes > 0 && bytes + grams[g].bytes() > max_gram_bytes) {
      ends.push_back(g);
      bytes = 0;
    }
    bytes += grams[g].bytes();
  }
  if (!grams.empty()) ends.push_back(grams.size());
  const auto uses = [&](const Gram& gram, size_t program) {
    const auto& inputs = gram.targets[0].inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const auto& input) { return input.first == program; });
  };
  for (size_t i = 0; i < programs.size(); ++i) {
    if (std::none_of(grams.begin(), grams.end(), [&](const Gram& g) { return uses(g, i); })) {
      continue;
    }
    if (programs[i]->calibration() == nullptr || kernels == nullptr) {
      return programs[i]->Annotated(
          absl::InvalidArgumentError("error feedback needs calibration data"));
    }
    progress.planned += programs[i]->calibration()->calls() * static_cast<int64_t>(ends.size());
  }
  size_t begin = 0;
  for (size_t end : ends) {
    std::vector<GramMatrix> matrices;
    for (size_t g = begin; g < end; ++g) matrices.emplace_back(grams[g].columns, *kernels);
    for (size_t i = 0; i < programs.size(); ++i) {
      absl::flat_hash_map<ValueId, std::vector<GramMatrix*>> by_value;
      for (size_t g = begin; g < end; ++g) {
        for (const auto& [program, value] : grams[g].targets[0].inputs) {
          if (program == i) by_value[value].push_back(&matrices[g - begin]);
        }
      }
      if (by_value.empty()) continue;
      const auto add = [&](ValueId value, const TensorView& view) {
        const auto it = by_value.find(value);
        if (it == by_value.end() || view.dtype != DType::kFloat32) return;
        for (GramMatrix* matrix : it->second) matrix->Add(view);
      };
      ABSL_RETURN_IF_ERROR(programs[i]->Annotated(RunCalls(programs[i]->program(), *kernels,
                                                           *programs[i]->calibration(),
                                                           {.tensor = add}, &progress)));
    }
    for (size_t g = begin; g < end; ++g) {
      const auto encode = [&]() -> absl::Status {
        ABSL_ASSIGN_OR_RETURN(std::vector<double> sum, std::move(matrices[g - begin]).Finish());
        ABSL_ASSIGN_OR_RETURN(const std::optional<std::vector<float>> factors,
                              FeedbackFactors(std::move(sum), grams[g].columns, *kernels));
        if (!factors.has_value()) return absl::OkStatus();
        for (const Target& target : grams[g].targets) {
          const Anchor& anchor = *target.anchor;
          ABSL_ASSIGN_OR_RETURN(const WeightMatrix matrix,
                                MatrixOf(anchor.weight, anchor.use.rows_first));
          ABSL_ASSIGN_OR_RETURN(QuantizedRows rows,
                                QuantizeRowsWithFeedback(matrix.elements, matrix.columns,
                                                         anchor.scheme.rows, *factors, *kernels));
          encoded.AddWithFeedback(anchor.weight, matrix, anchor.use.rows_first, anchor.scheme,
                                  std::move(rows));
          ABSL_RETURN_IF_ERROR(CheckBudget());
        }
        return absl::OkStatus();
      };
      ABSL_RETURN_IF_ERROR(programs[grams[g].targets[0].program]->Annotated(encode()));
    }
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
