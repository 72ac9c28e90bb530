// GEMM of bfloat16 with a prepacked right operand and float32 accumulators.
//
// As packed_gemm.h, with these differences:
// - k is even. B is packed in VNNI-2 interleaved layout; two neighboring elements of a row of A
//   form a 32-bit word.
// - No K blocking: partial sums cannot be stored in a bfloat16 C.
// - If kernels use AMX (amx.h), GEMMs of one group, with at least four rows that are equally far
//   apart in C, use its tiles of 32 rows. Rows of A that are not contiguous are copied for the tiles.
// - Otherwise, if the CPU has no dot products of bfloat16 (AVX512_BF16, Arm's BF16) or slow ones,
//   such GEMMs of at least eight rows copy some rows at a time and each panel of B as floats, and
//   multiply these. Intel's VDPBF16PS has half the multiply-adds per time of float: 93 to 200
//   GFLOP/s on a Xeon of family 6 model 207.
// - GEMMs of fewer or longer rows use dot products, or widen each word to two floats.
//
// Accuracy: a sum is at most (k + 8) * 2^-23 * sum |a b| + k * 2^-125 from the exact one. The
// rounding of dot products is unspecified; they may flush subnormal numbers to 0. The epilogue then
// rounds to bfloat16.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

using BFloat16GemmArgs = ProductArgs<BFloat16>;

// Elements of the arguments' `copy`; 0 if AMX is not used. If `copy` is null, GEMMs with
// noncontiguous rows of A do not use AMX.
CheckedInt BFloat16CopySize(int64_t k, int64_t taps);
// Floats of the arguments' `widened`; 0 if GEMMs of this depth multiply bfloat16. If `widened` is
// null, they do, too. Depends on the instruction set.
CheckedInt WidenedSize(int64_t k, int64_t taps);

void PackedGemmRange(const BFloat16GemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_GEMM_H_
