// Quantization and dequantization per tensor, channel, row and group.
//
// Every step is rounded as in the reference kernels, which share the code of
// runtime/kernels/operands/quantized_kernels.h: results have the same bits. Runs of elements with one
// scale and one zero point are computed in float32, or from float32 to bytes in float64 if the scale
// has that type. Short runs, and calls that PyTorch computes in
// another dtype, use the reference loops.
#ifndef BELAY_RUNTIME_KERNELS_QUANTIZE_QUANTIZE_H_
#define BELAY_RUNTIME_KERNELS_QUANTIZE_QUANTIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

//   out[i] = clamp(round(in[i] * inverse) + zero, low, high)
//   out[i] = clamp(round(in[i] * inverse + zero), low, high)     with add_first
// NaN stays NaN. `out` may be `in`. T is the type of each operation.
template <class T>
struct QuantizeStepOf {
  T inverse, zero, low, high;
  bool add_first;
};
using QuantizeStep = QuantizeStepOf<float>;
void QuantizeRun(const float* in, size_t n, const QuantizeStep& step, float* out);

// The same to integers, whose range is [low, high]. NaN becomes 0.
void QuantizeInt8Run(const float* in, size_t n, const QuantizeStep& step, int8_t* out);
void QuantizeUint8Run(const float* in, size_t n, const QuantizeStep& step, uint8_t* out);
void QuantizeInt8Run(const float* in, size_t n, const QuantizeStepOf<double>& step, int8_t* out);
void QuantizeUint8Run(const float* in, size_t n, const QuantizeStepOf<double>& step, uint8_t* out);

// out[i] = (in[i] - zero) * scale. `out` may be `in`.
void DequantizeRun(const float* in, size_t n, float zero, float scale, float* out);

// The same from contiguous integers, without intermediate buffers.
void DequantizeInt8Run(const int8_t* in, size_t n, float zero, float scale, float* out);
void DequantizeUint8Run(const uint8_t* in, size_t n, float zero, float scale, float* out);
void DequantizeInt16Run(const int16_t* in, size_t n, float zero, float scale, float* out);

// out[i] = (in[i] - zero[i]) * scale[i]. `dtype` is int8, uint8 or int16.
void DequantizeEach(DType dtype, const void* in, size_t n, const float* zero, const float* scale,
                    float* out);

// out[i] = a[i] + b[i].
void AddRuns(const float* a, const float* b, size_t n, float* out);

// Widens [low, high] to include n elements. Returns false if one of them is NaN; the bounds are
// then undefined.
bool WidenExtent(const float* in, size_t n, float& low, float& high);

// Includes quantized_decomposed.add.
absl::Span<const Kernel> QuantizeHighwayKernels();

// The choose_qparams operators, which share runtime/kernels/operands/quantization_parameters.h with the
// reference kernels.
absl::Span<const Kernel> QuantizationParametersHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_QUANTIZE_QUANTIZE_H_
