// Loops of reductions, and those of sums and squares of distances: what means, variances and norms
// are made of.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_MOMENTS_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_MOMENTS_H_

#include <cstdint>

#include "runtime/core/dtype.h"

namespace belay {

enum class ReduceOp : uint8_t {
  kSum,
  kAbsSum,
  kSquares,  // of the distances from a center
  kProduct,
  kReach,  // the product of max(|x|, 1 / |x|): no product of some of the factors is further from 1
  kMax,    // NaN where there is one
  kMin,
  kAny,  // 1 or 0
  kAll,
};

// The widest block of results that one call makes; and the one that is quickest.
inline constexpr int64_t kReduceBlock = 256;
inline constexpr int64_t kReduceLanes = 32;

// A block of results: acc[i] = acc[i] joined with x[r * row_step + i] for all r < rows, i < width.
// x has elements of the loop's type; acc has double for the sums, squares, products and reach of
// floating point numbers, else the loop's type. `center` has a double per result for kSquares.
using ReduceLoop = void (*)(const void* x, int64_t rows, int64_t row_step, int64_t width, void* acc,
                            const double* center);
// That of kSum, and of kSquares, of float32, float64 or int64; null where there is none. A binary that
// calls these alone holds no other loops (FindReduceLoop in reduce.h has all).
ReduceLoop FindSumLoop(DType type);
ReduceLoop FindSquaresLoop(DType type);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_MOMENTS_H_
