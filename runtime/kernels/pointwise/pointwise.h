// Pointwise functions on runs of floats. Errors in ULP are in kernels.inc; NaN in gives NaN out.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// out[i] = f(in[i]); a and b are the function's parameters, where it has any (slope; bounds).
using UnaryF32 = void (*)(const float* in, size_t n, float a, float b, float* out);
// out[i] = f(x[i * x_step], alpha * y[i * y_step]); steps are 0 or 1.
using BinaryF32 = void (*)(const float* x, size_t x_step, const float* y, size_t y_step, size_t n,
                           float alpha, float* out);

void AbsF32(const float* in, size_t n, float, float, float* out);
void CeilF32(const float* in, size_t n, float, float, float* out);
void ClampF32(const float* in, size_t n, float low, float high, float* out);
void ErfF32(const float* in, size_t n, float, float, float* out);
void ExpF32(const float* in, size_t n, float, float, float* out);
void FloorF32(const float* in, size_t n, float, float, float* out);
void GeluF32(const float* in, size_t n, float tanh_form, float, float* out);  // tanh_form: 0 or 1
void HardtanhF32(const float* in, size_t n, float low, float high, float* out);
void LeakyReluF32(const float* in, size_t n, float slope, float, float* out);
void LogF32(const float* in, size_t n, float, float, float* out);
void NegF32(const float* in, size_t n, float, float, float* out);
void ReciprocalF32(const float* in, size_t n, float, float, float* out);
void ReluF32(const float* in, size_t n, float, float, float* out);
void RsqrtF32(const float* in, size_t n, float, float, float* out);
void SigmoidF32(const float* in, size_t n, float, float, float* out);
void SqrtF32(const float* in, size_t n, float, float, float* out);
void TanhF32(const float* in, size_t n, float, float, float* out);
void TruncF32(const float* in, size_t n, float, float, float* out);

void AddF32(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float alpha,
            float* out);
void DivF32(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float,
            float* out);
void MaximumF32(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float,
                float* out);
void MinimumF32(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float,
                float* out);
void MulF32(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float,
            float* out);
void SubF32(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float alpha,
            float* out);

// The rows of kernels.inc.
absl::Span<const Kernel> PointwiseKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_
