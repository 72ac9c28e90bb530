// Computation of scales and zero points for quantization. As in quantized.cc, each step is rounded
// to the dtype of PyTorch's definition.

#include "runtime/kernels/operands/quantization_parameters.h"

#include <cmath>

#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

struct Engine {
  static Extent ExtentOf(const TensorView& input, int64_t base, const Sizes& sizes,
                         const Strides& strides) {
    Extent extent;
    const Reader<double> in(input);
    for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
      const double x = in(base + it.offset(0));
      extent.nan = extent.nan || std::isnan(x);
      extent.low = std::fmin(extent.low, x);
      extent.high = std::fmax(extent.high, x);
    }
    return extent;
  }
};

constexpr Kernel kKernels[] = {
#define BELAY_CHOOSE_KERNEL(op, signature, name, run) \
  KernelRow<run>(op, signature, name, KernelEngine::kReference),
#include "runtime/kernels/operands/quantization_parameters.inc"
};

}  // namespace

absl::Span<const Kernel> QuantizationParametersKernels() { return kKernels; }

}  // namespace belay
