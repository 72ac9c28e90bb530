// Random numbers of all distributions, derived from uniform and normal ones.
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// Uniform numbers of this dtype with the sizes and layout of `like`.
Argument Uniform(OpBuilder& b, const Argument& like, DType dtype) {
  return b.Call("aten.rand_like.default", {like}, {{"dtype", dtype}});
}
Argument Normal(OpBuilder& b, const Argument& like) {
  return b.Call("aten.randn_like.default", {like});
}

// The generator of an archive is always the default one.
void CheckGenerator(OpBuilder& b, const OpCall& c) {
  if (!c.IsNone("generator")) b.Unsupported("a generator of the caller's");
}

// Table row of an operator whose numbers are a function of uniform ones in [0, 1). These are
// doubles: float32 numbers are multiples of 2^-24, which logarithms and tangents make visible.
template <Argument (*kOf)(OpBuilder&, const OpCall&, const Argument&)>
std::vector<Argument> OfUniform(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  if (!b.ok()) return {};
  const Argument& self = c["self"];
  return {Cast(b, kOf(b, c, Uniform(b, self, DType::kFloat64)), b.dtype(self))};
}
// log(1 - u), exact for small u. Its negative is exponentially distributed.
Argument LogOneMinus(OpBuilder& b, const Argument& uniform) {
  return Unary(b, "log1p", Unary(b, "neg", uniform));
}
void ExpectPositive(OpBuilder& b, const OpCall& c, std::string_view name) {
  if (c.Double(name) > 0) return;
  b.Invalid(absl::StrCat(name, ": expected a positive number, got ", c.Double(name)));
}
Argument ExponentialOf(OpBuilder& b, const OpCall& c, const Argument& uniform) {
  ExpectPositive(b, c, "lambd");
  return Mul(b, LogOneMinus(b, uniform), -1 / c.Double("lambd"));
}
Argument CauchyOf(OpBuilder& b, const OpCall& c, const Argument& uniform) {
  ExpectPositive(b, c, "sigma");
  const Argument angle = Mul(b, Sub(b, uniform, 0.5), std::numbers::pi);
  return Add(b, Mul(b, Unary(b, "tan", angle), c["sigma"]), c["median"]);
}
// Number of trials up to the first success.
Argument GeometricOf(OpBuilder& b, const OpCall& c, const Argument& uniform) {
  const double p = c.Double("p");
  if (!(p > 0 && p < 1)) b.Invalid(absl::StrCat("p: expected a number between 0 and 1, got ", p));
  const Argument tries = Mul(b, LogOneMinus(b, uniform), 1 / std::log1p(-p));
  return Clamp(b, Unary(b, "ceil", tries), 1, Argument());
}
Argument UniformOf(OpBuilder& b, const OpCall& c, const Argument& uniform) {
  const double from = c.Double("from"), to = c.Double("to");
  if (!(from <= to)) {
    b.Invalid(absl::StrCat("to: expected no less than from, ", from, ", got ", to));
  }
  return Add(b, Mul(b, uniform, to - from), from);
}

// Both parts of complex numbers are uniform.
std::vector<Argument> Uniforms(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  if (!b.ok()) return {};
  const Argument& self = c["self"];
  const bool is_complex = IsComplex(b.dtype(self));
  const Argument parts = is_complex ? Unary(b, "view_as_real", self) : self;
  const Argument drawn =
      Cast(b, UniformOf(b, c, Uniform(b, parts, DType::kFloat64)), b.dtype(parts));
  return {is_complex ? Unary(b, "view_as_complex", drawn) : drawn};
}

// 1 with probability p, a tensor or a scalar.
Argument Trial(OpBuilder& b, const Argument& like, const Argument& p) {
  const bool exact = b.IsTensor(p) && b.dtype(p) == DType::kFloat64;
  const Argument uniform = Uniform(b, like, exact ? DType::kFloat64 : DType::kFloat32);
  return Cast(b, Binary(b, "lt", uniform, p), b.dtype(like));
}
std::vector<Argument> Bernoulli(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  const bool has_p = c.op()->schema()->ArgumentIndex("p").has_value();
  return {Trial(b, c["self"], has_p ? c["p"] : c["self"])};
}

// mean + std * z
Argument Normals(OpBuilder& b, const OpCall& c, const Argument& z) {
  CheckGenerator(b, c);
  if (!b.IsTensor(c["std"]) && !(c.Double("std") >= 0)) {
    b.Invalid(absl::StrCat("std: expected no negative number, got ", c.Double("std")));
  }
  return Add(b, Mul(b, z, c["std"]), c["mean"]);
}
std::vector<Argument> NormalLike(OpBuilder& b, const OpCall& c) {
  return {Normals(b, c, Normal(b, c["self"]))};
}
std::vector<Argument> LogNormal(OpBuilder& b, const OpCall& c) {
  return {Unary(b, "exp", Normals(b, c, Normal(b, c["self"])))};
}
// Normal numbers for broadcast mean and std, in the dtype of the mean.
std::vector<Argument> NormalOf(OpBuilder& b, const OpCall& c) {
  const Argument& mean = c["mean"];
  const Argument& std = c["std"];
  if (!b.IsTensor(mean) || !b.IsTensor(std)) {
    return {Normals(b, c, Normal(b, b.IsTensor(mean) ? mean : std))};
  }
  const Argument z =
      b.Call("aten.randn.default", {BroadcastSizes(b, {mean, std})}, {{"dtype", b.dtype(mean)}});
  return {Cast(b, Normals(b, c, z), b.dtype(mean))};
}
std::vector<Argument> NormalSized(OpBuilder& b, const OpCall& c) {
  return {Normals(
      b, c,
      b.Call("aten.randn.default", {c["size"]}, {{"dtype", c.DtypeOr("dtype", DType::kFloat32)}}))};
}

// --- Integers ---

Argument Integers(OpBuilder& b, const OpArgument& low, const OpArgument& high,
                  const OpArgument& size, DType dtype) {
  return b.Call("aten.randint.low", {low, high, size}, {{"dtype", dtype}});
}
std::vector<Argument> RandintBelow(OpBuilder& b, const OpCall& c) {
  return {Integers(b, 0, c["high"], c["size"], c.DtypeOr("dtype", DType::kInt64))};
}
// The same operators with an explicit generator.
std::vector<Argument> RandGenerator(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  return {b.Call("aten.rand.default", {c["size"]}, {{"dtype", c["dtype"]}})};
}
std::vector<Argument> RandnGenerator(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  return {b.Call("aten.randn.default", {c["size"]}, {{"dtype", c["dtype"]}})};
}
std::vector<Argument> RandpermGenerator(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  return {b.Call("aten.randperm.default", {c["n"]}, {{"dtype", c["dtype"]}})};
}
std::vector<Argument> RandintBelowGenerator(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  return RandintBelow(b, c);
}
std::vector<Argument> RandintGenerator(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  return {Integers(b, c["low"], c["high"], c["size"], c.DtypeOr("dtype", DType::kInt64))};
}
std::vector<Argument> RandintLike(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const bool has_low = c.op()->schema()->ArgumentIndex("low").has_value();
  return {Integers(b, has_low ? c["low"] : Argument(0), c["high"], b.sizes(self),
                   c.DtypeOr("dtype", b.dtype(self)))};
}
// Exclusive upper bound: one past the largest integer of the dtype; for floating point, the end of
// the range in which all integers are representable. For int64 the largest is excluded.
int64_t EndOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 2;
    case DType::kUint8:
    case DType::kBFloat16:
      return 256;
    case DType::kInt8:
      return 128;
    case DType::kFloat16:
      return 2048;
    case DType::kInt16:
      return 32768;
    case DType::kFloat32:
      return int64_t{1} << 24;
    case DType::kInt32:
      return int64_t{1} << 31;
    case DType::kFloat64:
      return int64_t{1} << 53;
    default:
      return std::numeric_limits<int64_t>::max();
  }
}
std::vector<Argument> Randoms(OpBuilder& b, const OpCall& c) {
  CheckGenerator(b, c);
  const Argument& self = c["self"];
  const DType dtype = b.dtype(self);
  const auto given = [&](std::string_view name, int64_t otherwise) {
    const bool has = c.op()->schema()->ArgumentIndex(name).has_value();
    return has && !c.IsNone(name) ? c.Int(name) : otherwise;
  };
  return {Integers(b, given("from", 0), given("to", EndOf(dtype)), b.sizes(self), dtype)};
}

// Indices drawn with probabilities proportional to the weights.
std::vector<Argument> Multinomial(OpBuilder& b, const OpCall& c) {
  const Argument& self = c["self"];
  const int64_t rank = b.rank(self);
  const bool replaces = c.Bool("replacement");
  CheckGenerator(b, c);
  if (rank != 1 && rank != 2) b.Invalid("multinomial: expected weights of 1 or 2 dimensions");
  if (!b.ok()) return {};
  const Argument weights = Cast(b, self, DType::kFloat64);
  const Argument count = b.Size(c.Sym("num_samples"));
  const auto check = [&](const Argument& condition, std::string_view message) {
    b.Call("aten._assert_async.msg",
           {b.Call("aten.all.default", {condition}), Argument(std::string(message))});
  };
  const Argument at_least_zero = Binary(b, "ge", weights, 0);
  const Argument finite = Binary(b, "lt", weights, std::numeric_limits<double>::infinity());
  check(b.Call("aten.logical_and.default", {at_least_zero, finite}),
        "multinomial: expected weights that are finite and not negative");
  const Argument positive = Sum(b, Binary(b, "gt", weights, 0), {-1});
  check(Binary(b, "ge", positive, replaces ? Argument(1) : count),
        replaces ? "multinomial: expected a positive weight in each row"
                 : "multinomial: expected as many positive weights in each row as are drawn");
  if (!replaces) {
    // Take the smallest of exponential numbers with the weights as rates.
    const Argument exponential =
        Unary(b, "neg", LogOneMinus(b, Uniform(b, weights, DType::kFloat64)));
    const Argument keys = Div(b, weights, exponential);
    return {b.CallAll("aten.topk.default", {keys, count, -1, true, true})[1]};
  }
  const Argument sums = b.Call("aten.cumsum.default", {weights, -1});
  const Argument bounds = Div(b, sums, Slice(b, sums, rank - 1, -1, INT64_MAX));
  std::vector<OpArgument> sizes;
  if (rank == 2) sizes.emplace_back(b.size(self, 0));
  sizes.emplace_back(count);
  const Argument places =
      b.Call("aten.rand.default", {OpArgument(std::move(sizes))}, {{"dtype", DType::kFloat64}});
  return {b.Call("aten.searchsorted.Tensor", {bounds, places, false, true})};
}

// --- Dropout ---

std::vector<Argument> Dropout(OpBuilder& b, const OpCall& c) {
  if (c.Bool("train") && c.Double("p") != 0) {
    return {b.Call("aten.native_dropout.default", {c["input"], c["p"], true})};
  }
  return {c["input"]};
}
// Dropout of whole channels, and alpha dropout, which keeps mean and variance (Klambauer et al.,
// "Self-normalizing neural networks", 2017: dropped elements become SELU's saturation value).
template <bool kChannels, bool kAlpha>
std::vector<Argument> OtherDropout(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["input"];
  const double p = c.Double("p");
  if (!c.Bool("train") || p == 0) return {x};
  if (!(p > 0 && p <= 1)) b.Invalid(absl::StrCat("p: expected a number from 0 to 1, got ", p));
  if (b.ok() && p == 1) return {Mul(b, x, 0)};
  if (kChannels && b.rank(x) < 2) b.Invalid("feature dropout: expected at least 2 dimensions");
  if (!b.ok()) return {};
  Argument like = x;
  if (kChannels) {
    std::vector<SymInt> sizes = b.sizes(x);
    std::fill(sizes.begin() + 2, sizes.end(), SymInt(1));
    like = Full(b, sizes, 0, b.dtype(x));
  }
  const Argument kept = Trial(b, like, Argument(1 - p));
  if (!kAlpha) return {Mul(b, x, Mul(b, kept, 1 / (1 - p)))};
  constexpr double kSaturation = 1.7580993408473766;
  const double scale = 1 / std::sqrt((kSaturation * kSaturation * p + 1) * (1 - p));
  const Argument shift =
      Add(b, Mul(b, Sub(b, kept, 1), kSaturation * scale), kSaturation * scale * p);
  return {Add(b, Mul(b, x, Mul(b, kept, scale)), shift)};
}

// rrelu: negative elements have a random slope in training, otherwise the mean slope. The second
// operator returns the noise, which is the slopes.
std::vector<Argument> Slopes(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const double lower = c.Double("lower"), upper = c.Double("upper");
  const Argument random = Add(b, Mul(b, Uniform(b, x, b.dtype(x)), upper - lower), lower);
  const Argument noise = Where(b, Binary(b, "le", x, 0), random, 1.0);
  return {Mul(b, x, noise), noise};
}
std::vector<Argument> RRelu(OpBuilder& b, const OpCall& c) {
  if (c.Bool("training")) return {Slopes(b, c)[0]};
  return {
      b.Call("aten.leaky_relu.default", {c["self"], (c.Double("lower") + c.Double("upper")) / 2})};
}
std::vector<Argument> RReluWithNoise(OpBuilder& b, const OpCall& c) {
  if (c.Bool("training")) return Slopes(b, c);
  return {RRelu(b, c)[0], Clone(b, c["noise"])};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.alpha_dropout.default", OtherDropout<false, true>},
    {"aten.bernoulli.Tensor", Bernoulli},
    {"aten.bernoulli.default", Bernoulli},
    {"aten.bernoulli.p", Bernoulli},
    {"aten.cauchy.default", OfUniform<CauchyOf>},
    {"aten.dropout.default", Dropout},
    {"aten.exponential.default", OfUniform<ExponentialOf>},
    {"aten.feature_alpha_dropout.default", OtherDropout<true, true>},
    {"aten.feature_dropout.default", OtherDropout<true, false>},
    {"aten.geometric.default", OfUniform<GeometricOf>},
    {"aten.log_normal.default", LogNormal},
    {"aten.multinomial.default", Multinomial},
    {"aten.normal.Tensor_Tensor", NormalOf},
    {"aten.normal.Tensor_float", NormalOf},
    {"aten.normal.float_Tensor", NormalOf},
    {"aten.normal.float_float", NormalSized},
    {"aten.normal_functional.default", NormalLike},
    {"aten.rand.generator", RandGenerator},
    {"aten.randint.default", RandintBelow},
    {"aten.randint.generator", RandintBelowGenerator},
    {"aten.randint.low_generator", RandintGenerator},
    {"aten.randint_like.default", RandintLike},
    {"aten.randint_like.low_dtype", RandintLike},
    {"aten.randn.generator", RandnGenerator},
    {"aten.random.default", Randoms},
    {"aten.random.from", Randoms},
    {"aten.random.to", Randoms},
    {"aten.randperm.generator", RandpermGenerator},
    {"aten.rrelu.default", RRelu},
    {"aten.rrelu_with_noise_functional.default", RReluWithNoise},
    {"aten.uniform.default", Uniforms},
};

}  // namespace

absl::Span<const Decomposition> RandomDecompositions() { return kDecompositions; }

}  // namespace belay::exir
