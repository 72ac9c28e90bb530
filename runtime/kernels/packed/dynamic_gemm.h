// GEMM of dynamically quantized rows of bytes, each with its own scale and zero point, with a
// prepacked int8 or int4 right operand (weight_only_weights.h):
//
//   y[i, j] = row_scale[i] * (sum over groups g of scales[g, j] *
//             (sum over rows p of g of (a[i, p] - row_zero[i]) * q[p, j]))
//
// Inner sums are exact, four products at a time. At most kDynamicRows rows of A share a panel's
// weights in registers. The sums of the weights correct A's zero points. A group has at most
// kDynamicTerms terms, so that the accumulators do not overflow.
//
// Accuracy: at most (groups + 8) * 2^-23 * row_scale * sum over g of |scales[g, j] * inner sum|
// from the exact result, before the epilogue. A result does not depend on the range that is
// computed. Instruction sets give different bits.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_DYNAMIC_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_DYNAMIC_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay {

inline constexpr size_t kDynamicRows = 8;
inline constexpr size_t kDynamicPanelColumns = kWeightOnlyPanelColumns;

struct DynamicGemmArgs {
  size_t m = 0, n = 0, k = 0;
  WeightFormat format = WeightFormat::kInt8;  // or kInt4
  size_t group = 0;                           // a multiple of 8, or at least k
  const std::byte* rows = nullptr;            // PrepareDynamicRows; DynamicRowBytes each
  const void* b = nullptr;                    // packed, aligned to its element type
  const float* scales = nullptr;              // packed; or
  const uint16_t* bfloat16_scales = nullptr;  // the same as bfloat16
  const int32_t* weight_sums = nullptr;       // packed
  float* c = nullptr;                         // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// Bytes of a prepared row, a multiple of 8.
size_t DynamicRowBytes(size_t k);

// Quantization parameters of a row of A.
struct DynamicRow {
  float scale = 1;
  int32_t zero = 0;  // a value of the bytes' type
};

// Converts k bytes (int8 if `is_signed`, else uint8) to the row layout of the GEMM. `to` has
// DynamicRowBytes(k) bytes, aligned as int32. `a` may be kDynamicRowOffset bytes after `to`.
inline constexpr size_t kDynamicRowOffset = sizeof(DynamicRow);
void PrepareDynamicRow(const void* a, bool is_signed, const DynamicRow& row, WeightFormat format,
                       size_t k, std::byte* to);

// C = epilogue(y) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. C may alias epilogue.other and overlaps no other operand.
void DynamicGemmRange(const DynamicGemmArgs& args, size_t first_row, size_t last_row,
                      size_t first_column, size_t last_column);
// Computes all of C.
inline void DynamicGemm(const DynamicGemmArgs& args) {
  DynamicGemmRange(args, 0, args.m, 0, args.n);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_DYNAMIC_GEMM_H_
