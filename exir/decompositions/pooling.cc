// Pooling and resampling.

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

// One output per channel is a mean.
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

std::vector<Argument> MaxPool1dWithIndices(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> stride = c.Ints("stride");
  const auto in_two = [](const std::vector<int64_t>& one, int64_t other) {
    return one.empty() ? std::vector<int64_t>() : std::vector<int64_t>{other, one[0]};
  };
  if (!b.ok()) return {};
  const std::vector<Argument> pooled =
      b.CallAll("aten.max_pool2d_with_indices.default",
                {Unsqueeze(b, c["self"], -2), in_two(c.Ints("kernel_size"), 1), in_two(stride, 1),
                 in_two(c.Ints("padding"), 0), in_two(c.Ints("dilation"), 1), c["ceil_mode"]});
  if (!b.ok()) return {};
  return {Squeeze(b, pooled[0], -2), Squeeze(b, pooled[1], -2)};
}
std::vector<Argument> MaxPool1d(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> pooled = MaxPool1dWithIndices(b, c);
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

// Elements go to where they came from, zeros elsewhere.
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

constexpr Decomposition kDecompositions[] = {
    {"aten.adaptive_max_pool1d.default", AdaptiveMaxPool1d},
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
