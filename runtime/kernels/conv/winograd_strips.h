// Winograd convolutions (runtime/kernels/packed/winograd.h) of images in any layout, with filters
// that are transformed in each call.
#ifndef BELAY_RUNTIME_KERNELS_CONV_WINOGRAD_STRIPS_H_
#define BELAY_RUNTIME_KERNELS_CONV_WINOGRAD_STRIPS_H_

#include <cstdint>
#include <optional>

#include "runtime/core/checked_math.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/conv/patch_row.h"
#include "runtime/kernels/packed/winograd.h"

namespace belay {

// A convolution with 3x3 windows in each plane, by F(2 x 2, 3 x 3). Each strip of rows is copied to
// channels last, convolved and copied to the result, while it stays in the cache. The division into
// strips depends on the number of threads; the results do not.
class WinogradStrips {
 public:
  // nullopt unless stride and dilation are 1 in each plane, there is one group, sums have at least
  // kAccurateWinogradTerms terms, and the expected cost is well below that of a GEMM of patches.
  static std::optional<WinogradStrips> For(const ConvGeometry& g, int threads);

  // Floats: the filters, then a strip per thread.
  CheckedInt scratch() const { return filters_ + strip() * threads_; }

  // Convolves `input` [n, c, ..., h, w] to `out`, float32 or of half precision. `weight`: row-major
  // [f, c, ..., 3, 3]. `bias` may be null. `scratch`: scratch() floats. Returns early if the budget
  // is exhausted.
  void Run(const KernelContext& context, const TensorView& input, const float* weight,
           const float* bias, const TensorView& out, float* scratch) const;

 private:
  WinogradStrips(const ConvGeometry& g, int threads);
  CheckedInt strip() const { return image_ + results_ + tiles_; }

  WinogradArgs args_;  // of one image
  int64_t batch_;
  int threads_;
  int64_t rows_;        // of results per strip
  CheckedInt filters_;  // floats
  // Floats of a strip: rows of the image, rows of results, and the scratch memory of its tiles.
  CheckedInt image_, results_, tiles_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CONV_WINOGRAD_STRIPS_H_
