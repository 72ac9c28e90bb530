// Products of rows of floats with int8 columns that have scales.
//
// Each product and each sum is rounded to float32, in the order of the depth, as the reference
// kernel does it: results have the same bits on every instruction set.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_MIXED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_MIXED_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/gemm/gemm.h"

namespace belay {

// At most kGemmPanelColumns columns of a product. A depth p has a row of the panel at b + p * ldb,
// of which kGemmPanelColumns bytes may be read.
struct MixedPanel {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  size_t lda = 0;
  const int8_t* b = nullptr;
  size_t ldb = 0;
  float* c = nullptr;
  size_t ldc = 0;
  // With `group` 0 one scale and zero point per depth: c[i,j] = Σp a[i,p] (b[p,j] - zero[p])
  // scale[p]. Else one per column and `group` depths, group g at [g * kGemmPanelColumns + j]:
  // c[i,j] = Σg (Σp a[i,p] (b[p,j] - zero[g,j])) scale[g,j].
  size_t group = 0;
  const float *scale = nullptr, *zero = nullptr;
};
void MultiplyMixed(const MixedPanel& panel);

absl::Span<const Kernel> MixedGemmKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_MIXED_GEMM_H_
