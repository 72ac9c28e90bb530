// Normalization and softmax.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

std::vector<Argument> LayerNorm(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.native_layer_norm.default",
                 {c["input"], c["normalized_shape"], c["weight"], c["bias"], c["eps"]})};
}

// Updates the existing running statistics with those of the batch. The results keep the compute
// dtype, as in PyTorch's meta kernel of the functional forms.
std::vector<Argument> MixedStatistics(OpBuilder& b, const OpCall& c) {
  const Argument& input = c["input"];
  std::vector<int64_t> others = AllDims(b.rank(input));
  if (others.size() < 2) b.Invalid("batch_norm: expected at least two dimensions");
  if (!b.ok()) return {};
  others.erase(others.begin() + 1);
  const Argument wide = Cast(b, input, ComputeDtype(b.dtype(input)));
  const double momentum = c.Double("momentum");
  const auto mixed = [&](const Argument& running, const auto& batch) {
    if (running.is_none()) return Argument();
    const DType compute = ComputeDtype(b.dtype(running));
    return Add(b, Mul(b, Cast(b, running, compute), 1 - momentum),
               Mul(b, Cast(b, batch(), compute), momentum));
  };
  const Argument mean = mixed(c["running_mean"], [&] { return Mean(b, wide, others); });
  return {mean, mixed(c["running_var"], [&] {
            return b.Call("aten.var.correction", {wide, others}, {{"correction", 1}});
          })};
}

// Returns the result, and the batch's mean and inverse standard deviation. In training mode, writes
// the running statistics.
std::vector<Argument> BatchNormResults(OpBuilder& b, const OpCall& c) {
  const Argument &input = c["input"], &mean = c["running_mean"], &var = c["running_var"];
  const bool training = c.Bool("training");
  if (!b.ok()) return {};
  if (!training) {
    return b.CallAll("aten._native_batch_norm_legit_no_training.default",
                     {input, c["weight"], c["bias"], mean, var, c["momentum"], c["eps"]});
  }
  const std::vector<Argument> results =
      b.CallAll("aten._native_batch_norm_legit.no_stats",
                {input, c["weight"], c["bias"], true, c["momentum"], c["eps"]});
  if (mean.is_none() && var.is_none()) return results;
  const std::vector<Argument> mixed = MixedStatistics(b, c);
  if (!b.ok()) return {};
  if (!mean.is_none()) b.Call("aten.copy_.default", {mean, mixed[0]});
  if (!var.is_none()) b.Call("aten.copy_.default", {var, mixed[1]});
  return results;
}
// Returns the statistics instead of writing them.
std::vector<Argument> FunctionalBatchNorm(OpBuilder& b, const OpCall& c) {
  const Argument &input = c["input"], &mean = c["running_mean"], &var = c["running_var"];
  const bool legit = c.op()->schema()->ArgumentIndex("training").has_value();
  if (legit && !c.Bool("training")) {
    std::vector<Argument> results =
        b.CallAll("aten._native_batch_norm_legit_no_training.default",
                  {input, c["weight"], c["bias"], mean, var, c["momentum"], c["eps"]});
    if (!b.ok()) return {};
    results.insert(results.end(), {Clone(b, mean), Clone(b, var)});
    return results;
  }
  std::vector<Argument> results =
      b.CallAll("aten._native_batch_norm_legit.no_stats",
                {input, c["weight"], c["bias"], true, c["momentum"], c["eps"]});
  if (!b.ok()) return {};
  if (!legit) results.push_back(Full(b, {SymInt(0)}, 0, DType::kUint8));  // reserve, for gradients
  for (const Argument& mixed : MixedStatistics(b, c)) results.push_back(mixed);
  return results;
}
// Same as in evaluation mode.
std::vector<Argument> BatchNormWithoutUpdate(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> results = b.CallAll("aten._native_batch_norm_legit_no_training.default",
                                            {c["input"], c["weight"], c["bias"], c["running_mean"],
                                             c["running_var"], c["momentum"], c["eps"]});
  results.push_back(Full(b, {SymInt(0)}, 0, DType::kUint8));
  return results;
}
std::vector<Argument> BatchNorm(OpBuilder& b, const OpCall& c) {
  // PyTorch accepts a vector without elements, and only that.
  if (b.rank(c["input"]) == 1 && b.size(c["input"], 0) == SymInt(0)) return {Clone(b, c["input"])};
  std::vector<Argument> results = BatchNormResults(b, c);
  if (!results.empty()) results.resize(1);
  return results;
}

std::vector<Argument> GroupNorm(OpBuilder& b, const OpCall& c) {
  const Argument& input = c["input"];
  const std::vector<SymInt> sizes = b.sizes(input);
  if (sizes.size() < 2) b.Invalid("group_norm: expected at least two dimensions");
  if (!b.ok()) return {};
  const SymInt pixels = Product({sizes.begin() + 2, sizes.end()});
  return {b.Call("aten.native_group_norm.default",
                 {Contiguous(b, input), c["weight"], c["bias"], sizes[0], sizes[1], pixels,
                  c["num_groups"], c["eps"]})};
}

// Batch norm of a single sample with batch * channels channels.
std::vector<Argument> InstanceNorm(OpBuilder& b, const OpCall& c) {
  const Argument& input = c["input"];
  const std::vector<SymInt> sizes = b.sizes(input);
  if (sizes.size() < 2) b.Invalid("instance_norm: expected at least two dimensions");
  if (!b.ok()) return {};
  std::vector<SymInt> flat = sizes;
  flat[0] = 1;
  flat[1] = sizes[0] * sizes[1];
  const auto repeated = [&](std::string_view name) {
    return c.IsNone(name) ? Argument() : b.Call("aten.repeat.default", {c[name], {sizes[0]}});
  };
  const Argument mean = repeated("running_mean"), var = repeated("running_var");
  const Argument result =
      b.Call("aten.batch_norm.default",
             {Reshape(b, input, flat), repeated("weight"), repeated("bias"), mean, var,
              c["use_input_stats"], c["momentum"], c["eps"], c["cudnn_enabled"]});
  // Average the running statistics over the samples.
  const auto update = [&](std::string_view name, const Argument& written) {
    const Argument samples = b.Call("aten.view.default", {written, {sizes[0], sizes[1]}});
    b.Call("aten.copy_.default", {c[name], Mean(b, samples, {0})});
  };
  if (c.Bool("use_input_stats") && !mean.is_none()) update("running_mean", mean);
  if (c.Bool("use_input_stats") && !var.is_none()) update("running_var", var);
  return {Reshape(b, result, sizes)};
}

// x / sqrt(mean(x^2) + eps)
std::vector<Argument> RmsNorm(OpBuilder& b, const OpCall& c) {
  const Argument& input = c["input"];
  const DType dtype = b.dtype(input);
  const Argument x = Cast(b, input, ComputeDtype(dtype));
  const double eps = !c.IsNone("eps")                ? c.Double("eps")
                     : b.dtype(x) == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
  std::vector<int64_t> dims;
  for (size_t i = 0; i < c.List("normalized_shape").size(); ++i) {
    dims.push_back(b.rank(x) - 1 - static_cast<int64_t>(i));
  }
  if (dims.empty() || dims.back() < 0) b.Invalid("rms_norm: the normalized shape is not x's");
  const Argument scale = Unary(b, "rsqrt", Add(b, Mean(b, Pow(b, x, 2), dims, true), eps));
  Argument result = Mul(b, x, scale);
  if (!c.IsNone("weight")) result = Mul(b, result, c["weight"]);
  return {Cast(b, result, dtype)};
}

// softmax and log_softmax with a compute dtype.
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

// Rows without a finite element give zeros.
std::vector<Argument> SafeSoftmax(OpBuilder& b, const OpCall& c) {
  const Argument x = Cast(b, c["self"], c.DtypeOr("dtype", b.dtype(c["self"])));
  const Argument result = b.Call("aten._softmax.default", {x, c["dim"], false});
  const Argument finite = Binary(b, "ne", x, -std::numeric_limits<double>::infinity());
  const Argument some = b.Call("aten.any.dim", {finite, c["dim"], true});
  return {Where(b, some, result, 0.0)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._batch_norm_no_update.default", BatchNormWithoutUpdate},
    {"aten._batch_norm_with_update_functional.default", FunctionalBatchNorm},
    {"aten._native_batch_norm_legit_functional.default", FunctionalBatchNorm},
    {"aten._safe_softmax.default", SafeSoftmax},
    {"aten.batch_norm.default", BatchNorm},
    {"aten.group_norm.default", GroupNorm},
    {"aten.instance_norm.default", InstanceNorm},
    {"aten.layer_norm.default", LayerNorm},
    {"aten.log_softmax.int", LogSoftmax},
    {"aten.native_batch_norm.default", BatchNormResults},
    {"aten.rms_norm.default", RmsNorm},
    {"aten.softmax.int", Softmax},
    {"aten.special_log_softmax.default", LogSoftmax},
    {"aten.special_softmax.default", Softmax},
};

}  // namespace

absl::Span<const Decomposition> NormalizationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
