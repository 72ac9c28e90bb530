#include "exir/quantize/channel_scales.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/graph_editor.h"
#include "exir/quantize/channel_sites.h"
#include "exir/quantize/error_feedback.h"
#include "runtime/core/budget.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr size_t kRows = 128;  // of a weight, at most, for the loss of ActivationScales

// Returns (base / geometric mean)^power, within 2^-10 and 2^10. 1 for channels without a base.
std::vector<float> Powers(const std::vector<double>& base, double power) {
  double sum = 0, count = 0;
  for (double b : base) {
    if (b <= 0) continue;
    sum += std::log2(b);
    ++count;
  }
  std::vector<float> powers(base.size(), 1.0F);
  for (size_t c = 0; c < base.size(); ++c) {
    if (base[c] <= 0) continue;
    const double exponent = power * (std::log2(base[c]) - sum / count);
    powers[c] = static_cast<float>(std::exp2(std::clamp(exponent, -10.0, 10.0)));
  }
  return powers;
}

// Returns w - w' for every step-th row of the weight, w' = quantized(w * s) / s.
std::vector<float> ErrorsOf(const ChannelWeight& weight, const std::vector<float>& scales,
                            const RowsOptions& options) {
  const auto rows = static_cast<size_t>(weight.rows), columns = static_cast<size_t>(weight.columns);
  const size_t step = (rows + kRows - 1) / kRows;
  std::vector<float> scaled, errors;
  for (size_t n = 0; n < rows; n += step) {
    for (size_t k = 0; k < columns; ++k) {
      scaled.push_back(weight.elements[n * columns + k] * scales[k]);
    }
  }
  const QuantizedRows quantized = QuantizeRows(scaled, weight.columns, options);
  const size_t group = options.group_size == 0 ? columns : static_cast<size_t>(options.group_size);
  errors.reserve(scaled.size());
  for (size_t i = 0; i < scaled.size(); ++i) {
    const int32_t zero = options.symmetric ? 0 : quantized.zero_points[i / group];
    const auto q = static_cast<int8_t>(quantized.elements[i]);
    errors.push_back((scaled[i] - DequantizeNumber(q, {quantized.scales[i / group], zero})) /
                     scales[i % columns]);
  }
  return errors;
}

// Returns mean((x - s * quantized(x / s))^2) of each channel, over the samples, with the range that
// the observer chooses. Without samples, the range of all elements, and a uniform error.
std::vector<double> ErrorsOf(const ChannelStatistics& statistics, const std::vector<float>& scales,
                             Observer observer) {
  const size_t channels = scales.size();
  std::vector<double> errors(channels);
  if (statistics.samples.empty()) {
    double low = 0, high = 0;
    for (size_t c = 0; c < channels; ++c) {
      low = std::min(low, double{statistics.low[c]} / scales[c]);
      high = std::max(high, double{statistics.high[c]} / scales[c]);
    }
    for (size_t c = 0; c < channels; ++c) {
      const double step = scales[c] * (high - low) / 255;
      errors[c] = step * step / 12;
    }
    return errors;
  }
  std::vector<float> scaled = statistics.samples;
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] /= scales[i % channels];
  observer.Observe(scaled);
  const auto [low, high] = observer.Range().value_or(std::pair(0.0F, 0.0F));
  const AffineParameters parameters = ChooseAffine(low, high, false, {});
  const double rows = static_cast<double>(scaled.size() / channels);
  for (size_t i = 0; i < scaled.size(); ++i) {
    const size_t c = i % channels;
    const float error =
        scaled[i] - DequantizeNumber(QuantizeNumber(scaled[i], parameters, {}), parameters);
    errors[c] += std::pow(double{error} * double{scales[c]}, 2) / rows;
  }
  return errors;
}

// Calls `visit(n, channel, element)` for each element of the weight.
template <class Visit>
void ForEachElement(const ChannelWeight& weight, size_t channels, const Visit& visit) {
  const auto rows = static_cast<size_t>(weight.rows), columns = static_cast<size_t>(weight.columns);
  const auto groups = static_cast<size_t>(weight.groups);
  const size_t group_rows = rows / groups, group_channels = channels / groups;
  const size_t taps = columns / group_channels;
  for (size_t n = 0; n < rows; ++n) {
    for (size_t k = 0; k < columns; ++k) {
      visit(n, n / group_rows * group_channels + k / taps, weight.elements[n * columns + k]);
    }
  }
}

struct Planned {
  std::vector<std::pair<size_t, ChannelSite>> sites;  // with their programs
  std::vector<const Anchor*> anchors;                 // of the first site
  bool is_static = false;
  ChannelStatistics statistics = {};
};

const Anchor& AnchorOf(const ProgramQuantizer& program, NodeId node) {
  return *std::find_if(program.anchors().begin(), program.anchors().end(),
                       [&](const Anchor& anchor) { return anchor.use.node == node; });
}

bool Equalizes(const Recipe& recipe, const Anchor& anchor) {
  return recipe.equalization == Equalization::kAll ||
         (recipe.equalization == Equalization::kLinear && anchor.use.kind == AnchorKind::kLinear);
}

bool IsLayerNorm(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  return producer.valid() &&
         graph.node(producer).target->aten()->name() == "aten.native_layer_norm.default";
}

std::vector<Planned> PlanSites(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs,
                               const Recipe& recipe) {
  std::vector<Planned> plan;
  for (size_t i = 0; i < programs.size(); ++i) {
    for (bool is_static : {false, true}) {
      std::vector<WeightUse> uses;
      for (const Anchor& anchor : programs[i]->anchors()) {
        const bool selected = is_static ? anchor.is_static() && Equalizes(recipe, anchor)
                                        : anchor.scheme.activation_scaling && !anchor.is_static();
        if (anchor.reason.empty() && selected) uses.push_back(anchor.use);
      }
      // Without data, ProgramQuantizer::Plan reports the error of static anchors.
      if (uses.empty() || (is_static && programs[i]->calibration() == nullptr)) continue;
      ExportedProgram copy = programs[i]->program().Clone();
      for (ChannelSite& site : FindChannelSites(copy, programs[i]->changing(), uses)) {
        if (is_static && !site.folds() && !IsLayerNorm(copy.top(), site.value)) continue;
        std::vector<const Anchor*> anchors;
        for (const WeightUse& use : site.anchors) {
          anchors.push_back(&AnchorOf(*programs[i], use.node));
        }
        const auto same = [](const Anchor* a, const Anchor* b) { return IsSameWeight(*a, *b); };
        auto it = std::find_if(plan.begin(), plan.end(), [&](const Planned& planned) {
          return planned.is_static == is_static &&
                 std::equal(planned.anchors.begin(), planned.anchors.end(), anchors.begin(),
                            anchors.end(), same);
        });
        if (it == plan.end()) it = plan.insert(it, {{}, std::move(anchors), is_static});
        it->sites.emplace_back(i, std::move(site));
      }
    }
  }
  return plan;
}

absl::StatusOr<std::vector<float>> ScalesOf(const Planned& planned, const Recipe& recipe,
                                            const KernelRegistry& kernels) {
  const ChannelSite& site = planned.sites[0].second;
  std::vector<WeightMatrix> matrices;
  std::vector<ChannelWeight> weights;
  std::vector<RowsOptions> options;
  for (size_t i = 0; i < planned.anchors.size(); ++i) {
    const Anchor& anchor = *planned.anchors[i];
    ABSL_ASSIGN_OR_RETURN(WeightMatrix matrix, MatrixOf(anchor.weight, anchor.use.rows_first));
    weights.push_back(
        {matrix.elements, matrix.rows, matrix.columns, site.weights[i].channels.groups});
    options.push_back(anchor.scheme.rows);
    matrices.push_back(std::move(matrix));
  }
  if (planned.statistics.count == 0) return std::vector<float>();
  if (planned.is_static) {
    return EqualizingScales(planned.statistics, weights,
                            Observer(recipe.observer, recipe.percentile));
  }
  return ActivationScales(planned.statistics, weights, options, kernels);
}

}  // namespace

void ChannelStatistics::Add(const TensorView& tensor, int axis) {
  const auto channels = static_cast<size_t>(tensor.sizes[axis]);
  for (auto* list : {&low, &high}) list->resize(channels);
  for (auto* list : {&magnitude, &square}) list->resize(channels);
  Sizes rest = tensor.sizes;
  rest[axis] = 1;
  for (size_t c = 0; c < channels; ++c) {
    const float* data = tensor.as<float>() + static_cast<int64_t>(c) * tensor.strides[axis];
    for (StridedIterator<1> it(rest, {tensor.strides}); !it.done(); it.Next()) {
      const float x = data[it.offset(0)];
      if (!std::isfinite(x)) continue;
      low[c] = std::min(low[c], x);
      high[c] = std::max(high[c], x);
      magnitude[c] += std::abs(x);
      square[c] += double{x} * double{x};
    }
  }
  if (channels > 0) count += static_cast<double>(tensor.numel()) / static_cast<double>(channels);
  if (axis != tensor.rank() - 1) return;
  for (StridedIterator<1> it(rest, {tensor.strides}); !it.done(); it.Next()) {
    if (rows++ % stride != 0) continue;
    for (size_t c = 0; c < channels; ++c) {
      const float x =
          tensor.as<float>()[it.offset(0) + static_cast<int64_t>(c) * tensor.strides[axis]];
      samples.push_back(std::isfinite(x) ? x : 0);
    }
    if (samples.size() < 2 * kMaxSamples * channels) continue;
    // Keeps every second one.
    for (size_t row = 1; row < kMaxSamples; ++row) {
      std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(2 * row * channels), channels,
                  samples.begin() + static_cast<std::ptrdiff_t>(row * channels));
    }
    samples.resize(kMaxSamples * channels);
    stride *= 2;
  }
}

absl::StatusOr<std::vector<float>> ActivationScales(const ChannelStatistics& statistics,
                                                    absl::Span<const ChannelWeight> weights,
                                                    absl::Span<const RowsOptions> options,
                                                    const KernelRegistry& kernels) {
  const auto channels = static_cast<int64_t>(statistics.low.size());
  const auto count = static_cast<int64_t>(statistics.samples.size()) / channels;
  // Kernels only read arguments.
  TensorView inputs = TensorView::Contiguous(DType::kFloat32, {count, channels},
                                             const_cast<float*>(statistics.samples.data()));
  inputs.sizes = {channels, count};
  inputs.strides = {1, channels};
  constexpr int kSteps = 20;
  std::vector<float> best;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> scales = Powers(statistics.magnitude, step / double{kSteps});
    double loss = 0;
    for (size_t w = 0; w < weights.size(); ++w) {
      std::vector<float> errors = ErrorsOf(weights[w], scales, options[w]);
      const int64_t rows = static_cast<int64_t>(errors.size()) / channels;
      std::vector<float> outputs(static_cast<size_t>(rows * count));
      ABSL_RETURN_IF_ERROR(MultiplyMatrices(
          kernels, TensorView::Contiguous(DType::kFloat32, {rows, channels}, errors.data()), inputs,
          TensorView::Contiguous(DType::kFloat32, {rows, count}, outputs.data())));
      for (float y : outputs) loss += double{y} * double{y};
    }
    if (!(loss < least)) continue;
    least = loss;
    best = step == 0 ? std::vector<float>() : std::move(scales);
  }
  return best;
}

std::vector<float> EqualizingScales(const ChannelStatistics& statistics,
                                    absl::Span<const ChannelWeight> weights,
                                    const Observer& observer) {
  const size_t channels = statistics.low.size();
  std::vector<double> ranges(channels), weight_squares(channels);
  for (const ChannelWeight& weight : weights) {
    std::vector<double> rows(static_cast<size_t>(weight.rows));
    ForEachElement(weight, channels, [&](size_t n, size_t c, float w) {
      rows[n] = std::max(rows[n], double{std::abs(w)});
      weight_squares[c] += double{w} * double{w};
    });
    ForEachElement(weight, channels, [&](size_t n, size_t c, float w) {
      if (w != 0) ranges[c] = std::max(ranges[c], double{std::abs(w)} / rows[n]);
    });
  }
  for (size_t c = 0; c < channels; ++c) {
    const double largest = std::max(-statistics.low[c], statistics.high[c]);
    ranges[c] = ranges[c] > 0 ? largest / ranges[c] : 0;
  }
  constexpr int kSteps = 10;
  std::vector<float> best;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= kSteps; ++step) {
    std::vector<float> scales = Powers(ranges, step / double{kSteps});
    const std::vector<double> errors = ErrorsOf(statistics, scales, observer);
    double loss = 0;
    for (size_t c = 0; c < channels; ++c) loss += errors[c] * weight_squares[c];
    for (const ChannelWeight& weight : weights) {
      std::vector<double> rows(static_cast<size_t>(weight.rows));
      ForEachElement(weight, channels, [&](size_t n, size_t c, float w) {
        rows[n] = std::max(rows[n], double{std::abs(w)} * scales[c]);
      });
      ForEachElement(weight, channels, [&](size_t n, size_t c, float) {
        const double error = rows[n] / 127 / scales[c];
        loss += error * error / 12 * statistics.square[c] / statistics.count;
      });
    }
    if (!(loss < least)) continue;
    least = loss;
    best = step == 0 ? std::vector<float>() : std::move(scales);
  }
  return best;
}

absl::Status ScaleChannelsByData(absl::Span<const std::unique_ptr<ProgramQuantizer>> programs,
                                 const Recipe& recipe, const KernelRegistry* kernels,
                                 CallProgress& progress) {
  std::vector<Planned> plan = PlanSites(programs, recipe);
  // Statistics of each program's values, and the dimension of their channels.
  using Observed = absl::flat_hash_map<ValueId, std::pair<ChannelStatistics*, bool>>;
  std::vector<Observed> observed(programs.size());
  for (Planned& planned : plan) {
    for (const auto& [program, site] : planned.sites) {
      observed[program][site.value] = {&planned.statistics, site.is_image};
    }
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    if (observed[i].empty()) continue;
    if (programs[i]->calibration() == nullptr || kernels == nullptr) {
      return programs[i]->Annotated(
          absl::InvalidArgumentError("scaling of channels needs calibration data"));
    }
    progress.planned += programs[i]->calibration()->calls();
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    if (observed[i].empty()) continue;
    const auto add = [&](ValueId value, const TensorView& view) {
      const auto it = observed[i].find(value);
      if (it == observed[i].end() || view.dtype != DType::kFloat32) return;
      it->second.first->Add(view, it->second.second ? 1 : view.rank() - 1);
    };
    ABSL_RETURN_IF_ERROR(
        programs[i]->Annotated(RunCalls(programs[i]->program(), *kernels,
                                        *programs[i]->calibration(), {.tensor = add}, &progress)));
  }
  std::vector<std::vector<ChannelSite>> sites(programs.size());
  std::vector<std::vector<std::vector<float>>> scales(programs.size());
  for (const Planned& planned : plan) {
    absl::StatusOr<std::vector<float>> chosen = ScalesOf(planned, recipe, *kernels);
    if (!chosen.ok()) return programs[planned.sites[0].first]->Annotated(chosen.status());
    ABSL_RETURN_IF_ERROR(CheckBudget());
    if (chosen->empty()) continue;
    for (const auto& [program, site] : planned.sites) {
      sites[program].push_back(site);
      scales[program].push_back(*chosen);
    }
  }
  ScaledConstants cache;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (sites[i].empty()) continue;
    ABSL_RETURN_IF_ERROR(
        programs[i]->Annotated(programs[i]->ScaleChannels(sites[i], scales[i], cache)));
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
