// Sums and averages of pooling windows of channels last images.
#ifndef BELAY_RUNTIME_KERNELS_POOL_POOL_SUMS_H_
#define BELAY_RUNTIME_KERNELS_POOL_POOL_SUMS_H_

#include <cstdint>

namespace belay {

// sums[i] = sum over r < rows of in[r * step + i], for i < n; added to sums[i] if `add`.
void SumRows(const float* in, int64_t rows, int64_t step, int64_t n, bool add, double* sums);

// out[i] = sums[i] * factor.
void ScaleSums(const double* sums, double factor, int64_t n, float* out);

// The pixels of a window: `planes` by `rows` by `columns`, of `channels` floats each; columns are
// stored together.
struct WindowPixels {
  int64_t planes, rows, columns, channels;
  int64_t plane_step, row_step;  // floats
};
// out[c] = factor * sum of in[..., c] over the window's pixels, in float and in their order. Error:
// (pixels + 1) * 2^-24 * factor * sum |in|.
void AverageWindow(const float* in, const WindowPixels& window, float factor, float* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POOL_POOL_SUMS_H_
