// Scaled dot-product attention per head: softmax(scale * Q K^T + mask) V.
//
// Keys and values of a head are packed once and used by all queries of the heads that share them.
// Only one block of rows of scores is stored at a time. Up to three queries per head (decoding)
// read keys and values unpacked and are limited by memory bandwidth.
//
// A row without any score above -inf gives zeros, as in PyTorch's scaled_dot_product_attention.
//
// Accuracy: GEMMs as in packed_gemm.h; softmax as in softmax.h, of scores that are rounded after
// scaling and again after masking. A result does not depend on the range that is computed.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_
#define BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

// Strides of [batch, heads, tokens, size] in elements. The last dimension is contiguous.
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
  bool causal = false;    // query i attends to keys 0 … i
  bool nan_rows = false;  // a row without a score above -inf gives NaN, as softmax does, else 0
  // At most one is non-null. `mask` is added to the scores; `mask_bits` (bytes that are 0 or 1)
  // selects keys. Strides in elements; 0 for a broadcast dimension.
  const float* mask = nullptr;
  const uint8_t* mask_bits = nullptr;
  HeadStrides mask_strides = {};
  int64_t mask_key_stride = 1;
  float* out = nullptr;
  HeadStrides out_strides = {};
  float* scratch = nullptr;  // AttentionFloats(…) floats
};

// Scratch floats for one range. nullopt on overflow.
std::optional<int64_t> AttentionFloats(int64_t queries, int64_t keys, int64_t head_size,
                                       int64_t value_size);

// Computes groups [first, last) of the batch * kv_heads groups of heads that share keys and values.
void AttentionGroups(const AttentionArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_
