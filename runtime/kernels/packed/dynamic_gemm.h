// Products of bytes that were quantized at run time, each row by numbers of its own, with a packed
// right side of int8 or int4 (weight_only_weights.h):
//
//   y[i, j] = row_scale[i] * (sum over groups g of scales[g, j] *
//             (sum over rows p of g of (a[i, p] - row_zero[i]) * q[p, j]))
//
// Inner sums are exact, four products at a time: kDynamicRows rows of A at most meet a panel's weights
// in registers. int4 weights are multiplied as the numbers 0 to 15 that they are stored as; what that is
// too much is taken away by the sums of A's groups, and what A's zero points add by those of the
// weights'. A group is no longer than kDynamicTerms, so that sums fit.
//
// Accuracy: at most (groups + 8) * 2^-23 * row_scale * sum over g of |scales[g, j] * inner sum| from the
// exact result, before the epilogue. A result does not depend on the range that is computed.
// Instruction sets differ.
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
  const void* b = nullptr;                    // packed, aligned as its elements are
  const float* scales = nullptr;              // packed
  const int32_t* weight_sums = nullptr;       // packed
  float* c = nullptr;                         // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// What a prepared row takes: a multiple of 8.
size_t DynamicRowBytes(WeightFormat format, size_t k, size_t group);

// How a row of A was quantized.
struct DynamicRow {
  float scale = 1;
  int32_t zero = 0;  // that the bytes' type has
};

// Makes of k bytes, of int8 if `is_signed` and else of uint8, the row that products read, of
// DynamicRowBytes(format, k, group) bytes, aligned as int32.
void PrepareDynamicRow(const void* a, bool is_signed, const DynamicRow& row, WeightFormat format,
                       size_t k, size_t group, std::byte* to);

// C = epilogue(y) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. C may be epilogue.other, and overlaps nothing else.
void DynamicGemmRange(const DynamicGemmArgs& args, size_t first_row, size_t last_row,
                      size_t first_column, size_t last_column);
// All of it.
inline void DynamicGemm(const DynamicGemmArgs& args) {
  DynamicGemmRange(args, 0, args.m, 0, args.n);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_DYNAMIC_GEMM_H_
