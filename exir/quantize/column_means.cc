#include "exir/quantize/column_means.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "runtime/core/sizes.h"

namespace belay::exir {
namespace {

// Returns the integers of a list, repeated if there is only one; nullopt if one is not a constant.
std::optional<std::vector<int64_t>> Integers(const Argument& argument, size_t count) {
  const auto* list = argument.get_if<Argument::List>();
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> integers;
  for (const Argument& element : *list) {
    const int64_t* integer = element.get_if<int64_t>();
    if (integer == nullptr) return std::nullopt;
    integers.push_back(*integer);
  }
  if (integers.size() == 1) integers.resize(count, integers[0]);
  return integers.size() == count ? std::optional(std::move(integers)) : std::nullopt;
}

// Sum of the elements of a strided box. Preconditions: not empty, rank > 0.
double SumOf(const float* data, Sizes sizes, const Strides& strides) {
  const int64_t last = sizes.back(), step = strides.back();
  sizes.back() = 1;
  double sum = 0;
  for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
    const float* row = data + it.offset(0);
    for (int64_t i = 0; i < last; ++i) sum += row[i * step];
  }
  return sum;
}

}  // namespace

std::optional<InputGeometry> GeometryOf(const ExportedProgram& program, const WeightUse& use) {
  if (use.kind == AnchorKind::kEmbedding) return std::nullopt;
  InputGeometry geometry;
  if (use.kind == AnchorKind::kLinear) return geometry;
  const Node& node = program.top().node(use.node);
  const TensorMeta* weight = program.top().value(use.constant).tensor();
  const int64_t* groups = node.argument("groups").get_if<int64_t>();
  if (weight == nullptr || groups == nullptr) return std::nullopt;
  geometry.groups = *groups;
  for (size_t d = 2; d < weight->sizes.size(); ++d) {
    const std::optional<int64_t> size = KnownInt(weight->sizes[d]);
    if (!size.has_value()) return std::nullopt;
    geometry.kernel.push_back(*size);
  }
  const size_t rank = geometry.kernel.size();
  auto stride = Integers(node.argument("stride"), rank);
  auto padding = Integers(node.argument("padding"), rank);
  auto dilation = Integers(node.argument("dilation"), rank);
  if (!stride.has_value() || !padding.has_value() || !dilation.has_value()) return std::nullopt;
  geometry.stride = *std::move(stride);
  geometry.padding = *std::move(padding);
  geometry.dilation = *std::move(dilation);
  return geometry;
}

void ColumnMeans::Add(const TensorView& input) {
  const int rank = input.rank(), spatial = static_cast<int>(geometry_.kernel.size());
  const float* data = input.as<float>();
  if (spatial == 0) {
    if (rank < 1 || input.numel() == 0) return;
    const int64_t columns = input.sizes[rank - 1];
    Sizes rows = input.sizes;
    rows[rank - 1] = 1;
    std::vector<double> sums(static_cast<size_t>(columns));
    const int64_t step = input.strides[rank - 1];
    for (StridedIterator<1> it(rows, {input.strides}); !it.done(); it.Next()) {
      const float* row = data + it.offset(0);
      for (int64_t k = 0; k < columns; ++k) sums[static_cast<size_t>(k)] += row[k * step];
    }
    return Accumulate(sums, static_cast<double>(input.numel() / columns));
  }
  if (rank != spatial + 2 || input.numel() == 0) return;
  // A box of the input per kernel position: [batch, outputs that read inside of the input...].
  int64_t positions = 1, taps = 1;
  std::vector<int64_t> outputs;
  for (int d = 0; d < spatial; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t extent = (geometry_.kernel[i] - 1) * geometry_.dilation[i] + 1;
    outputs.push_back(
        (input.sizes[d + 2] + 2 * geometry_.padding[i] - extent) / geometry_.stride[i] + 1);
    positions *= outputs.back();
    taps *= geometry_.kernel[i];
  }
  const int64_t channels = input.sizes[1];
  std::vector<double> sums(static_cast<size_t>(channels * taps));
  for (int64_t tap = 0; tap < taps; ++tap) {
    Sizes box = {input.sizes[0]};
    Strides strides = {input.strides[0]};
    int64_t offset = 0, rest = tap, divisor = taps;
    for (int d = 0; d < spatial; ++d) {
      const auto i = static_cast<size_t>(d);
      divisor /= geometry_.kernel[i];
      const int64_t shift = rest / divisor * geometry_.dilation[i] - geometry_.padding[i];
      rest %= divisor;
      // Outputs o with 0 <= o * stride + shift < size.
      const int64_t step = geometry_.stride[i];
      const int64_t first = shift < 0 ? (-shift + step - 1) / step : 0;
      const int64_t end =
          shift < input.sizes[d + 2] ? (input.sizes[d + 2] - 1 - shift) / step + 1 : 0;
      box.push_back(std::max<int64_t>(std::min(end, outputs[i]) - first, 0));
      strides.push_back(step * input.strides[d + 2]);
      offset += (first * step + shift) * input.strides[d + 2];
    }
    if (std::count(box.begin(), box.end(), 0) != 0) continue;
    for (int64_t channel = 0; channel < channels; ++channel) {
      sums[static_cast<size_t>(channel * taps + tap)] =
          SumOf(data + channel * input.strides[1] + offset, box, strides);
    }
  }
  Accumulate(sums, static_cast<double>(input.sizes[0] * positions));
}

void ColumnMeans::Accumulate(const std::vector<double>& sums, double outputs) {
  const auto finite = [](double sum) { return std::isfinite(sum); };
  if (!std::all_of(sums.begin(), sums.end(), finite)) return;
  sums_.resize(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) sums_[i] += sums[i];
  outputs_ += outputs;
}

std::vector<double> ColumnMeans::Means() const {
  std::vector<double> means = sums_;
  for (double& mean : means) mean /= outputs_;
  return means;
}

}  // namespace belay::exir
