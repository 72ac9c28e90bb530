// Loops of reductions. Sums and sums of squared deviations, on which means, variances and norms are
// built, can be linked separately.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_MOMENTS_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_MOMENTS_H_

#include <cstdint>

#include "runtime/core/dtype.h"

namespace belay {

enum class ReduceOp : uint8_t {
  kSum,
  kAbsSum,
  kSquares,  // of the deviations from a center
  kProduct,  // of int64
  kMax,      // NaN if any element is NaN
  kMin,
  kAny,  // 1 or 0
  kAll,
};

// Largest and fastest width of the block of results of one call.
inline constexpr int64_t kReduceBlock = 1024;
inline constexpr int64_t kReduceLanes = 32;

// Reduces rows into a block of results: acc[i] = join(acc[i], x[r * row_step + i]) for r < rows, i
// < width.
//
// x has elements of the loop's type. For floating-point types, acc has doubles for sums and squares.
// In all other cases acc has the loop's type. For kSquares, `center` has one double per result.
using ReduceLoop = void (*)(const void* x, int64_t rows, int64_t row_step, int64_t width, void* acc,
                            const double* center);
// Returns the loop of kSum or kSquares for float32, float64 or int64; null for other types. A
// binary that calls only these does not link the other loops (FindReduceLoop in reduce.h has all).
ReduceLoop FindSumLoop(DType type);
ReduceLoop FindSquaresLoop(DType type);

// `count` runs of `length` floats, which begin `step` floats apart.
struct FloatRuns {
  const float* data = nullptr;
  int64_t length = 0, count = 1, step = 0;
};
// The sums of the runs' elements, and of the squares of their distances from `center`, in double.
// Errors: length * 2^-53 * sum |x| and length * 2^-53 * sum (x - center)^2.
void SumRunsF32(const FloatRuns& x, double* sums);
// The sum of n floats in at least 16 lanes of float. Error: n * 2^-28 * sum |x| if no lane overflows.
double SumInFloat(const float* x, int64_t n);
void SquareRunsF32(const FloatRuns& x, double center, double* sums);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_MOMENTS_H_
