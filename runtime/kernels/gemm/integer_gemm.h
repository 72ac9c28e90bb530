// GEMM of integer matrices with PyTorch's semantics: in the operands' dtype, wrapping. Exact:
// results have the bits of the reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_INTEGER_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_INTEGER_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {

// C[m, n] = A[m, k] B[k, n] for at most kPanelColumns columns. Rows of A are lda elements
// apart, those of C ldc. B is a panel: rows of kPanelColumns elements.
template <class T>
struct IntegerPanel {
  size_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  size_t lda = 0;
  const T* b = nullptr;
  T* c = nullptr;
  size_t ldc = 0;
};
void MultiplyIntegers(const IntegerPanel<int32_t>& panel);
void MultiplyIntegers(const IntegerPanel<int64_t>& panel);

// The same for 8-bit elements, in VNNI-4 interleaved layout: row q of the panel holds, for each of
// its kPanelColumns columns, the bytes of depths 4q … 4q + 3. Rows of A have `quads` groups of
// four bytes. C is exact modulo 256, for signed and unsigned bytes.
inline constexpr size_t kQuad = 4;
struct BytePanel {
  size_t m = 0, n = 0, quads = 0;
  const uint8_t* a = nullptr;
  const int8_t* b = nullptr;
  int32_t* c = nullptr;
  size_t ldc = 0;
};
void MultiplyBytes(const BytePanel& panel);

absl::Span<const Kernel> IntegerGemmKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_INTEGER_GEMM_H_
