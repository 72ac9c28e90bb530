// Attention.

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

struct Attended {
  Argument output, scores;
};

// softmax(query key^T scale + mask) value, as PyTorch's _scaled_dot_product_attention_math. A row
// whose scores are all -inf gives zeros. `shared`: several heads of the query may share one of the
// key.
Attended Attend(OpBuilder& b, const OpCall& c, bool shared) {
  const Argument query = c["query"];
  Argument key = c["key"], value = c["value"];
  Argument mask = c["attn_mask"];
  const bool causal = c.Bool("is_causal");
  if (!b.ok()) return {};
  if (c.Double("dropout_p") != 0) b.Unsupported("attention with dropout in training");
  if (causal && !mask.is_none()) b.Invalid("attention: a mask and is_causal at once");
  if (b.rank(query) < 2 || b.rank(key) < 2 || b.rank(value) < 2) {
    b.Invalid("attention: expected operands of at least two dimensions");
  }
  if (!b.ok()) return {};
  if (shared) {
    const SymInt repeats = FloorDiv(b.size(query, -3), b.size(key, -3));
    const Argument times = b.Size(repeats);
    key = b.Call("aten.repeat_interleave.self_int", {key, times, -3});
    value = b.Call("aten.repeat_interleave.self_int", {value, times, -3});
  }
  const SymInt length = b.size(query, -2), source = b.size(key, -2);
  // PyTorch multiplies both operands with the root of the scale, for precision in half.
  Argument scaled_query, scaled_key;
  const Argument transposed = Transpose(b, key, -2, -1);
  if (c["scale"].is_none() && !b.size(query, -1).AsInt().has_value()) {
    const Argument root =
        b.Call("torch.sym_sqrt", {b.Call("_operator.truediv", {1.0, b.size(query, -1)})});
    const Argument scale = b.Call("torch.sym_sqrt", {root});
    scaled_query = Mul(b, query, scale);
    scaled_key = Mul(b, transposed, scale);
  } else {
    const double scale = c["scale"].is_none()
                             ? 1.0 / std::sqrt(static_cast<double>(*b.size(query, -1).AsInt()))
                             : c.Double("scale");
    // A negative scale has no root.
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
  return {b.Call("aten.matmul.default", {weights, value}), scores};
}

std::vector<Argument> ScaledDotProductAttention(OpBuilder& b, const OpCall& c) {
  return {Attend(b, c, c.Bool("enable_gqa")).output};
}

// And the logarithm of each row's sum.
std::vector<Argument> FlashAttention(OpBuilder& b, const OpCall& c) {
  const Attended attended = Attend(b, c, false);
  if (!b.ok()) return {};
  const Argument scores = Cast(b, attended.scores, ComputeDtype(b.dtype(attended.scores)));
  return {attended.output,
          b.Call("aten.logsumexp.default", {scores, std::vector<int64_t>{-1}, false})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", FlashAttention},
    {"aten.scaled_dot_product_attention.default", ScaledDotProductAttention},
};

}  // namespace

absl::Span<const Decomposition> AttentionDecompositions() { return kDecompositions; }

}  // namespace belay::exir
