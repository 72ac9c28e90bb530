// GEMM of float rows with int8 columns that have scales.
//
// Each product and each sum is rounded to float32, in the order of the depth, as in the reference
// kernel: results have the same bits on every instruction set.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_MIXED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_MIXED_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {

// GEMM with at most kPanelColumns columns. Row p of the panel is at b + p * ldb;
// kPanelColumns bytes of it may be read.
struct MixedPanel {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  size_t lda = 0;
  const int8_t* b = nullptr;
  size_t ldb = 0;
  float* c = nullptr;
  size_t ldc = 0;
  // If group == 0, one scale and zero point per depth:
  //   c[i,j] = Σp a[i,p] (b[p,j] - zero[p]) scale[p]
  // Otherwise one per column and `group` depths, stored at [g * kPanelColumns + j]:
  //   c[i,j] = Σg (Σp a[i,p] (b[p,j] - zero[g,j])) scale[g,j]
  size_t group = 0;
  const float *scale = nullptr, *zero = nullptr;
};
void MultiplyMixed(const MixedPanel& panel);

absl::Span<const Kernel> MixedGemmKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_MIXED_GEMM_H_
