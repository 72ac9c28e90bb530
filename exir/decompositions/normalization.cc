// Normalisation, dropout, softmax.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

std::vector<Argument> LayerNorm(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.native_layer_norm.default",
                 {c["input"], c["normalized_shape"], c["weight"], c["bias"], c["eps"]})};
}

// In training mode the running statistics are written.
std::vector<Argument> BatchNorm(OpBuilder& b, const OpCall& c) {
  const Argument &input = c["input"], &mean = c["running_mean"], &var = c["running_var"];
  const bool training = c.Bool("training");
  if (!b.ok()) return {};
  if (!training) {
    return {b.Call("aten._native_batch_norm_legit_no_training.default",
                   {input, c["weight"], c["bias"], mean, var, c["momentum"], c["eps"]})};
  }
  const Argument result = b.Call("aten._native_batch_norm_legit.no_stats",
                                 {input, c["weight"], c["bias"], true, c["momentum"], c["eps"]});
  if (mean.is_none() || var.is_none() || !b.ok()) return {result};
  std::vector<int64_t> others = AllDims(b.rank(input));
  others.erase(others.begin() + 1);
  std::vector<SymInt> sizes = b.sizes(input);
  sizes.erase(sizes.begin() + 1);
  const Argument wide = Cast(b, input, ComputeDtype(b.dtype(input)));
  const double momentum = c.Double("momentum");
  const auto update = [&](const Argument& running, const Argument& batch) {
    const Argument mixed =
        Add(b, Mul(b, running, 1 - momentum), Mul(b, Cast(b, batch, b.dtype(running)), momentum));
    b.Call("aten.copy_.default", {running, mixed});
  };
  update(mean, Mean(b, wide, others));
  update(var, b.Call("aten.var.correction", {wide, others}, {{"correction", 1}}));
  return {result};
}

std::vector<Argument> Dropout(OpBuilder& b, const OpCall& c) {
  if (c.Bool("train") && c.Double("p") != 0) {
    return {b.Call("aten.native_dropout.default", {c["input"], c["p"], true})};
  }
  return {c["input"]};
}

// softmax and log_softmax with a dtype to compute in.
std::vector<Argument> SoftmaxAs(OpBuilder& b, const OpCall& c, std::string_view op) {
  const Argument& x = c["self"];
  const Argument input = Cast(b, x, c.DtypeOr("dtype", b.dtype(x)));
  return {b.Call(op, {input, c["dim"], false})};
}
std::vector<Argument> Softmax(OpBuilder& b, const OpCall& c) {
  return SoftmaxAs(b, c, "aten._softmax.default");
}
std::vector<Argument> LogSoftmax(OpBuilder& b, const OpCall& c) {
  return SoftmaxAs(b, c, "aten._log_softmax.default");
}

constexpr Decomposition kDecompositions[] = {
    {"aten.alpha_dropout.default", Dropout},
    {"aten.batch_norm.default", BatchNorm},
    {"aten.dropout.default", Dropout},
    {"aten.feature_dropout.default", Dropout},
    {"aten.layer_norm.default", LayerNorm},
    {"aten.log_softmax.int", LogSoftmax},
    {"aten.softmax.int", Softmax},
    {"aten.special_log_softmax.default", LogSoftmax},
    {"aten.special_softmax.default", Softmax},
};

}  // namespace

absl::Span<const Decomposition> NormalizationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
