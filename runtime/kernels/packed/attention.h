// Scaled dot-product attention per head: softmax(scale * Q K^T + mask) V.
//
// Scores are computed by blocks of queries and keys that fit the L2 cache, with running maxima and
// sums (Milakov and Gimelshein, 2018, "online normalizer"; Dao et al., 2022, "FlashAttention").
// Keys and values of a head are packed by blocks, once per call of AttentionRange, and used by all
// queries of the heads that share them. Up to three queries per head (decoding) read keys and
// values unpacked; each block is read from memory once for all heads that share it. bfloat16 and
// float16 are widened when they are read or packed: results are those of the widened elements.
//
// Keys at the end of a block that the mask hides from all rows of a block by -inf are skipped: NaN
// or infinite scores and values of such keys have no effect. The time thus depends on the
// used length of a cache, except for a scan of the mask and, with more than three queries, packing.
//
// A row without any score above -inf gives zeros, as in PyTorch's scaled_dot_product_attention, or
// NaN, as softmax does (AttentionArgs::nan_rows).
//
// Accuracy, with u = 2^-24, size = head_size, and c for the sum over channels of |scale * q * k|:
//   score    scale * q.k + mask, an error of e = (size + 5) * u * c + 2 * u * |score|
//   weight   exp(score - largest), a relative error of e + u * |score - largest| + 2^-21
//   result   sum of weight * value / sum of weights, within (2 * largest relative error of a weight
//            + (keys + 2 * blocks + 20) * u) * max |value|
// A result does not depend on the range that is computed, or on other queries, unless it is NaN.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_
#define BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/dtype.h"

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
  const float* query = nullptr;
  const void *key = nullptr, *value = nullptr;
  DType key_dtype = DType::kFloat32;  // of keys and values: float32, bfloat16 or float16
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
  // With up to three queries, the heads of a group are divided into units for that many threads.
  int64_t threads = 1;
};

// Scratch floats for one range; those for more queries or keys suffice for fewer. nullopt on
// overflow.
std::optional<int64_t> AttentionFloats(int64_t queries, int64_t keys, int64_t head_size,
                                       int64_t value_size);

// Number of units of work: blocks of queries, or with up to three queries blocks of heads, for each
// of the batch * kv_heads groups of heads that share keys and values.
int64_t AttentionUnits(const AttentionArgs& args);

// Computes units [first, last). Units of a group are adjacent; a range packs the keys and values of
// each group that it has units of.
void AttentionRange(const AttentionArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_H_
