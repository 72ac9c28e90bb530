#include "exir/passes/phase_convolution.h"

#include <algorithm>
#include <cstddef>

namespace belay::exir {
namespace {

// Phases of a wider stride would be mostly zeros.
constexpr int64_t kMostStride = 8;
// Keeps all numbers far from overflow.
constexpr int64_t kMostPadding = int64_t{1} << 20;

// Quotients rounded down and up, for b > 0.
int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Returns element `axis` of a list of one or two integers, if it is from `least` to kMostPadding.
std::optional<int64_t> AtAxis(const Argument& argument, size_t axis, int64_t least) {
  const auto* list = argument.get_if<Argument::List>();
  if (list == nullptr || list->empty() || list->size() > 2) return std::nullopt;
  const int64_t* number = (*list)[std::min(axis, list->size() - 1)].get_if<int64_t>();
  if (number == nullptr || *number < least || *number > kMostPadding) return std::nullopt;
  return *number;
}

}  // namespace

std::optional<int64_t> PhaseConvolution::Axis::Tap(int64_t stride, int64_t r, int64_t j) const {
  const int64_t tap = r + padding - stride * (first + j);
  return tap >= 0 && tap < kernel ? std::optional(tap) : std::nullopt;
}

std::optional<PhaseConvolution> PhaseConvolution::Of(const Node& node, const Sizes& weight) {
  if (node.target->aten()->name() != "aten.convolution.default" || weight.size() != 4 ||
      node.argument("transposed") != Argument(true) ||
      node.argument("groups") != Argument(int64_t{1})) {
    return std::nullopt;
  }
  PhaseConvolution result = {.channels = weight[0], .filters = weight[1], .stride = 0, .axes = {}};
  for (size_t d = 0; d < 2; ++d) {
    const std::optional<int64_t> s = AtAxis(node.argument("stride"), d, 1),
                                 p = AtAxis(node.argument("padding"), d, 0),
                                 o = AtAxis(node.argument("output_padding"), d, 0),
                                 dilation = AtAxis(node.argument("dilation"), d, 1);
    const int64_t k = weight[static_cast<int>(2 + d)];
    if (!s.has_value() || !p.has_value() || !o.has_value() || dilation != 1 || *s > kMostStride ||
        k <= 0 || k > kMostPadding || weight[0] <= 0 || weight[1] <= 0 ||
        (d > 0 && *s != result.stride)) {
      return std::nullopt;
    }
    result.stride = *s;
    Axis& axis = result.axes[d];
    axis.kernel = k;
    axis.padding = *p;
    axis.first = CeilDivide(*p - k + 1, *s);
    const int64_t last = FloorDivide(*s - 1 + *p, *s);
    const int64_t more = k + *o - 2 * *p - *s;  // elements of the result beyond s times those of x
    axis.new_kernel = last - axis.first + 1;
    axis.new_padding = std::max({-axis.first, CeilDivide(more, *s) + last, int64_t{0}});
    axis.start = *s * (axis.first + axis.new_padding);
    axis.slices = axis.start != 0 || *s * (2 * axis.new_padding - axis.new_kernel + 1) != more;
  }
  return result;
}

Sizes PhaseConvolution::weight_sizes() const {
  return {filters * phases(), channels, axes[0].new_kernel, axes[1].new_kernel};
}

std::vector<float> PhaseConvolution::Weight(absl::Span<const float> elements) const {
  const auto& [y, x] = axes;
  std::vector<float> weight;
  for (int64_t o = 0; o < filters * phases(); ++o) {
    const int64_t f = o / phases(), r_y = o / stride % stride, r_x = o % stride;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t j_y = 0; j_y < y.new_kernel; ++j_y) {
        for (int64_t j_x = 0; j_x < x.new_kernel; ++j_x) {
          const std::optional<int64_t> t_y = y.Tap(stride, r_y, j_y), t_x = x.Tap(stride, r_x, j_x);
          weight.push_back(t_y.has_value() && t_x.has_value()
                               ? elements[static_cast<size_t>(
                                     ((c * filters + f) * y.kernel + *t_y) * x.kernel + *t_x)]
                               : 0.0F);
        }
      }
    }
  }
  return weight;
}

std::vector<float> PhaseConvolution::Bias(absl::Span<const float> elements) const {
  std::vector<float> bias;
  for (float element : elements) {
    bias.insert(bias.end(), static_cast<size_t>(phases()), element);
  }
  return bias;
}

}  // namespace belay::exir
