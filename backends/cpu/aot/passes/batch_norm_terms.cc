#include "backends/cpu/aot/passes/batch_norm_terms.h"

#include <cmath>
#include <utility>

namespace belay::cpu {
namespace {

using exir::Argument;

constexpr double kMaxDeviations = 16;

// Returns the elements of a constant of `count` elements, or `count` times `missing` for None.
// nullopt for other arguments.
std::optional<std::vector<double>> Vector(const Argument& argument, size_t count, double missing,
                                          const ConstantViews& views) {
  if (argument.is_none()) return std::vector<double>(count, missing);
  const std::optional<ConstantView> view = views.Find(argument);
  std::optional<std::vector<double>> elements = view.has_value() ? view->Elements() : std::nullopt;
  if (!elements.has_value() || elements->size() != count) return std::nullopt;
  return elements;
}

bool IsFiniteF32(double number) { return std::isfinite(static_cast<float>(number)); }

}  // namespace

std::optional<BatchNormTerms> FindBatchNormTerms(const exir::Node& node, size_t channels,
                                                 const ConstantViews& views) {
  std::optional<ConstantView> mean_view = views.Find(node.argument("running_mean"));
  const std::optional<double> eps = views.Number(node.argument("eps"));
  const auto weight = Vector(node.argument("weight"), channels, 1, views),
             bias = Vector(node.argument("bias"), channels, 0, views),
             mean = Vector(node.argument("running_mean"), channels, 0, views),
             var = Vector(node.argument("running_var"), channels, 1, views);
  if (!mean_view.has_value() || !eps.has_value() || !weight.has_value() || !bias.has_value() ||
      !mean.has_value() || !var.has_value()) {
    return std::nullopt;
  }
  BatchNormTerms terms = {*std::move(mean_view), {}, {}};
  for (size_t c = 0; c < channels; ++c) {
    const double deviation = std::sqrt((*var)[c] + *eps), factor = (*weight)[c] / deviation;
    const double shift = (*bias)[c] - (*mean)[c] * factor;
    if (!(std::abs((*mean)[c]) <= kMaxDeviations * deviation) || !IsFiniteF32(factor) ||
        !IsFiniteF32(shift)) {
      return std::nullopt;
    }
    terms.factor.push_back(factor);
    terms.shift.push_back(shift);
  }
  return terms;
}

}  // namespace belay::cpu
