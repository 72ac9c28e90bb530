// Sums of pooling windows in double.
#ifndef BELAY_RUNTIME_KERNELS_POOL_POOL_SUMS_H_
#define BELAY_RUNTIME_KERNELS_POOL_POOL_SUMS_H_

#include <cstdint>

namespace belay {

// sums[i] = sum over r < rows of in[r * step + i], for i < n; added to sums[i] if `add`.
void SumRows(const float* in, int64_t rows, int64_t step, int64_t n, bool add, double* sums);

// out[i] = sums[i] * factor.
void ScaleSums(const double* sums, double factor, int64_t n, float* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POOL_POOL_SUMS_H_
