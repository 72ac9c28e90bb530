// Activation functions.

#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

std::vector<Argument> Silu(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"],
                  [&](const Argument& x) { return Mul(b, x, Unary(b, "sigmoid", x)); });
}

// relu6(x + 3) / 6
std::vector<Argument> HardSigmoid(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"],
                  [&](const Argument& x) { return Div(b, Clamp(b, Add(b, x, 3), 0, 6), 6); });
}
std::vector<Argument> HardSwish(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) {
    return Div(b, Mul(b, x, Clamp(b, Add(b, x, 3), 0, 6)), 6);
  });
}
std::vector<Argument> Relu6(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.hardtanh.default", {c["self"], 0, 6})};
}

std::vector<Argument> Celu(OpBuilder& b, const OpCall& c) {
  const double alpha = c.Double("alpha");
  if (alpha == 0) b.Invalid("celu: alpha is 0");
  return {b.Call("aten.elu.default", {c["self"], alpha, 1.0, 1.0 / alpha})};
}
std::vector<Argument> Selu(OpBuilder& b, const OpCall& c) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return {b.Call("aten.elu.default", {c["self"], kAlpha, kScale})};
}

// Gates the first half of a dimension by the second.
std::vector<Argument> Glu(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) {
    const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
    const SymInt size = b.size(x, dim);
    if (b.rank(x) == 0) b.Invalid("glu: the input has no dimensions");
    if (size.AsInt().value_or(0) % 2 != 0) b.Invalid("glu: the dimension has an odd size");
    if (!b.ok()) return Argument();
    const SymInt half = FloorDiv(size, SymInt(2));
    if (!(half + half == size)) {
      // Fails at run time if the size is odd. A size of -1 would be ambiguous for empty tensors.
      std::vector<SymInt> parts = b.sizes(x);
      parts[dim] = half;
      parts.insert(parts.begin() + dim, SymInt(2));
      const Argument pair = Reshape(b, x, parts);
      return Mul(b, b.Call("aten.select.int", {pair, dim, 0}),
                 Unary(b, "sigmoid", b.Call("aten.select.int", {pair, dim, 1})));
    }
    const Argument halves =
        b.Call("aten.split_with_sizes.default", {x, std::vector<SymInt>{half, half}, dim});
    const Argument::List* list = halves.get_if<Argument::List>();
    return list == nullptr ? Argument() : Mul(b, (*list)[0], Unary(b, "sigmoid", (*list)[1]));
  });
}

// |x| <= lambda ? 0 : x
std::vector<Argument> HardShrink(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  return {Where(b, Binary(b, "le", Unary(b, "abs", x), c["lambd"]), 0, x)};
}
// x > lambda ? x - lambda : x < -lambda ? x + lambda : 0, as x - clamp(x, -lambda, lambda). Keeps NaN.
std::vector<Argument> SoftShrink(OpBuilder& b, const OpCall& c) {
  const double lambda = c.Double("lambd");
  if (lambda < 0) b.Invalid("softshrink: lambd is negative");
  return Computed(b, c["self"],
                  [&](const Argument& x) { return Sub(b, x, Clamp(b, x, -lambda, lambda)); });
}

// log(sigmoid(x)) without overflow.
Argument LogSigmoidOf(OpBuilder& b, const Argument& x) {
  const Argument decay = Unary(b, "exp", Unary(b, "neg", Unary(b, "abs", x)));
  return Sub(b, Clamp(b, x, Argument(), 0), Unary(b, "log1p", decay));
}
std::vector<Argument> LogSigmoid(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) { return LogSigmoidOf(b, x); });
}
std::vector<Argument> LogSigmoidForward(OpBuilder& b, const OpCall& c) {
  const DType dtype = b.dtype(c["self"]);
  const Argument x = Cast(b, c["self"], ComputeDtype(dtype));
  const Argument decay = Unary(b, "exp", Unary(b, "neg", Unary(b, "abs", x)));
  return {Cast(b, LogSigmoidOf(b, x), dtype), Cast(b, decay, dtype)};
}

// log(p / (1 - p)), with p clamped to [eps, 1 - eps]. If eps is above 0.5, smaller p become eps, and
// others 1 - eps.
std::vector<Argument> Logit(OpBuilder& b, const OpCall& c) {
  return ComputedFloat(b, c["self"], [&](const Argument& x) {
    const double eps = c.IsNone("eps") ? -1 : c.Double("eps");
    Argument p = eps < 0 ? x : Clamp(b, x, eps, 1 - eps);
    if (eps > 0.5) {
      p = Where(b, Binary(b, "lt", x, eps), ScalarTensor(b, Argument(eps), b.dtype(x)), p);
    }
    return Unary(b, "log", Div(b, p, NumberMinus(b, 1, p)));
  });
}

// log(1 + exp(beta x)) / beta, or x above the threshold.
Argument SoftplusOf(OpBuilder& b, const Argument& x, double beta, double threshold) {
  const Argument scaled = beta == 1 ? x : Mul(b, x, beta);
  const Argument log = Unary(b, "log1p", Unary(b, "exp", scaled));
  return Where(b, Binary(b, "gt", scaled, threshold), x, beta == 1 ? log : Div(b, log, beta));
}
std::vector<Argument> Softplus(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) {
    return SoftplusOf(b, x, c.Double("beta"), c.Double("threshold"));
  });
}
std::vector<Argument> Mish(OpBuilder& b, const OpCall& c) {
  return Computed(b, c["self"], [&](const Argument& x) {
    return Mul(b, x, Unary(b, "tanh", SoftplusOf(b, x, 1, 20)));
  });
}

Argument Leaky(OpBuilder& b, const Argument& x, const Argument& slope) {
  return Where(b, Binary(b, "gt", x, 0), x, Mul(b, x, slope));
}
// Slope: one for all, or one per channel.
std::vector<Argument> PRelu(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  Argument weight = c["weight"];
  const int64_t rank = b.rank(x);
  if (!b.ok()) return {};
  if (b.rank(weight) > 1) b.Invalid("prelu: expected a weight of at most one dimension");
  if (b.rank(weight) != rank) {
    std::vector<SymInt> sizes(rank, SymInt(1));
    if (rank > 1) sizes[1] = b.meta(weight).NumElements();
    weight = Reshape(b, weight, sizes);
  }
  return {Leaky(b, x, weight)};
}
std::vector<Argument> PReluKernel(OpBuilder& b, const OpCall& c) {
  return {Leaky(b, c["self"], c["weight"])};
}
std::vector<Argument> AddRelu(OpBuilder& b, const OpCall& c) {
  const bool tensor = b.IsTensor(c["other"]);
  return {Unary(
      b, "relu",
      b.Call(tensor ? "aten.add.Tensor" : "aten.add.Scalar", {c["self"], c["other"], c["alpha"]}))};
}

std::vector<Argument> Threshold(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  return {Where(b, Binary(b, "le", x, c["threshold"]), c["value"], x)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._add_relu.Scalar", AddRelu},
    {"aten._add_relu.Tensor", AddRelu},
    {"aten._prelu_kernel.default", PReluKernel},
    {"aten.celu.default", Celu},
    {"aten.glu.default", Glu},
    {"aten.hardshrink.default", HardShrink},
    {"aten.hardsigmoid.default", HardSigmoid},
    {"aten.hardswish.default", HardSwish},
    {"aten.log_sigmoid.default", LogSigmoid},
    {"aten.log_sigmoid_forward.default", LogSigmoidForward},
    {"aten.logit.default", Logit},
    {"aten.mish.default", Mish},
    {"aten.prelu.default", PRelu},
    {"aten.relu6.default", Relu6},
    {"aten.selu.default", Selu},
    {"aten.silu.default", Silu},
    {"aten.softplus.default", Softplus},
    {"aten.softshrink.default", SoftShrink},
    {"aten.special_expit.default", Same<"aten.sigmoid.default">},
    {"aten.special_logit.default", Same<"aten.logit.default">},
    {"aten.threshold.default", Threshold},
};

}  // namespace

absl::Span<const Decomposition> ActivationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
