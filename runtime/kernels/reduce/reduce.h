// Reductions over any dimensions: sums, products, means, variances, norms, extremes and their
// positions, any and all.
//
// Floating-point elements are added in double precision in several lanes. The result differs from
// the reference kernel's by at most 1 ULP of the result's dtype, unless the double sums cancel
// (2^-52 of the sum of absolute values). The same bound holds for products, which have no bounds of
// the exponent before the result; those of float64 have the reference kernels' order. Norms of other orders
// than 0, 1, 2 and infinity sum powers of 2 ULP: 4 ULP. All other results have the reference kernels' bits.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/reduce/moments.h"

namespace belay {

// Returns the loop for float32, float64 or int64, for products only for int64; null for other types.
ReduceLoop FindReduceLoop(ReduceOp op, DType type);

// Multiplies fractions[i] * 2^exponents[i] by x[r * row_step + i] for r < rows, i < width. Fractions
// are 0, infinite, NaN, or 1 <= |fraction| < 2. Error: (rows + 1) * 2^-53 of the product.
void ProductRowsF32(const float* x, int64_t rows, int64_t row_step, int64_t width,
                    double* fractions, int64_t* exponents);

// The same for n adjacent floats and a single fraction.
void ProductRunF32(const float* x, int64_t n, double* fraction, int64_t* exponent);

// Sets *best to the larger (or smaller) one of itself and n > 0 adjacent elements, or to NaN if one of
// these is. float32, float64, int64.
void ExtremeRun(bool largest, DType type, const void* x, int64_t n, void* best);

// Returns the position of the first of n elements that equals `best`, or that is NaN if `best` is;
// -1 if not found. float32, float64, int64.
int64_t FindValue(DType type, const void* x, int64_t n, const void* best);

// Computes extremes and their rows: sets best[i] and row[i], i < width, for each x[r * row_step +
// i] that beats best[i]. NaN beats every number; of equal elements, the first is kept. Rows count
// from first_row.
void ExtremeRows(bool largest, DType type, const void* x, int64_t rows, int64_t row_step,
                 int64_t width, int64_t first_row, void* best, int64_t* row);

absl::Span<const Kernel> ReduceHighwayKernels();   // sums, products, means, variances, norms
absl::Span<const Kernel> ExtremeHighwayKernels();  // extremes, positions, any and all

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_REDUCE_H_
