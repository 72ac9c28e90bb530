// GEMM of row-major float matrices.
//
// The technique is that of BLIS (Van Zee and van de Geijn, 2015): a register tile of the result; B
// is read in panels as wide as the tile. There is no K blocking: panels of the sizes that models
// have stay in the L2 cache.
//
// Accuracy: each lane accumulates in float, in k order. The error bound is that of a plain float
// loop: k * 2^-24 relative to the sum of absolute products. The result does not depend on the number
// of threads.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Maximal number of panel columns over all instruction sets: two vectors of 16 floats.
inline constexpr size_t kGemmPanelColumns = 32;
// Scratch floats of GemmF32, per thread.
inline constexpr size_t GemmScratch(size_t k) { return k * kGemmPanelColumns; }

// Fills `panel` with columns [first, first + count) of B: panel[p * stride + j] = B[p, first + j];
// count <= stride.
using PackPanel = void (*)(const void* source, size_t first, size_t count, size_t stride,
                           float* panel);

// C[m, n] = alpha * sum over k of A[m, k] * B[k, n] + bias. Rows of A and C are lda and ldc apart.
struct GemmF32Args {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  size_t lda = 0;
  // B: a matrix with rows ldb apart, or the source that `pack` reads panels from.
  const float* b = nullptr;
  size_t ldb = 0;
  PackPanel pack = nullptr;
  const void* pack_source = nullptr;
  float* c = nullptr;
  size_t ldc = 0;
  float alpha = 1;
  const float* column_bias = nullptr;  // [n], added to each row
  const float* row_bias = nullptr;     // [m], added to each column
  float* scratch = nullptr;            // GemmScratch(k) floats per thread
};
// On one thread.
void GemmF32(const GemmF32Args& args);
// On the threads of the context: divides the columns of C if each thread gets several panels, else
// its rows.
void GemmF32(const KernelContext& context, const GemmF32Args& args);

absl::Span<const Kernel> GemmKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_GEMM_H_
