// Attention.

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

struct Attended {
  Argument output, scores;
};

// softmax(query @ key^T * scale + mask) @ value, as in PyTorch's
// _scaled_dot_product_attention_math: half precision computes in float32, since scores of half
// precision have an absolute error that the exponential multiplies. Rows with only -inf scores give
// zeros. `shared` enables grouped-query attention (several query heads share a key head).
Attended Attend(OpBuilder& b, const OpCall& c, bool shared) {
  Argument query = c["query"], key = c["key"], value = c["value"];
  Argument mask = c["attn_mask"];
  const bool causal = c.Bool("is_causal");
  if (!b.ok()) return {};
  if (causal && !mask.is_none()) b.Invalid("attention: a mask and is_causal at once");
  if (b.rank(query) < 2 || b.rank(key) < 2 || b.rank(value) < 2) {
    b.Invalid("attention: expected operands of at least two dimensions");
  }
  if (!b.ok()) return {};
  const DType dtype = b.dtype(query), computes = ComputeDtype(dtype);
  for (Argument* operand : {&query, &key, &value}) *operand = Cast(b, *operand, computes);
  if (!mask.is_none() && b.dtype(mask) == dtype) mask = Cast(b, mask, computes);
  if (shared) {
    const SymInt repeats = FloorDiv(b.size(query, -3), b.size(key, -3));
    const Argument times = b.Size(repeats);
    key = b.Call("aten.repeat_interleave.self_int", {key, times, -3});
    value = b.Call("aten.repeat_interleave.self_int", {value, times, -3});
  }
  const SymInt length = b.size(query, -2), source = b.size(key, -2);
  // PyTorch multiplies both operands by sqrt(scale), for precision in half.
  Argument scaled_query, scaled_key;
  const Argument transposed = Transpose(b, key, -2, -1);
  if (c["scale"].is_none() && !b.size(query, -1).AsInt().has_value()) {
    // Heads without elements have no scores to scale.
    const Argument size = b.Call("torch.sym_max", {1, b.Size(b.size(query, -1))});
    const Argument root = b.Call("torch.sym_sqrt", {b.Call("_operator.truediv", {1.0, size})});
    const Argument scale = b.Call("torch.sym_sqrt", {root});
    scaled_query = Mul(b, query, scale);
    scaled_key = Mul(b, transposed, scale);
  } else {
    const double scale = c["scale"].is_none()
                             ? 1.0 / std::sqrt(static_cast<double>(*b.size(query, -1).AsInt()))
                             : c.Double("scale");
    // A negative scale has no real square root.
    const double root = std::sqrt(std::abs(scale));
    scaled_query = Mul(b, query, scale < 0 ? -root : root);
    scaled_key = Mul(b, transposed, root);
  }
  Argument scores = b.Call("aten.matmul.default", {scaled_query, scaled_key});
  if (causal) {
    const Argument columns = Arange(b, source);
    const Argument rows = Unsqueeze(b, Arange(b, length), 1);
    mask = b.Call("aten.le.Tensor", {columns, rows});
  }
  if (!mask.is_none()) {
    if (b.dtype(mask) == DType::kBool) {
      mask = Where(b, mask, ScalarTensor(b, 0.0, b.dtype(query)),
                   ScalarTensor(b, -std::numeric_limits<double>::infinity(), b.dtype(query)));
    }
    scores = Add(b, scores, mask);
  }
  Argument weights = b.Call("aten._softmax.default", {scores, -1, false});
  if (!mask.is_none()) {
    // Rows without a finite score.
    const Argument masked =
        b.Call("aten.eq.Scalar", {scores, -std::numeric_limits<double>::infinity()});
    const Argument none =
        b.Call("aten.logical_not.default",
               {b.Call("aten.any.dim", {Unary(b, "logical_not", masked), -1, true})});
    weights = Where(b, none, 0.0, weights);
  }
  if (c.Double("dropout_p") != 0) {
    weights = b.Call("aten.native_dropout.default", {weights, c["dropout_p"], true});
  }
  return {Cast(b, b.Call("aten.matmul.default", {weights, value}), dtype), scores};
}

std::vector<Argument> ScaledDotProductAttention(OpBuilder& b, const OpCall& c) {
  return {Attend(b, c, c.Bool("enable_gqa")).output};
}

// Also returns the logsumexp of each row.
std::vector<Argument> FlashAttention(OpBuilder& b, const OpCall& c) {
  const Attended attended = Attend(b, c, false);
  if (!b.ok()) return {};
  return {attended.output,
          b.Call("aten.logsumexp.default", {attended.scores, std::vector<int64_t>{-1}, false})};
}

// --- Layers that PyTorch fuses in inference ---

// Multi-head attention in which one matrix projects sequences to queries, keys and values. Returns
// the result and the weights of every head. The mask is true at ignored positions. Mask kind 0: one
// element per pair of positions; 1: one per key; 2: all four dimensions.
std::pair<Argument, Argument> FusedAttention(OpBuilder& b, const OpCall& c,
                                             const std::vector<Argument>& sequences,
                                             std::string_view heads_name) {
  const std::vector<SymInt> sizes = b.sizes(sequences[0]);
  const int64_t heads = c.Int(heads_name), width = c.Int("embed_dim");
  constexpr int64_t kMost = int64_t{1} << 40;
  if (sizes.size() != 3 || heads < 1 || width < 1 || width > kMost || width % heads != 0) {
    b.Invalid("attention: expected a batch of sequences and heads that divide the width");
  }
  if (!b.ok()) return {};
  const int64_t head = width / heads;
  const auto part = [&](int64_t k) {
    const Argument weight = Slice(b, c["qkv_weight"], 0, k * width, (k + 1) * width);
    const Argument bias = Slice(b, c["qkv_bias"], 0, k * width, (k + 1) * width);
    const Argument projected = b.Call("aten.linear.default", {sequences[k], weight, bias});
    const SymInt length = b.size(projected, 1);
    return Transpose(b, Reshape(b, projected, {sizes[0], length, SymInt(heads), SymInt(head)}), 1,
                     2);
  };
  const Argument scaled = Div(b, part(0), std::sqrt(static_cast<double>(head)));
  Argument scores = b.Call("aten.matmul.default", {scaled, Transpose(b, part(1), -2, -1)});
  if (!c.IsNone("mask")) {
    Argument mask = c["mask"];
    const int64_t kind = c.OptionalInt("mask_type").value_or(2);
    if (kind == 1) mask = Unsqueeze(b, Unsqueeze(b, mask, 1), 1);
    scores = b.dtype(mask) == DType::kBool
                 ? Where(b, mask, -std::numeric_limits<double>::infinity(), scores)
                 : Add(b, scores, mask);
  }
  const Argument weights = b.Call("aten._softmax.default", {scores, -1, false});
  const Argument mixed = Transpose(b, b.Call("aten.matmul.default", {weights, part(2)}), 1, 2);
  const Argument joined = Reshape(b, mixed, {sizes[0], sizes[1], SymInt(width)});
  return {b.Call("aten.linear.default", {joined, c["proj_weight"], c["proj_bias"]}), weights};
}

std::vector<Argument> NativeMultiHeadAttention(OpBuilder& b, const OpCall& c) {
  const auto [result, weights] =
      FusedAttention(b, c, {c["query"], c["key"], c["value"]}, "num_head");
  if (!b.ok()) return {};
  if (!c.Bool("need_weights")) return {result, Argument()};
  return {result, c.Bool("average_attn_weights") ? Mean(b, weights, {1}) : weights};
}

std::vector<Argument> TransformerEncoderLayer(OpBuilder& b, const OpCall& c) {
  const Argument& source = c["src"];
  const bool norm_first = c.Bool("norm_first");
  const auto norm = [&](const Argument& x, std::string_view weight, std::string_view bias) {
    return b.Call("aten.layer_norm.default", {x, {c["embed_dim"]}, c[weight], c[bias], c["eps"]});
  };
  const Argument first = norm_first ? norm(source, "norm_weight_1", "norm_bias_1") : source;
  Argument x = Add(b, FusedAttention(b, c, {first, first, first}, "num_heads").first, source);
  if (!norm_first) x = norm(x, "norm_weight_1", "norm_bias_1");
  const Argument second = norm_first ? norm(x, "norm_weight_2", "norm_bias_2") : x;
  const Argument wide = b.Call("aten.linear.default", {second, c["ffn_weight_1"], c["ffn_bias_1"]});
  const Argument active = Unary(b, c.Bool("use_gelu") ? "gelu" : "relu", wide);
  x = Add(b, b.Call("aten.linear.default", {active, c["ffn_weight_2"], c["ffn_bias_2"]}), x);
  return {norm_first ? x : norm(x, "norm_weight_2", "norm_bias_2")};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._native_multi_head_attention.default", NativeMultiHeadAttention},
    {"aten._transformer_encoder_layer_fwd.default", TransformerEncoderLayer},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", FlashAttention},
    {"aten.scaled_dot_product_attention.default", ScaledDotProductAttention},
};

}  // namespace

absl::Span<const Decomposition> AttentionDecompositions() { return kDecompositions; }

}  // namespace belay::exir
