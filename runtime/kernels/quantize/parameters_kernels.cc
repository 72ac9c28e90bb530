#include <algorithm>

#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/quantization_parameters.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay {
namespace {

struct Engine {
  static Extent ExtentOf(const TensorView& input, int64_t base, const Sizes& sizes,
                         const Strides& strides) {
    int64_t total = 1;
    for (int64_t size : sizes) total *= size;
    Extent extent;
    if (total == 0) return extent;  // data may be null
    float low = 0, high = 0;
    if (input.dtype == DType::kFloat32 && IsContiguous(sizes, strides)) {
      extent.nan =
          !WidenExtent(input.as<const float>() + base, static_cast<size_t>(total), low, high);
    } else {
      RunSource source(
          input.as<const std::byte>() + base * static_cast<int64_t>(DTypeSize(input.dtype)),
          input.dtype, sizes, strides, DType::kFloat32);
      RunStorage buffer;
      for (int64_t left = total; left > 0 && !extent.nan;) {
        const int64_t n = std::min(left, kRunBufferLength);
        const float* x = static_cast<const float*>(source.Next(n, buffer));
        extent.nan = !WidenExtent(x, static_cast<size_t>(n), low, high);
        left -= n;
      }
    }
    extent.low = low;
    extent.high = high;
    return extent;
  }
};

// Accepts dtypes that convert to float.
template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return kQuantizableTypes.contains(call.input->dtype);
}

constexpr Kernel kKernels[] = {
#define BELAY_CHOOSE_KERNEL(op, signature, name, run) \
  KernelRow<run, &Accepts<CallOfRun<run>>>(op, signature, name "Simd", KernelEngine::kHighway),
#include "runtime/kernels/operands/quantization_parameters.inc"
};

}  // namespace

absl::Span<const Kernel> QuantizationParametersHighwayKernels() { return kKernels; }

}  // namespace belay
