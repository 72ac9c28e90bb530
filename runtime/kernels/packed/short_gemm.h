// GEMM of short sums over rows of A at equal distances: 1x1 convolutions of few channels, and
// convolutions of images with few channels, whose window rows are runs of terms.
//
//   C[r, j] = epilogue(sum over t and p of a[t][r * lda + p] * B[b_rows[t] + p * b_step, j])
//
// For sums of 16 terms, the tiles of PackedGemmRange take a third more time: here rows need no
// pointers of their own.
//
// Accuracy: float sums in order of t and p with fused multiply-add, as PackedGemmRange: at most
// (taps * k + 4) * 2^-24 * sum |a b| from the exact result. A result depends neither on the range
// that is computed nor on the instruction set: every element is summed in the same order.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_H_

#include <cstddef>

#include "runtime/kernels/packed/epilogue.h"

namespace belay {

// Minimal number of rows.
inline constexpr size_t kLeastShortRows = 16;

struct ShortGemmArgs {
  size_t m = 0;  // at least kLeastShortRows
  // Columns [first_column, last_column) of C are computed; first_column is a multiple of 32.
  size_t first_column = 0, last_column = 0;
  size_t taps = 1, k = 0;           // k is that of a tap
  const float* const* a = nullptr;  // by tap
  size_t lda = 0;
  // B, prepacked as a matrix of `depth` rows (packed_weights.h). Term p of tap t multiplies row
  // b_rows[t] + p * b_step.
  const float* b = nullptr;
  const size_t* b_rows = nullptr;
  size_t b_step = 1;
  size_t depth = 0;
  float* c = nullptr;  // rows ldc apart, as those of epilogue.other, which may be C if it is added
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// C overlaps neither A nor B.
void ShortGemm(const ShortGemmArgs& args);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_SHORT_GEMM_H_
