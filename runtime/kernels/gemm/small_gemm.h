// GEMM of small matrices and of rows with few columns, in place: packing B would cost more than its use.
//
// Accuracy: float sums in order of k with fused multiply-add, where the instruction set has it: at most
// (k + 1) * 2^-24 * sum |a b| from the exact result. A result does not depend on the range that is
// computed.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_SMALL_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_SMALL_GEMM_H_

#include <cmath>
#include <cstddef>

#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

// Whether SmallGemmRows is faster than PackedGemmRange, for a call without epilogue: rows of B are read in
// place, stay in the L1 cache, and are too short for panels. With up to 8 columns, sums along k
// (few_columns.h) or panels are faster from a depth on.
inline bool IsSmallGemm(const PackedGemmArgs& g) {
  constexpr size_t kMostElements = 8192, kVector = 16, kFewRows = 48;
  const EpilogueF32& e = g.epilogue;
  const bool plain = e.bias == nullptr && e.other == nullptr && g.row_bias == nullptr &&
                     e.activation == Activation::kNone && std::isinf(e.low) && std::isinf(e.high);
  if (!plain || g.panels == nullptr || g.pack != nullptr || g.b == nullptr || g.taps != 1 ||
      g.groups != 1 || g.run != 0 || g.row_pointers != nullptr || g.k == 0 ||
      g.k * g.n > kMostElements) {
    return false;
  }
  if (g.n <= 8) return g.k * (kVector - g.n) < 10 * kVector * g.n;
  return g.n <= kVector || (g.n <= 2 * kVector && g.m <= kFewRows);
}

// Computes rows [first_row, last_row) of C. Precondition: IsSmallGemm.
void SmallGemmRows(const PackedGemmArgs& args, size_t first_row, size_t last_row);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_SMALL_GEMM_H_
