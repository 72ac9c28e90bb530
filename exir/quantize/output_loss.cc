#include "exir/quantize/output_loss.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {
namespace {

const TensorView* FloatTensor(const OwnedValue& value) {
  const TensorView* view = value.tensor();
  return view != nullptr && kFloatTypes.contains(view->dtype) ? view : nullptr;
}

}  // namespace

std::string MaxLoss::ToString() const {
  return absl::StrCat(LossMetricName(metric), metric == LossMetric::kMse ? " <= " : " >= ", bound);
}

absl::StatusOr<MaxLoss> ParseMaxLoss(std::string_view text) {
  const size_t equals = text.find('=');
  MaxLoss loss;
  bool known = false;
  for (LossMetric metric : kLossMetrics) {
    if (text.substr(0, equals) != LossMetricName(metric)) continue;
    loss.metric = metric;
    known = true;
  }
  if (!known || equals == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected snr=VALUE, cosine=VALUE or mse=VALUE, got '", text, "'"));
  }
  const std::string_view value = text.substr(equals + 1);
  const bool parsed =
      absl::SimpleAtod(absl::string_view(value.data(), value.size()), &loss.bound) &&
      std::isfinite(loss.bound);
  const bool in_range = loss.metric == LossMetric::kCosine
                            ? std::abs(loss.bound) <= 1
                            : loss.metric == LossMetric::kSnr || loss.bound >= 0;
  if (!parsed || !in_range) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a ",
                     loss.metric == LossMetric::kCosine ? "number from -1 to 1"
                     : loss.metric == LossMetric::kMse  ? "number of at least 0"
                                                        : "finite number",
                     " for ", LossMetricName(loss.metric), ", got '", value, "'"));
  }
  return loss;
}

absl::StatusOr<ReferenceOutputs> ReferenceOutputs::Record(const ExportedProgram& program,
                                                          const KernelRegistry& kernels,
                                                          CalibrationData& data,
                                                          CallProgress* progress) {
  ReferenceOutputs reference(kernels, data);
  uint64_t bytes = 0;
  const auto keep = [&](int, absl::Span<const OwnedValue> outputs) -> absl::Status {
    std::vector<OwnedValue>& kept = reference.outputs_.emplace_back();
    bool any = false;
    for (const OwnedValue& output : outputs) {
      const TensorView* view = FloatTensor(output);
      kept.push_back(view == nullptr ? OwnedValue() : output);
      if (view == nullptr) continue;
      any = true;
      bytes += view->nbytes();
    }
    if (!any) {
      return absl::InvalidArgumentError(
          "the loss is measured on floating-point outputs; the program has none");
    }
    if (bytes > kMaxBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the outputs of all calibration calls have more than ", kMaxBytes,
                       " bytes; use fewer calls"));
    }
    return absl::OkStatus();
  };
  ABSL_RETURN_IF_ERROR(RunCalls(program, kernels, data, {.outputs = keep}, progress));
  return reference;
}

absl::StatusOr<double> ReferenceOutputs::LossOf(const ExportedProgram& quantized,
                                                const MaxLoss& metric,
                                                CallProgress* progress) const {
  std::vector<LossSums> sums(outputs_.empty() ? 0 : outputs_[0].size());
  const auto compare = [&](int call, absl::Span<const OwnedValue> outputs) -> absl::Status {
    const std::vector<OwnedValue>& expected = outputs_[static_cast<size_t>(call)];
    for (size_t i = 0; i < sums.size(); ++i) {
      const TensorView *y = FloatTensor(expected[i]), *actual = FloatTensor(outputs[i]);
      if (y == nullptr) continue;
      if (actual == nullptr || actual->dtype != y->dtype || actual->sizes != y->sizes) {
        return absl::InternalError(absl::StrCat(
            "output ", i, ": expected the type ", y->ToString(), " of the float32 program, got ",
            actual == nullptr ? std::string("another") : actual->ToString()));
      }
      sums[i].Add(*y, *actual);
    }
    return absl::OkStatus();
  };
  ABSL_RETURN_IF_ERROR(RunCalls(quantized, *kernels_, *data_, {.outputs = compare}, progress));
  // The value without noise.
  double worst = LossSums().Value(metric.metric);
  for (const LossSums& output : sums) {
    const double value = output.Value(metric.metric);
    if (metric.IsWorse(value, worst)) worst = value;
  }
  return worst;
}

}  // namespace belay::exir
