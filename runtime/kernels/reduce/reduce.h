// Reductions over any dimensions: sums, products, means, variances, norms, extremes and their
// places, truth.
//
// Floating point numbers are added in double precision in however many lanes; the result differs
// from the reference kernels' by at most 1 ULP of the result's dtype, as long as the double sums do
// not cancel (2^-52 of the sum of absolute values). Products are like that too, unless a product of
// some of the factors could overflow or lose bits below the normal numbers: then their order is the
// reference kernels'. Everything else has the reference kernels' bits.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/reduce/moments.h"

namespace belay {

// Of float32, float64 or int64; null where there is none.
ReduceLoop FindReduceLoop(ReduceOp op, DType type);

// The first of n elements that equals `best`, or is NaN when that is; -1 for none. float32,
// float64, int64.
int64_t FindValue(DType type, const void* x, int64_t n, const void* best);

// Extremes with their rows: best[i] and row[i] for i < width, where x[r * row_step + i] beats
// best[i] (NaN beats all, the first of equal ones stays). Rows count from first_row.
void ExtremeRows(bool largest, DType type, const void* x, int64_t rows, int64_t row_step,
                 int64_t width, int64_t first_row, void* best, int64_t* row);

absl::Span<const Kernel> ReduceHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_H_
