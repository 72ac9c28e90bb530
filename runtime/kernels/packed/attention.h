// Scaled dot-product attention: softmax(scale * Q K^T + mask) V, head by head.
//
// Keys and values of a head are packed once and meet all queries of the heads that share them; a
// block of rows of scores at a time exists, never all of them. Up to three queries a head (decoding)
// are computed from keys and values where they lie, at the speed of memory.
//
// A row without any score above -inf gives zeros, as PyTorch's scaled_dot_product_attention has it.
// Accuracy: products as packed_gemm.h says; softmax as softmax.h, of scores that are rounded after
// scaling and again after masking. A result does not depend on the range that is computed.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_
#define BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

// Where the rows of [batch, heads, tokens, size] lie; sizes are side by side.
struct HeadStrides {
  int64_t batch = 0, head = 0, token = 0;
};

struct AttentionArgs {
  int64_t batch = 0, heads = 0;
  int64_t kv_heads = 0;  // divides heads; head h uses h / (heads / kv_heads)
  int64_t queries = 0, keys = 0;
  int64_t head_size = 0, value_size = 0;
  const float *query = nullptr, *key = nullptr, *value = nullptr;
  HeadStrides query_strides = {}, key_strides = {}, value_strides = {};
  float scale = 1;
  bool causal = false;  // query i sees keys 0 … i
  bool nan_rows = false;  // a row without a score above -inf gives NaN, as softmax does, else 0
  // Added to the scores, or (`mask_bits`: bytes that are 0 or 1) whether a key is seen. At most one
  // of them; null for none. Strides in elements; 0 where it is the same for all.
  const float* mask = nullptr;
  const uint8_t* mask_bits = nullptr;
  HeadStrides mask_strides = {};
  int64_t mask_key_stride = 1;
  float* out = nullptr;
  HeadStrides out_strides = {};
  float* scratch = nullptr;  // AttentionFloats(…) floats
};

// Working memory of one range. nullopt on overflow.
std::optional<int64_t> AttentionFloats(int64_t queries, int64_t keys, int64_t head_size,
                                       int64_t value_size);

// Groups [first, last) of the batch * kv_heads groups of heads that share keys and values.
void AttentionGroups(const AttentionArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_
