// Products of bfloat16 with a packed right side, summed in float32.
//
// What packed_gemm.h says holds, but for: k is even; B is packed as pairs; pairs of neighbors in a row
// of A meet pairs of B as words of 32 bits, by dot products where the processor has them (AVX512_BF16,
// Arm's BF16; twice as many terms in the time as of floats), else as two floats each; and sums have no
// place to go to between K blocks, so all of k is one. Where kernels use AMX (amx.h), products of at
// least four rows are made by its tiles of 32 rows, for which rows of A that are in pieces are copied.
//
// Accuracy: a sum is at most (k + 8) * 2^-23 * sum |a b| + k * 2^-125 from the exact one (dot products
// round as they like and may take subnormal numbers for 0), and then the epilogue rounds to bfloat16.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

using BFloat16GemmArgs = ProductArgs<BFloat16>;

// Elements of the arguments' `copy`: 0 where there is no AMX. Without it, products whose rows of A are in
// pieces are made without AMX.
CheckedInt BFloat16CopySize(int64_t k, int64_t taps);

void PackedGemmRange(const BFloat16GemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_GEMM_H_
