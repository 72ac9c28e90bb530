// Shared parts of the kernels of namespace llama: writing tokens to caches, operands of attention,
// signs of the Hadamard matrix of order 28.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_LLAMA_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_LLAMA_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/llama.h"

namespace belay {

// Argument names of the operators' schemas.
inline constexpr std::string_view kCustomSdpaNames =
    "query key value start_pos attn_mask drpout_p is_causal scale";
inline constexpr std::string_view kSdpaWithKvCacheNames =
    "query key value key_cache value_cache start_pos seq_len attn_mask drpout_p is_causal scale";
inline constexpr std::string_view kCustomQuantizedSdpaNames =
    "query key value start_pos attn_mask drpout_p is_causal scale q_zero_points q_scales "
    "k_zero_points k_scales v_zero_points v_scales is_seq_at_dim_2";

// The view of tokens [first, first + count) of one sequence: [1, count, heads, size].
TensorView TokensOf(const TensorView& tensor, int64_t batch, int64_t first, int64_t count);

// Copies `value` to tokens [start, start + value.sizes[1]) of the cache. Precondition: the shapes
// and the range were checked.
absl::Status WriteTokens(const TensorView& value, int64_t start, const TensorView& cache);

// Attention with row-major order of [batch, heads, tokens] indices, whatever the order of the
// tensors' dimensions.
struct CacheAttentionOperands {
  const TensorView* out = nullptr;
  int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, size = 0;
  int64_t used = 0;   // tokens of the caches
  int64_t first = 0;  // if causal: query i attends to tokens [0, first + i]

  // Number of tokens that query i attends to, not considering the mask.
  int64_t Visible(bool causal, int64_t i) const { return causal ? first + i + 1 : used; }
};
// Checks the operands, resizes output 0 and writes new tokens to the caches. On error, the caches
// are unchanged.
absl::StatusOr<CacheAttentionOperands> OperandsOf(KernelContext& context,
                                                  const CacheAttentionCall<KernelArguments>& call);

// Offset of the row [b, h, t] of a tensor of the call: its first element.
inline int64_t RowOffset(const CacheAttentionCall<KernelArguments>& call, const TensorView& tensor,
                         int64_t b, int64_t h, int64_t t) {
  return b * tensor.strides[0] + h * tensor.strides[call.heads()] +
         t * tensor.strides[call.tokens()];
}

// Whether entry (row, column) of H28 is -1: four circulant matrices of order 7 in Williamson's
// array
//    a  b  c  d
//   -b  a -d  c
//   -c  d  a -b
//   -d -c  b  a
// Source: Williamson, 1944, "Hadamard's determinant theorem and the sum of four squares".
constexpr bool HadamardSign28(int row, int column) {
  // Bit i: entry i of the first row of a, b, c, d is -1.
  constexpr uint8_t kCirculants[] = {0b1111110, 0b0111100, 0b1011010, 0b1100110};
  constexpr uint8_t kBlocks[] = {0b0000, 0b0101, 0b1001, 0b0011};  // bit j: block j is negative
  const int block_row = row / 7, block_column = column / 7;
  const bool circulant =
      (kCirculants[block_row ^ block_column] >> ((column % 7 + 7 - row % 7) % 7) & 1) != 0;
  return circulant != ((kBlocks[block_row] >> block_column & 1) != 0);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_LLAMA_H_
