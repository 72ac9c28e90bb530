// Resamples images and sequences.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// Output sizes and scales, one per spatial dimension.
struct Target {
  std::vector<SymInt> sizes;
  std::vector<Argument> scales;  // in the form of the overloads with a scale per dimension
};

std::optional<double> Number(const Argument& argument) {
  if (const double* value = argument.get_if<double>()) return *value;
  if (const int64_t* value = argument.get_if<int64_t>()) return static_cast<double>(*value);
  return std::nullopt;
}

const Argument& InputOf(const OpCall& c) { return c.arguments()[0]; }

// Target of the overloads with a list of sizes or a list of factors.
Target FromLists(OpBuilder& b, const OpCall& c, int64_t spatial) {
  Target target;
  const Argument& input = InputOf(c);
  if (!c.IsNone("output_size")) {
    target.sizes = c.SymInts("output_size");
    target.scales.resize(static_cast<size_t>(spatial));
  } else {
    target.scales = c.List("scale_factors");
    for (size_t i = 0; i < target.scales.size() && b.ok(); ++i) {
      if (static_cast<int64_t>(i) == spatial) break;
      const std::optional<double> factor = Number(target.scales[i]);
      if (!factor.has_value() || !(*factor > 0) || *factor > 1 << 20) {
        b.Invalid("scale_factors: expected positive numbers");
        break;
      }
      const SymInt size = b.size(input, static_cast<int64_t>(i) + 2);
      if (const std::optional<int64_t> known = size.AsInt()) {
        const double resized = std::floor(static_cast<double>(*known) * *factor);
        if (!(resized < 0x1p62)) b.Invalid("scale_factors: the result is too large");
        if (!b.ok()) break;
        target.sizes.push_back(SymInt(static_cast<int64_t>(resized)));
      } else if (std::floor(*factor) == *factor) {
        target.sizes.push_back(size * SymInt(static_cast<int64_t>(*factor)));
      } else {
        target.sizes.push_back(SymExpr::Function(
            "TruncToInt", {SymExpr::Function("ToFloat", {size}) * SymExpr::Float(*factor)}));
      }
    }
  }
  return target;
}

// Target of the overloads with a size list and separate scale arguments.
Target FromSizes(const OpCall& c, int spatial) {
  Target target;
  target.sizes = c.SymInts("output_size");
  if (spatial == 1) {
    target.scales = {c["scales"]};
  } else {
    if (spatial == 3) target.scales.push_back(c["scales_d"]);
    target.scales.push_back(c["scales_h"]);
    target.scales.push_back(c["scales_w"]);
  }
  return target;
}

// Target with one size and scale per spatial dimension. Fails unless the input has batch, channels
// and these dimensions.
template <int kSpatial, bool kLists>
Target TargetOf(OpBuilder& b, const OpCall& c) {
  if (b.rank(InputOf(c)) != kSpatial + 2) b.Invalid("expected a batch of channels of images");
  Target target = kLists ? FromLists(b, c, kSpatial) : FromSizes(c, kSpatial);
  if (b.ok() && (target.sizes.size() != kSpatial || target.scales.size() != kSpatial)) {
    b.Invalid(
        absl::StrCat("expected a size or a factor for each of ", kSpatial, " spatial dimensions"));
  }
  for (const SymInt& size : target.sizes) {
    if (b.ok() && b.Range(size).max < 1) {
      b.Invalid(absl::StrCat("output_size: expected positive numbers, got ", size.ToString()));
    }
  }
  return target;
}

// --- Nearest and linear: kernels support one and two dimensions ---

// The factor 1 marks a dimension along which nothing is blended, not even 0 times an infinity.
// `resize(image, size, factors)` resizes an image.
template <class Fn>
Argument OneDimension(OpBuilder& b, const Argument& x, const Target& target, Fn resize) {
  return Squeeze(
      b,
      resize(Unsqueeze(b, x, 2), {SymInt(1), target.sizes[0]}, {Argument(1.0), target.scales[0]}),
      2);
}
// Resizes height and width, then depth.
template <class Fn>
Argument ThreeDimensions(OpBuilder& b, const Argument& x, const Target& target, Fn resize) {
  const std::vector<SymInt> in = b.sizes(x);
  if (!b.ok()) return Argument();
  const std::vector<SymInt>& out = target.sizes;
  const Argument planes = resize(Reshape(b, x, {in[0], in[1] * in[2], in[3], in[4]}),
                                 {out[1], out[2]}, {target.scales[1], target.scales[2]});
  const Argument columns = resize(Reshape(b, planes, {in[0], in[1], in[2], out[1] * out[2]}),
                                  {out[0], out[1] * out[2]}, {target.scales[0], Argument(1.0)});
  return Reshape(b, columns, {in[0], in[1], out[0], out[1], out[2]});
}

template <int kSpatial, bool kLists>
std::vector<Argument> Nearest(OpBuilder& b, const OpCall& c) {
  const Target target = TargetOf<kSpatial, kLists>(b, c);
  if (!b.ok()) return {};
  const auto resize = [&](const Argument& x, const std::vector<SymInt>& sizes,
                          const std::vector<Argument>& scales) {
    return b.Call("aten.upsample_nearest2d.default", {x, sizes, scales[0], scales[1]});
  };
  return {kSpatial == 1 ? OneDimension(b, InputOf(c), target, resize)
                        : ThreeDimensions(b, InputOf(c), target, resize)};
}

template <int kSpatial, bool kLists>
std::vector<Argument> Linear(OpBuilder& b, const OpCall& c) {
  const Target target = TargetOf<kSpatial, kLists>(b, c);
  const bool corners = c.Bool("align_corners");
  if (!b.ok()) return {};
  const auto resize = [&](const Argument& x, const std::vector<SymInt>& sizes,
                          const std::vector<Argument>& scales) {
    return b.Call("aten.upsample_bilinear2d.default", {x, sizes, corners, scales[0], scales[1]});
  };
  return Computed(b, InputOf(c), [&](const Argument& x) {
    return kSpatial == 1 ? OneDimension(b, x, target, resize)
                         : ThreeDimensions(b, x, target, resize);
  });
}

template <OpName kOp>
std::vector<Argument> AntiAliased(OpBuilder& b, const OpCall& c) {
  const Target target = TargetOf<2, true>(b, c);
  if (!b.ok()) return {};
  return {b.Call(kOp.name, {c["input"], target.sizes, c["align_corners"], target.scales[0],
                            target.scales[1]})};
}

// --- By index along each dimension ---

// in / out in float32 or float64, or the caller's scale: a scalar, or a 0-dimensional tensor for a
// run-time value.
Argument Ratio(OpBuilder& b, const SymInt& in, const SymInt& out, const Argument& scale,
               DType dtype) {
  const std::optional<double> factor = Number(scale);
  if (factor.has_value() && *factor > 0) return Argument(1 / *factor);
  const std::optional<int64_t> have = in.AsInt(), want = out.AsInt();
  if (have.has_value() && want.has_value()) {
    if (dtype == DType::kFloat64) {
      return Argument(static_cast<double>(*have) / static_cast<double>(*want));
    }
    return Argument(static_cast<double>(static_cast<float>(*have) / static_cast<float>(*want)));
  }
  return Div(b, ScalarTensor(b, in, dtype), ScalarTensor(b, out, dtype));
}

Argument IndexAt(OpBuilder& b, const Argument& x, int64_t dim, const Argument& places) {
  return Clamp(b, Cast(b, places, DType::kInt64), 0, b.size(x, dim) - SymInt(1));
}
Argument Pick(OpBuilder& b, const Argument& x, int64_t dim, const Argument& places) {
  return b.Call("aten.index_select.default", {x, dim, IndexAt(b, x, dim, places)});
}

template <int kSpatial, bool kLists>
std::vector<Argument> NearestExact(OpBuilder& b, const OpCall& c) {
  const Target target = TargetOf<kSpatial, kLists>(b, c);
  if (!b.ok()) return {};
  Argument x = InputOf(c);
  for (int64_t d = 0; d < kSpatial && b.ok(); ++d) {
    const SymInt& out = target.sizes[static_cast<size_t>(d)];
    // PyTorch computes positions in float32, also for float64 images.
    const Argument ratio =
        Ratio(b, b.size(x, d + 2), out, target.scales[static_cast<size_t>(d)], DType::kFloat32);
    const Argument middle = Add(b, Cast(b, Arange(b, out), DType::kFloat32), 0.5);
    x = Pick(b, x, d + 2, Unary(b, "floor", Mul(b, middle, ratio)));
  }
  return {x};
}

// Weights of the four neighbors of a position with fraction `t` after the second neighbor.
std::vector<Argument> CubicWeights(OpBuilder& b, const Argument& t) {
  constexpr double kA = -0.75;
  const auto near = [&](const Argument& x) {
    // ((A + 2) x - (A + 3)) x² + 1
    return Add(b, Mul(b, Sub(b, Mul(b, x, kA + 2), kA + 3), Mul(b, x, x)), 1.0);
  };
  const auto far = [&](const Argument& x) {
    // ((A x - 5 A) x + 8 A) x - 4 A
    const Argument square = Mul(b, Sub(b, Mul(b, x, kA), 5 * kA), x);
    return Sub(b, Mul(b, Add(b, square, 8 * kA), x), 4 * kA);
  };
  const Argument rest = NumberMinus(b, 1.0, t);
  return {far(Add(b, t, 1.0)), near(t), near(rest), far(Add(b, rest, 1.0))};
}

// Distance of neighboring output positions in the input; Ratio without `corners`.
Argument StepOf(OpBuilder& b, const SymInt& in, const SymInt& out, bool corners,
                const Argument& scale, DType dtype) {
  if (!corners) return Ratio(b, in, out, scale, dtype);
  if (!in.AsInt().has_value() || !out.AsInt().has_value()) {
    // (in - 1) / (out - 1). A single position is at 0 for any finite step.
    return Div(b, ScalarTensor(b, in - SymInt(1), dtype),
               ScalarTensor(b, SymMax(out - SymInt(1), SymInt(1)), dtype));
  }
  const double steps = static_cast<double>(*out.AsInt()) - 1;
  return Argument(steps > 0 ? (static_cast<double>(*in.AsInt()) - 1) / steps : 0.0);
}

// Weight of neighbor -1, 0, 1 or 2 of a position at distance `t` after neighbor 0.
double CubicWeight(int64_t neighbor, double t) {
  constexpr double kA = -0.75;
  const double x = std::abs(static_cast<double>(neighbor) - t);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

// Fixed-point bits of PyTorch's weights for bytes: the most for which all weights fit into 16 bits.
// Weights outside the image are added to the weight of its border.
int BitsOfWeights(const SymInt& in, const SymInt& out, bool corners, const Argument& step) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const std::optional<double> distance = Number(step);
  const std::optional<int64_t> size = in.AsInt();
  if (!distance.has_value() || !size.has_value() || out.AsInt().value_or(kMost) >= kMost) return 14;
  double largest = 0;
  for (int64_t i = 0; i < *out.AsInt(); ++i) {
    const double index = static_cast<double>(i);
    const double place = corners ? index * *distance : (index + 0.5) * *distance - 0.5;
    const double below = std::floor(place);
    double sum = 0, before = -1;
    for (int64_t k = -1; k <= 2; ++k) {
      const double at =
          std::clamp(below + static_cast<double>(k), 0.0, static_cast<double>(*size) - 1);
      sum = (at == before ? sum : 0) + CubicWeight(k, place - below);
      before = at;
      largest = std::max(largest, sum);
    }
  }
  int bits = 0;
  while (bits < 22 && 0.5 + largest * std::exp2(bits + 1) < 0x1p15) ++bits;
  return bits;
}

// Adds the weights of equal indices, which are adjacent, to the first of them; the others are 0.
std::vector<Argument> WeightsOfIndices(OpBuilder& b, const std::vector<Argument>& indices,
                                       const std::vector<Argument>& weights) {
  std::vector<Argument> results;
  for (size_t k = 0; k < weights.size() && b.ok(); ++k) {
    Argument sum = weights[k];
    for (size_t j = k + 1; j < weights.size(); ++j) {
      const Argument same = Binary(b, "eq", indices[j], indices[k]);
      sum = Add(b, sum, Where(b, same, weights[j], 0));
    }
    if (k > 0) sum = Where(b, Binary(b, "eq", indices[k], indices[k - 1]), 0, sum);
    results.push_back(sum);
  }
  return results;
}

// Resizes the width, then the height. Bytes, which PyTorch computes with integers, are rounded
// after each pass.
template <bool kLists>
std::vector<Argument> Bicubic(OpBuilder& b, const OpCall& c) {
  const Target target = TargetOf<2, kLists>(b, c);
  const bool corners = c.Bool("align_corners");
  const DType dtype = b.dtype(InputOf(c));
  const bool bytes = dtype == DType::kUint8;
  if (!bytes && !IsFloatingPoint(dtype)) {
    b.Invalid("bicubic resampling: expected floating point numbers or bytes");
  }
  if (!b.ok()) return {};
  Argument x = Cast(b, InputOf(c), bytes ? DType::kFloat32 : ComputeDtype(dtype));
  const DType place_dtype = bytes ? DType::kFloat64 : b.dtype(x);
  // Columns first; but first the rows if there will be fewer. Bytes are rounded between them.
  const std::optional<int64_t> rows = b.size(x, 2).AsInt(), out_rows = target.sizes[0].AsInt();
  const bool rows_first = !bytes && rows.has_value() && out_rows.has_value() && *out_rows < *rows;
  for (int64_t d : {rows_first ? 0 : 1, rows_first ? 1 : 0}) {
    const SymInt in = b.size(x, d + 2), &out = target.sizes[static_cast<size_t>(d)];
    const Argument step =
        StepOf(b, in, out, corners, target.scales[static_cast<size_t>(d)], place_dtype);
    const Argument index = Cast(b, Arange(b, out), place_dtype);
    const Argument place =
        corners ? Mul(b, index, step) : Sub(b, Mul(b, Add(b, index, 0.5), step), 0.5);
    const Argument below = Unary(b, "floor", place);
    std::vector<Argument> weights = CubicWeights(b, Sub(b, place, below)), indices;
    for (int64_t k = 0; k < 4; ++k) indices.push_back(IndexAt(b, x, d + 2, Add(b, below, k - 1)));
    if (bytes) weights = WeightsOfIndices(b, indices, weights);
    if (!b.ok()) return {};
    const double unit = std::exp2(BitsOfWeights(in, out, corners, step));
    Argument sum;
    for (int64_t k = 0; k < 4 && b.ok(); ++k) {
      Argument weight = weights[static_cast<size_t>(k)];
      if (bytes) {
        const Argument half = Mul(b, Unary(b, "sign", weight), 0.5);
        weight = Unary(b, "trunc", Add(b, Mul(b, weight, unit), half));
        weight = Cast(b, weight, DType::kFloat32);  // exact, and so are the sums
      }
      if (d == 0) weight = Unsqueeze(b, weight, 1);
      const Argument term =
          Mul(b, b.Call("aten.index_select.default", {x, d + 2, indices[static_cast<size_t>(k)]}),
              weight);
      sum = k == 0 ? term : Add(b, sum, term);
    }
    x = bytes ? Clamp(b, Unary(b, "floor", Div(b, Add(b, sum, unit / 2), unit)), 0, 255) : sum;
  }
  return {Cast(b, x, dtype)};
}

// --- Grids ---

// `size` coordinates in [-1, 1]: the cell centers or, with `corners`, evenly spaced including the
// ends.
Argument Coordinates(OpBuilder& b, const SymInt& size, bool corners, DType dtype) {
  const std::optional<int64_t> count = size.AsInt();
  const Argument index = Cast(b, Arange(b, size), dtype);
  if (!count.has_value()) {
    // A single coordinate is 0.
    if (corners) {
      const Argument place = Div(b, Mul(b, index, 2.0), SymMax(size - SymInt(1), SymInt(1)));
      return Sub(b, place, SymMin(size - SymInt(1), SymInt(1)));
    }
    const Argument place = Sub(b, Mul(b, index, 2.0), size - SymInt(1));
    return Div(b, place, size);
  }
  if (*count <= 1) return Mul(b, index, 0.0);
  const double n = static_cast<double>(*count);
  if (corners) return Sub(b, Mul(b, index, 2 / (n - 1)), 1.0);
  return Sub(b, Mul(b, index, 2 / n), 1 - 1 / n);
}

std::vector<Argument> AffineGrid(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> size = c.SymInts("size");
  const bool corners = c.Bool("align_corners");
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  if (b.ok() && spatial != 2 && spatial != 3) b.Invalid("size: expected 4 or 5 numbers");
  if (!b.ok()) return {};
  return Computed(b, c["theta"], [&](const Argument& theta) {
    const DType dtype = b.dtype(theta);
    const std::vector<SymInt> places(size.begin() + 2, size.end());
    std::vector<SymInt> wide = places;
    wide.push_back(SymInt(1));
    std::vector<Argument> columns;
    // x is first: the last dimension.
    for (int64_t d = spatial; d-- > 0 && b.ok();) {
      std::vector<SymInt> sizes(static_cast<size_t>(spatial) + 1, SymInt(1));
      sizes[static_cast<size_t>(d)] = places[static_cast<size_t>(d)];
      const Argument line = Coordinates(b, places[static_cast<size_t>(d)], corners, dtype);
      columns.push_back(Expand(b, Reshape(b, line, sizes), wide));
    }
    columns.push_back(Full(b, wide, 1.0, dtype));
    if (!b.ok()) return Argument();
    const Argument base =
        Reshape(b, Cat(b, columns, spatial), {Product(places), SymInt(spatial + 1)});
    const Argument grid = b.Call("aten.matmul.default", {base, Transpose(b, theta, 1, 2)});
    std::vector<SymInt> sizes = {size[0]};
    sizes.insert(sizes.end(), places.begin(), places.end());
    sizes.push_back(SymInt(spatial));
    return Reshape(b, grid, sizes);
  });
}

std::vector<Argument> GridSampler(OpBuilder& b, const OpCall& c) {
  return {b.Call(
      b.rank(c["input"]) == 5 ? "aten.grid_sampler_3d.default" : "aten.grid_sampler_2d.default",
      {c.arguments().begin(), c.arguments().end()})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._upsample_bicubic2d_aa.vec", AntiAliased<"aten._upsample_bicubic2d_aa.default">},
    {"aten._upsample_bilinear2d_aa.vec", AntiAliased<"aten._upsample_bilinear2d_aa.default">},
    {"aten._upsample_lanczos2d_aa.vec", AntiAliased<"aten._upsample_lanczos2d_aa.default">},
    {"aten._upsample_nearest_exact1d.default", NearestExact<1, false>},
    {"aten._upsample_nearest_exact1d.vec", NearestExact<1, true>},
    {"aten._upsample_nearest_exact2d.default", NearestExact<2, false>},
    {"aten._upsample_nearest_exact2d.vec", NearestExact<2, true>},
    {"aten._upsample_nearest_exact3d.default", NearestExact<3, false>},
    {"aten._upsample_nearest_exact3d.vec", NearestExact<3, true>},
    {"aten.affine_grid_generator.default", AffineGrid},
    {"aten.grid_sampler.default", GridSampler},
    {"aten.upsample_bicubic2d.default", Bicubic<false>},
    {"aten.upsample_bicubic2d.vec", Bicubic<true>},
    {"aten.upsample_linear1d.default", Linear<1, false>},
    {"aten.upsample_linear1d.vec", Linear<1, true>},
    {"aten.upsample_nearest1d.default", Nearest<1, false>},
    {"aten.upsample_nearest1d.vec", Nearest<1, true>},
    {"aten.upsample_nearest3d.default", Nearest<3, false>},
    {"aten.upsample_nearest3d.vec", Nearest<3, true>},
    {"aten.upsample_trilinear3d.default", Linear<3, false>},
    {"aten.upsample_trilinear3d.vec", Linear<3, true>},
};

}  // namespace

absl::Span<const Decomposition> ResamplingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
