// Pooling and resampling.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

std::vector<Argument> MaxPool2d(OpBuilder& b, const OpCall& c) {
  return {
      b.Call("aten.max_pool2d_with_indices.default", {c.arguments().begin(), c.arguments().end()})};
}
std::vector<Argument> MaxPool3d(OpBuilder& b, const OpCall& c) {
  return {
      b.Call("aten.max_pool3d_with_indices.default", {c.arguments().begin(), c.arguments().end()})};
}

// A single output per channel is a mean.
std::vector<Argument> AdaptiveAvgPool2d(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> output = c.SymInts("output_size");
  if (output == std::vector<SymInt>{1, 1}) return {Mean(b, c["self"], {-1, -2}, true)};
  return {b.Call("aten._adaptive_avg_pool2d.default", {c["self"], output})};
}
std::vector<Argument> AdaptiveAvgPool3d(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> output = c.SymInts("output_size");
  if (output == std::vector<SymInt>{1, 1, 1}) return {Mean(b, c["self"], {-1, -2, -3}, true)};
  return {b.Call("aten._adaptive_avg_pool3d.default", {c["self"], output})};
}

// Max pool with windows of one row.
std::vector<Argument> MaxPoolOfRows(OpBuilder& b, const OpCall& c, const Argument& x) {
  const std::vector<int64_t> stride = c.Ints("stride");
  const auto in_two = [](const std::vector<int64_t>& one, int64_t other) {
    return one.empty() ? std::vector<int64_t>() : std::vector<int64_t>{other, one[0]};
  };
  if (!b.ok()) return {};
  return b.CallAll("aten.max_pool2d_with_indices.default",
                   {x, in_two(c.Ints("kernel_size"), 1), in_two(stride, 1),
                    in_two(c.Ints("padding"), 0), in_two(c.Ints("dilation"), 1), c["ceil_mode"]});
}
std::vector<Argument> MaxPool1dWithIndices(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> pooled = MaxPoolOfRows(b, c, Unsqueeze(b, c["self"], -2));
  if (!b.ok() || pooled.size() < 2) return {};
  return {Squeeze(b, pooled[0], -2), Squeeze(b, pooled[1], -2)};
}
// Channels of an input of the graph are rows of an image: a view of an input would be a copy.
std::vector<Argument> MaxPool1d(OpBuilder& b, const OpCall& c) {
  const ValueId* const x = c["self"].get_if<ValueId>();
  const bool is_input =
      x != nullptr && !b.graph().value(*x).producer.valid() && b.rank(c["self"]) == 3;
  std::vector<Argument> pooled =
      is_input ? MaxPoolOfRows(b, c, c["self"]) : MaxPool1dWithIndices(b, c);
  pooled.resize(std::min<size_t>(pooled.size(), 1));
  return pooled;
}
std::vector<Argument> AdaptiveMaxPool1d(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> size = c.Ints("output_size");
  if (b.ok() && size.size() != 1) b.Invalid("output_size: expected one number");
  if (!b.ok()) return {};
  const std::vector<Argument> pooled =
      b.CallAll("aten.adaptive_max_pool2d.default",
                {Unsqueeze(b, c["self"], -2), std::vector<int64_t>{1, size[0]}});
  if (!b.ok()) return {};
  return {Squeeze(b, pooled[0], -2), Squeeze(b, pooled[1], -2)};
}

// Scatters elements to their original positions; zeros elsewhere.
template <int kSpatial>
std::vector<Argument> MaxUnpool(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &indices = c["indices"];
  std::vector<SymInt> sizes = b.sizes(x);
  const std::vector<SymInt> out = c.SymInts("output_size");
  const size_t spatial = kSpatial;
  if (b.ok() && (sizes.size() < spatial + 1 || out.size() != spatial)) {
    b.Invalid("max_unpool: too few dimensions");
  }
  if (!b.ok()) return {};
  sizes.resize(sizes.size() - spatial);
  std::vector<SymInt> flat = sizes, target = sizes;
  flat.push_back(SymInt(-1));
  target.push_back(Product(out));
  const Argument zeros = Full(b, target, 0, b.dtype(x));
  const Argument placed =
      b.Call("aten.scatter.src", {zeros, -1, Reshape(b, indices, flat), Reshape(b, x, flat)});
  sizes.insert(sizes.end(), out.begin(), out.end());
  return {Reshape(b, placed, sizes)};
}

// Window starts along a dimension: evenly spaced from an offset given by a sample in [0, 1] (per
// image and channel); the last window ends at the border.
Argument WindowStarts(OpBuilder& b, const Argument& sample, int64_t size, int64_t out,
                      int64_t kernel) {
  const DType dtype = b.dtype(sample);
  std::vector<SymInt> one = b.sizes(sample);
  one.push_back(1);
  const Argument last = Full(b, one, size - kernel, DType::kInt64);
  if (out == 1) return last;
  const double alpha = static_cast<double>(size - kernel) / static_cast<double>(out - 1);
  const Argument step = ScalarTensor(b, alpha, dtype);
  const auto whole = [&](const Argument& x) { return Cast(b, Mul(b, x, step), DType::kInt64); };
  const Argument from = Unsqueeze(b, sample, -1);
  const Argument places = Cast(b, Arange(b, out - 1), dtype);
  const Argument even = Sub(b, whole(Add(b, places, from)), whole(from));
  return Cat(b, {even, last}, -1);
}

// Maxima of fixed-size windows, and their positions in the image.
template <int kSpatial>
std::vector<Argument> FractionalMaxPool(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> kernel = c.Ints("kernel_size"), out = c.Ints("output_size");
  const int64_t rank = b.rank(c["self"]);
  if (b.ok() && rank != kSpatial + 1 && rank != kSpatial + 2)
    b.Invalid("wrong number of dimensions");
  if (!b.ok()) return {};
  Argument x = rank == kSpatial + 1 ? Unsqueeze(b, c["self"], 0) : c["self"];
  const std::vector<SymInt> sizes = b.sizes(x);
  // Flat image positions [batch, channels, out…, kernel…], built dimension by dimension.
  Argument places = Full(b, std::vector<int64_t>(2 + 2 * kSpatial, 1), 0, DType::kInt64);
  int64_t count = 1;
  for (int d = 0; d < kSpatial && b.ok(); ++d) {
    const std::optional<int64_t> size = sizes[2 + d].AsInt();
    if (!size.has_value()) {
      b.Unsupported("fractional_max_pool of images of unknown size");
    } else if (kernel[d] < 1 || out[d] < 1 || kernel[d] > *size || out[d] + kernel[d] - 1 > *size) {
      b.Invalid("fractional_max_pool: the windows do not fit into the image");
    }
    if (!b.ok()) return {};
    // In 2D, samples are stored with the last dimension first.
    const Argument sample = Select(b, c["random_samples"], 2, kSpatial == 2 ? 1 - d : d);
    std::vector<SymInt> start_shape = {sizes[0], sizes[1]}, offset_shape = {1, 1};
    for (int k = 0; k < kSpatial; ++k) start_shape.push_back(k == d ? out[d] : 1);
    for (int k = 0; k < kSpatial; ++k) start_shape.push_back(1);
    for (int k = 0; k < kSpatial; ++k) offset_shape.push_back(1);
    for (int k = 0; k < kSpatial; ++k) offset_shape.push_back(k == d ? kernel[d] : 1);
    const Argument starts = WindowStarts(b, sample, *size, out[d], kernel[d]);
    const Argument along =
        Add(b, Reshape(b, starts, start_shape), Reshape(b, Arange(b, kernel[d]), offset_shape));
    places = Add(b, Mul(b, places, *size), along);
    count *= kernel[d];
  }
  SymInt pixels = 1, elements_of_windows = count;
  std::vector<SymInt> windows = {sizes[0], sizes[1]};
  for (int d = 0; d < kSpatial; ++d) {
    pixels = pixels * sizes[2 + d];
    elements_of_windows = elements_of_windows * SymInt(out[d]);
    windows.push_back(out[d]);
  }
  windows.push_back(count);
  const Argument image = Reshape(b, x, {sizes[0], sizes[1], pixels});
  const Argument flat = Reshape(b, places, {sizes[0], sizes[1], elements_of_windows});
  const Argument elements = Reshape(b, b.Call("aten.gather.default", {image, 2, flat}), windows);
  const std::vector<Argument> largest = b.CallAll("aten.max.dim", {elements, -1, true});
  if (!b.ok()) return {};
  Argument index = b.Call("aten.gather.default", {Reshape(b, places, windows), -1, largest[1]});
  Argument value = Squeeze(b, largest[0], -1);
  index = Squeeze(b, index, -1);
  if (rank == kSpatial + 1) return {Squeeze(b, value, 0), Squeeze(b, index, 0)};
  return {value, index};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.adaptive_max_pool1d.default", AdaptiveMaxPool1d},
    {"aten.fractional_max_pool2d.default", FractionalMaxPool<2>},
    {"aten.fractional_max_pool3d.default", FractionalMaxPool<3>},
    {"aten.max_pool1d.default", MaxPool1d},
    {"aten.max_pool1d_with_indices.default", MaxPool1dWithIndices},
    {"aten.max_unpool2d.default", MaxUnpool<2>},
    {"aten.max_unpool3d.default", MaxUnpool<3>},
    {"aten.adaptive_avg_pool2d.default", AdaptiveAvgPool2d},
    {"aten.adaptive_avg_pool3d.default", AdaptiveAvgPool3d},
    {"aten.max_pool2d.default", MaxPool2d},
    {"aten.max_pool3d.default", MaxPool3d},
};

}  // namespace

absl::Span<const Decomposition> PoolingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
