// Losses.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

std::vector<Argument> Reduced(OpBuilder& b, const OpCall& c, const Argument& loss) {
  const int64_t reduction = c.Int("reduction");
  if (reduction == kMean) return {MeanAll(b, loss)};
  if (reduction == kSum) return {SumAll(b, loss)};
  return {loss};
}
Argument Weighted(OpBuilder& b, const Argument& loss, const Argument& weight) {
  return weight.is_none() ? loss : Mul(b, loss, weight);
}
Argument Positive(OpBuilder& b, const Argument& x) { return Clamp(b, x, 0, Argument()); }
// max(margin - x, 0)
Argument Hinge(OpBuilder& b, double margin, const Argument& x) {
  return Positive(b, NumberMinus(b, margin, x));
}
Argument Neg(OpBuilder& b, const Argument& x) { return Unary(b, "neg", x); }

// --- Distances ---

std::vector<Argument> MseLoss(OpBuilder& b, const OpCall& c) {
  return Reduced(b, c, Pow(b, Sub(b, c["self"], c["target"]), 2));
}
std::vector<Argument> L1Loss(OpBuilder& b, const OpCall& c) {
  return Reduced(b, c, Unary(b, "abs", Sub(b, c["self"], c["target"])));
}
// z < delta ? z^2 / 2 : (z - delta / 2) * delta, as cut * (z - cut / 2) for cut = min(z, delta).
std::vector<Argument> HuberLoss(OpBuilder& b, const OpCall& c) {
  const double delta = c.Double("delta");
  const Argument z = Unary(b, "abs", Sub(b, c["self"], c["target"]));
  const Argument cut = Clamp(b, z, Argument(), delta);
  return Reduced(b, c, Mul(b, cut, Sub(b, z, Mul(b, cut, 0.5))));
}
// huber_loss / beta.
std::vector<Argument> SmoothL1Loss(OpBuilder& b, const OpCall& c) {
  const double beta = c.Double("beta");
  if (beta < 0) b.Invalid("smooth_l1_loss: beta is negative");
  const Argument z = Unary(b, "abs", Sub(b, c["self"], c["target"]));
  if (beta == 0) return Reduced(b, c, z);
  const Argument cut = Clamp(b, z, Argument(), beta);
  const Argument slope = beta == 1 ? cut : Div(b, cut, beta);
  return Reduced(b, c, Mul(b, slope, Sub(b, z, Mul(b, cut, 0.5))));
}

// --- Probabilities ---

// target * log(p) + (1 - target) * log(1 - p), with logarithms clamped to at least -100.
std::vector<Argument> BinaryCrossEntropy(OpBuilder& b, const OpCall& c) {
  const Argument &p = c["self"], &target = c["target"];
  const Argument no = Clamp(b, Unary(b, "log1p", Neg(b, p)), -100, Argument());
  const Argument yes = Clamp(b, Unary(b, "log", p), -100, Argument());
  const Argument loss = Sub(b, Mul(b, Sub(b, target, 1), no), Mul(b, target, yes));
  return Reduced(b, c, Weighted(b, loss, c["weight"]));
}
std::vector<Argument> BinaryCrossEntropyWithLogits(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &target = c["target"];
  Argument log = b.Call("aten.log_sigmoid.default", {x});
  if (!c.IsNone("pos_weight")) {
    log = Mul(b, Add(b, Mul(b, Sub(b, c["pos_weight"], 1), target), 1), log);
  }
  const Argument loss = Sub(b, Mul(b, NumberMinus(b, 1, target), x), log);
  return Reduced(b, c, Weighted(b, loss, c["weight"]));
}
std::vector<Argument> KlDiv(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &target = c["target"];
  if (c.Bool("log_target")) {
    return Reduced(b, c, Mul(b, Unary(b, "exp", target), Sub(b, target, x)));
  }
  const Argument entropy = b.Call("aten.xlogy.Tensor", {target, target});
  return Reduced(b, c, Sub(b, entropy, Mul(b, target, x)));
}
std::vector<Argument> PoissonNllLoss(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["input"], &target = c["target"];
  Argument loss = c.Bool("log_input")
                      ? Sub(b, Unary(b, "exp", x), Mul(b, target, x))
                      : Sub(b, x, Mul(b, target, Unary(b, "log", Add(b, x, c["eps"]))));
  if (c.Bool("full")) {
    // Stirling's approximation of log(target!).
    const Argument stirling =
        Add(b, Sub(b, Mul(b, target, Unary(b, "log", target)), target),
            Mul(b, Unary(b, "log", Mul(b, target, 2 * std::numbers::pi)), 0.5));
    loss = Add(b, loss, Where(b, Binary(b, "le", target, 1), 0.0, stirling));
  }
  return Reduced(b, c, loss);
}

// --- Classes ---

int64_t ClassDim(OpBuilder& b, const Argument& x) { return b.rank(x) < 2 ? 0 : 1; }

// Class weights, reshaped to the class dimension of x.
Argument ClassWeight(OpBuilder& b, const Argument& weight, const Argument& x) {
  std::vector<SymInt> sizes(std::max<int64_t>(b.rank(x), 1), SymInt(1));
  sizes[ClassDim(b, x)] = b.size(weight, 0);
  return sizes.size() == 1 ? weight : Reshape(b, weight, sizes);
}

struct Nll {
  Argument losses;        // one per target, 0 for ignored ones
  Argument kept;          // mask of targets that are not ignored
  Argument total_weight;  // sum of their weights
};
// Negative log likelihood of the target classes. `x` is [C] or [N, C, …], `target` is x without C.
Nll NllOf(OpBuilder& b, Argument x, const Argument& target, const Argument& weight,
          const SymInt& ignored) {
  const int64_t dim = ClassDim(b, x);
  const Argument kept = b.Call("aten.ne.Scalar", {target, ignored});
  const Argument safe = Unsqueeze(b, Where(b, kept, target, 0), dim);
  const auto pick = [&](const Argument& from) {
    const Argument picked = Squeeze(b, b.Call("aten.gather.default", {from, dim, safe}), dim);
    return Where(b, kept, picked, 0);
  };
  Argument total;
  if (weight.is_none()) {
    total = Cast(b, SumAll(b, kept), b.dtype(x));
  } else {
    const Argument weights = ClassWeight(b, weight, x);
    total = SumAll(b, pick(Expand(b, weights, b.sizes(x))));
    x = Mul(b, x, weights);
  }
  return {Neg(b, pick(x)), kept, total};
}
Argument ReducedNll(OpBuilder& b, const Nll& nll, int64_t reduction) {
  if (reduction == kNone) return nll.losses;
  const Argument sum = SumAll(b, nll.losses);
  return reduction == kSum ? sum : Div(b, sum, nll.total_weight);
}

// nll_loss for any rank: [C], [N, C], [N, C, d1, …].
std::vector<Argument> NllLoss(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const Nll nll = NllOf(b, x, c["target"], c["weight"], c.Sym("ignore_index"));
  return {ReducedNll(b, nll, c.Int("reduction"))};
}
std::vector<Argument> NllLossForward(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const Nll nll = NllOf(b, x, c["target"], c["weight"], c.Sym("ignore_index"));
  const int64_t reduction = c.Int("reduction");
  const bool none = reduction == kNone && b.rank(x) > 1;
  return {ReducedNll(b, nll, reduction),
          none ? ScalarTensor(b, 0.0, b.dtype(x)) : nll.total_weight};
}

// smoothing / classes: a scalar, or a 0-dimensional tensor for a run-time number.
Argument PerClass(OpBuilder& b, double smoothing, const SymInt& classes, DType dtype) {
  const std::optional<int64_t> count = classes.AsInt();
  if (count.has_value()) return Argument(smoothing / static_cast<double>(*count));
  return Div(b, ScalarTensor(b, smoothing, dtype), classes);
}

// The target has one probability per class.
std::vector<Argument> CrossEntropyOfProbabilities(OpBuilder& b, const OpCall& c,
                                                  const Argument& log, double smoothing) {
  const int64_t dim = ClassDim(b, log);
  const SymInt classes = b.size(log, dim);
  Argument target = c["target"];
  if (smoothing > 0) {
    target = Add(b, Mul(b, target, 1 - smoothing), PerClass(b, smoothing, classes, b.dtype(log)));
  }
  Argument product = Mul(b, log, target);
  if (!c.IsNone("weight")) product = Mul(b, product, ClassWeight(b, c["weight"], log));
  const int64_t reduction = c.Int("reduction");
  if (reduction == kNone) return {Neg(b, Sum(b, product, {dim}))};
  const Argument sum = Neg(b, SumAll(b, product));
  if (reduction == kSum) return {sum};
  std::vector<SymInt> others = b.sizes(log);
  if (!others.empty()) others.erase(others.begin() + dim);
  return {Div(b, sum, Product(others))};
}

std::vector<Argument> CrossEntropy(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &target = c["target"], &weight = c["weight"];
  const double smoothing = c.Double("label_smoothing");
  const int64_t reduction = c.Int("reduction"), dim = ClassDim(b, x);
  const Argument log = b.Call("aten.log_softmax.int", {x, dim});
  if (!b.ok()) return {};
  if (b.sizes(x) == b.sizes(target)) return CrossEntropyOfProbabilities(b, c, log, smoothing);
  const Nll nll = NllOf(b, log, target, weight, c.Sym("ignore_index"));
  const Argument loss = ReducedNll(b, nll, reduction);
  if (smoothing == 0) return {loss};
  // Contribution of each class.
  const Argument each =
      Neg(b, Sum(b, weight.is_none() ? log : Mul(b, log, ClassWeight(b, weight, log)), {dim}));
  const Nll smooth{Where(b, nll.kept, each, 0), nll.kept, nll.total_weight};
  return {Add(b, Mul(b, loss, 1 - smoothing),
              Mul(b, ReducedNll(b, smooth, reduction),
                  PerClass(b, smoothing, b.size(x, dim), b.dtype(log))))};
}

// --- Margins ---

std::vector<Argument> HingeEmbeddingLoss(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &target = c["target"];
  const Argument far = Where(b, Binary(b, "ne", target, 1), Hinge(b, c.Double("margin"), x), 0);
  const Argument near = Where(b, Binary(b, "ne", target, -1), x, 0);
  return Reduced(b, c, Add(b, far, near));
}

std::vector<Argument> CosineEmbeddingLoss(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["input1"], &y = c["input2"], &target = c["target"];
  const int64_t dim = b.rank(target);
  const auto dot = [&](const Argument& p, const Argument& q) {
    return Sum(b, Mul(b, p, q), {dim});
  };
  constexpr double kEpsilon = 1e-12;
  const Argument norms = Mul(b, Add(b, dot(x, x), kEpsilon), Add(b, dot(y, y), kEpsilon));
  const Argument cosine = Div(b, dot(x, y), Unary(b, "sqrt", norms));
  const Argument near = Where(b, Binary(b, "eq", target, 1), NumberMinus(b, 1, cosine), 0);
  const Argument far =
      Where(b, Binary(b, "eq", target, -1), Positive(b, Sub(b, cosine, c.Double("margin"))), 0);
  return Reduced(b, c, Add(b, near, far));
}

std::vector<Argument> MarginRankingLoss(OpBuilder& b, const OpCall& c) {
  const Argument difference = Sub(b, c["input1"], c["input2"]);
  return Reduced(b, c, Hinge(b, c.Double("margin"), Mul(b, c["target"], difference)));
}

std::vector<Argument> SoftMarginLoss(OpBuilder& b, const OpCall& c) {
  const Argument product = Mul(b, Neg(b, c["self"]), c["target"]);
  return Reduced(b, c, Unary(b, "log1p", Unary(b, "exp", product)));
}

std::vector<Argument> TripletMarginLoss(OpBuilder& b, const OpCall& c) {
  const auto distance = [&](const Argument& x, const Argument& y) {
    return b.Call("aten.pairwise_distance.default", {x, y, c["p"], c["eps"]});
  };
  const Argument near = distance(c["anchor"], c["positive"]);
  Argument far = distance(c["anchor"], c["negative"]);
  if (c.Bool("swap")) {
    far = b.Call("aten.minimum.default", {far, distance(c["positive"], c["negative"])});
  }
  return Reduced(b, c, Positive(b, Add(b, Sub(b, near, far), c.Double("margin"))));
}

// Adds a batch dimension: [N, C] and [N]; these losses also accept a single sample.
Argument Batched(OpBuilder& b, const Argument& x, int64_t rank) {
  Argument result = x;
  for (int64_t r = b.rank(x); r < rank; ++r) result = Unsqueeze(b, result, 0);
  return result;
}

std::vector<Argument> MultiMarginLoss(OpBuilder& b, const OpCall& c) {
  const Argument x = Batched(b, c["self"], 2), target = Batched(b, c["target"], 1);
  const Argument& weight = c["weight"];
  const double p = c.Double("p");
  if (p != 1 && p != 2) b.Invalid("multi_margin_loss: p is neither 1 nor 2");
  const Argument own = b.Call("aten.gather.default", {x, 1, Unsqueeze(b, target, 1)});
  Argument loss = Positive(b, Add(b, Sub(b, x, own), c.Double("margin")));
  if (p == 2) loss = Mul(b, loss, loss);
  if (!weight.is_none()) {
    loss = Mul(b, loss, Unsqueeze(b, b.Call("aten.index_select.default", {weight, 0, target}), 1));
  }
  const Argument others =
      b.Call("aten.ne.Tensor", {Arange(b, b.size(x, 1)), Unsqueeze(b, target, 1)});
  loss = Where(b, others, loss, 0);
  const int64_t reduction = c.Int("reduction");
  if (reduction == kMean) return {MeanAll(b, loss)};
  if (reduction == kSum) return {SumAll(b, Div(b, loss, b.size(x, 1)))};
  const Argument each = Mean(b, loss, {1});
  return {b.rank(c["target"]) == 0 ? Squeeze(b, each, 0) : each};
}

// Uses targets before the first -1. Returns the loss and the mask of target classes.
std::vector<Argument> MultilabelMargin(OpBuilder& b, const OpCall& c) {
  const Argument x = Batched(b, c["self"], 2), target = Batched(b, c["target"], 2);
  const SymInt classes = b.size(x, 1);
  const Argument index = Arange(b, classes);
  const Argument is_end = Binary(b, "eq", target, -1);
  const Argument end =
      b.Call("aten.amin.default", {Where(b, is_end, index, Full(b, {}, classes, DType::kInt64)),
                                   std::vector<int64_t>{-1}, true});
  const Argument valid = b.Call("aten.lt.Tensor", {index, end});  // [N, C], mask of targets
  const Argument chosen = Where(b, valid, target, 0);
  const Argument labels = Unsqueeze(b, Where(b, valid, target, -1), 2);
  const Argument is_target =
      b.Call("aten.any.dim", {b.Call("aten.eq.Tensor", {labels, index}), 1, false});
  // [N, target, class]
  const Argument own = Unsqueeze(b, b.Call("aten.gather.default", {x, 1, chosen}), 2);
  Argument loss = Positive(b, Add(b, Sub(b, Unsqueeze(b, x, 1), own), 1.0));
  const Argument counts =
      b.Call("aten.logical_and.default",
             {Unsqueeze(b, valid, 2), Unsqueeze(b, Unary(b, "logical_not", is_target), 1)});
  loss = Div(b, Sum(b, Where(b, counts, loss, 0), {1, 2}), classes);
  const int64_t reduction = c.Int("reduction");
  const Argument result = reduction == kMean      ? MeanAll(b, loss)
                          : reduction == kSum     ? SumAll(b, loss)
                          : b.rank(c["self"]) < 2 ? Squeeze(b, loss, 0)
                                                  : loss;
  return {result, Reshape(b, Cast(b, is_target, b.dtype(x)), b.sizes(c["target"]))};
}
std::vector<Argument> MultilabelMarginLoss(OpBuilder& b, const OpCall& c) {
  return {MultilabelMargin(b, c)[0]};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.binary_cross_entropy.default", BinaryCrossEntropy},
    {"aten.binary_cross_entropy_with_logits.default", BinaryCrossEntropyWithLogits},
    {"aten.cosine_embedding_loss.default", CosineEmbeddingLoss},
    {"aten.cross_entropy_loss.default", CrossEntropy},
    {"aten.hinge_embedding_loss.default", HingeEmbeddingLoss},
    {"aten.huber_loss.default", HuberLoss},
    {"aten.kl_div.default", KlDiv},
    {"aten.l1_loss.default", L1Loss},
    {"aten.margin_ranking_loss.default", MarginRankingLoss},
    {"aten.mse_loss.default", MseLoss},
    {"aten.multi_margin_loss.default", MultiMarginLoss},
    {"aten.multilabel_margin_loss.default", MultilabelMarginLoss},
    {"aten.multilabel_margin_loss_forward.default", MultilabelMargin},
    {"aten.nll_loss.default", NllLoss},
    {"aten.nll_loss2d.default", NllLoss},
    {"aten.nll_loss2d_forward.default", NllLossForward},
    {"aten.nll_loss_forward.default", NllLossForward},
    {"aten.nll_loss_nd.default", NllLoss},
    {"aten.poisson_nll_loss.default", PoissonNllLoss},
    {"aten.smooth_l1_loss.default", SmoothL1Loss},
    {"aten.soft_margin_loss.default", SoftMarginLoss},
    {"aten.triplet_margin_loss.default", TripletMarginLoss},
};

}  // namespace

absl::Span<const Decomposition> LossDecompositions() { return kDecompositions; }

}  // namespace belay::exir
