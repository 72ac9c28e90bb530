// Average and max pooling.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executorch/writer/portable_decompositions.h"
#include "exir/builder/op_shorthand.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpArgument;
using exir::OpBuilder;
using exir::OpCall;
using exir::SymInt;

// One number per dimension: a single number applies to all; an empty list means the kernel's sizes.
std::vector<int64_t> PerDimension(const OpCall& c, std::string_view name, size_t count) {
  std::vector<int64_t> numbers = c.Ints(name);
  if (numbers.empty()) numbers = c.Ints("kernel_size");
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  return numbers;
}

// Separable: averages over the last two dimensions and then over the one before them. The element
// count of a window is the product of the counts per dimension.
std::vector<Argument> AvgPool3d(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> kernel = PerDimension(c, "kernel_size", 3),
                             stride = PerDimension(c, "stride", 3),
                             padding = PerDimension(c, "padding", 3);
  std::vector<SymInt> sizes = b.sizes(c["self"]);
  if (!b.ok() || sizes.size() < 4) return {};
  const std::vector<SymInt> image(sizes.end() - 3, sizes.end());
  sizes.resize(sizes.size() - 3);
  const SymInt count = exir::Product(sizes);
  // With divisor 1, an average pool returns the sum over the plane.
  const auto pool = [&](const Argument& x, const std::vector<int64_t>& window,
                        const std::vector<int64_t>& step, const std::vector<int64_t>& border,
                        const Argument& divisor) {
    return b.Call("aten.avg_pool2d.default",
                  {x, window, step, border, c["ceil_mode"], c["count_include_pad"], divisor});
  };
  const DType dtype = b.dtype(c["self"]);
  const Argument x = exir::Cast(b, c["self"], exir::ComputeDtype(dtype));
  const Argument planes =
      pool(exir::Reshape(b, x, {count, image[0], image[1], image[2]}), {kernel[1], kernel[2]},
           {stride[1], stride[2]}, {padding[1], padding[2]},
           c.IsNone("divisor_override") ? Argument() : Argument(1));
  const SymInt rows = b.size(planes, 2), columns = b.size(planes, 3);
  const Argument lines =
      pool(exir::Reshape(b, planes, {count, 1, image[0], rows * columns}), {kernel[0], 1},
           {stride[0], 1}, {padding[0], 0}, c["divisor_override"]);
  sizes.insert(sizes.end(), {b.size(lines, 2), rows, columns});
  return {exir::Cast(b, exir::Reshape(b, lines, sizes), dtype)};
}

std::vector<Argument> AvgPool1d(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> kernel = PerDimension(c, "kernel_size", 1),
                             stride = PerDimension(c, "stride", 1),
                             padding = PerDimension(c, "padding", 1);
  if (!b.ok()) return {};
  return {
      exir::Squeeze(b,
                    b.Call("aten.avg_pool2d.default",
                           {exir::Unsqueeze(b, c["self"], -2), std::vector<int64_t>{1, kernel[0]},
                            std::vector<int64_t>{1, stride[0]}, std::vector<int64_t>{0, padding[0]},
                            c["ceil_mode"], c["count_include_pad"]}),
                    -2)};
}

// Returns input positions along one dimension as [window, element], for `out` windows; shorter
// windows repeat their last position.
Argument WindowPositions(OpBuilder& b, int64_t size, int64_t out, int64_t& longest) {
  longest = 1;
  for (int64_t i = 0; i < out; ++i) {
    longest = std::max(longest, ((i + 1) * size + out - 1) / out - i * size / out);
  }
  const Argument windows = exir::Mul(b, exir::Unsqueeze(b, exir::Arange(b, out), 1), size);
  const auto divided = [&](const Argument& x) {
    return b.Call("aten.div.Scalar_mode", {x, out}, {{"rounding_mode", std::string("floor")}});
  };
  const Argument first = divided(windows), last = divided(exir::Add(b, windows, size - 1));
  return b.Call("aten.minimum.default", {exir::Add(b, first, exir::Arange(b, longest)), last});
}

// Returns the largest element of each window and its position in the image.
template <int kSpatial>
std::vector<Argument> AdaptiveMaxPool(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> out = c.Ints("output_size");
  std::vector<SymInt> sizes = b.sizes(c["self"]);
  if (!b.ok() || sizes.size() < kSpatial) return {};
  const std::vector<SymInt> image(sizes.end() - kSpatial, sizes.end());
  sizes.resize(sizes.size() - kSpatial);
  // Shape [windows…, elements of a window…].
  Argument places = exir::Full(b, std::vector<int64_t>(2 * kSpatial, 1), 0, DType::kInt64);
  int64_t windows = 1, elements = 1;
  for (int d = 0; d < kSpatial && b.ok(); ++d) {
    const int64_t size = image[d].AsInt().value_or(1);
    int64_t longest = 0;
    const Argument along = WindowPositions(b, size, out[d], longest);
    std::vector<int64_t> shape(2 * kSpatial, 1);
    shape[d] = out[d];
    shape[kSpatial + d] = longest;
    places = exir::Add(b, exir::Mul(b, places, size), exir::Reshape(b, along, shape));
    windows *= out[d];
    elements *= longest;
  }
  const SymInt count = exir::Product(sizes);
  const Argument flat = exir::Reshape(b, c["self"], {count, exir::Product(image)});
  const Argument all = exir::Reshape(
      b, b.Call("aten.index_select.default", {flat, 1, exir::Reshape(b, places, {-1})}),
      {count, windows, elements});
  const std::vector<Argument> largest = b.CallAll("aten.max.dim", {all, -1, true});
  if (!b.ok()) return {};
  Argument chosen = largest[1];
  if (IsFloatingPoint(b.dtype(all))) {  // the last NaN; max returns the first
    const Argument nans =
        exir::Where(b, exir::Unary(b, "isnan", all), exir::Arange(b, elements), -1);
    const Argument last = b.Call("aten.amax.default", {nans, std::vector<int64_t>{-1}, true});
    chosen = exir::Where(b, exir::Binary(b, "ge", last, 0), last, chosen);
  }
  const Argument of =
      exir::Expand(b, exir::Reshape(b, places, {1, windows, elements}), {count, windows, elements});
  const Argument index = b.Call("aten.gather.default", {of, -1, chosen});
  for (int64_t n : out) sizes.push_back(n);
  return {exir::Reshape(b, largest[0], sizes), exir::Reshape(b, index, sizes)};
}

constexpr exir::Decomposition kDecompositions[] = {
    {"aten.adaptive_max_pool2d.default", AdaptiveMaxPool<2>},
    {"aten.adaptive_max_pool3d.default", AdaptiveMaxPool<3>},
    {"aten.avg_pool1d.default", AvgPool1d},
    {"aten.avg_pool3d.default", AvgPool3d},
};

}  // namespace

absl::Span<const exir::Decomposition> WindowDecompositions() { return kDecompositions; }

}  // namespace belay::pte
