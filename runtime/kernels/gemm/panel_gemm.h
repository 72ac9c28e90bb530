// GEMMs whose accumulation is not that of packed_gemm.h: integers, which wrap, doubles, and float rows
// with int8 columns that have scales. They compute one panel of columns.
//
// For floats, each product and each sum is rounded to float32, in the order of the depth, as in the
// reference kernel. All results have the bits of the reference kernels on every instruction set, except
// those of doubles: each product and its sum are rounded once where the instruction set allows it. A
// result of depth k has an error of at most k u S, where u is 2^-53 and S the sum of the products'
// absolute values, and does not depend on the number of threads.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_PANEL_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_PANEL_GEMM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "runtime/core/budget.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {

// C[m, n] = A[m, k] B[k, n] for at most kPanelColumns columns. Row i of A is at a + i * lda, row p of
// B at b + p * ldb, row i of C at c + i * ldc. kPanelColumns elements of each row of B may be read.
template <class A, class B>
struct PanelArgs {
  size_t m = 0, n = 0, k = 0;
  const A* a = nullptr;
  size_t lda = 0;
  const B* b = nullptr;
  size_t ldb = 0;
  A* c = nullptr;
  size_t ldc = 0;
  // For B of int8. If group == 0, one scale and zero point per depth:
  //   c[i,j] = Σp a[i,p] (b[p,j] - zero[p]) scale[p]
  // Otherwise one per column and `group` depths, stored at [g * kPanelColumns + j]:
  //   c[i,j] = Σg (Σp a[i,p] (b[p,j] - zero[g,j])) scale[g,j]
  size_t group = 0;
  const float *scale = nullptr, *zero = nullptr;
};

// If k is 0, the operands may be null, and the result is zeros.
void MultiplyPanel(const PanelArgs<int32_t, int32_t>& args);
void MultiplyPanel(const PanelArgs<int64_t, int64_t>& args);
void MultiplyPanel(const PanelArgs<double, double>& args);
void MultiplyPanel(const PanelArgs<float, int8_t>& args);

// The same for g.n <= kFewDoubleColumns contiguous columns of B: element p of column j
// is at b + j * ldb + p. Sums of a row's products are added in lanes: an element differs from the exact
// one by at most (k + 4) * 2^-53 * sum |a b|.
inline constexpr size_t kFewDoubleColumns = 4;
void MultiplyColumns(const PanelArgs<double, double>& args);

// As RunGemm, but calls body for each panel of size.column_step columns of a part, until the budget
// is used up.
inline void RunPanels(const KernelContext& context, const GemmSize& size,
                      absl::FunctionRef<void(int, size_t, size_t, size_t, size_t)> body) {
  const auto step = static_cast<size_t>(size.column_step);
  const double work_of_panel =
      size.work / static_cast<double>(size.columns) * static_cast<double>(size.column_step);
  RunGemm(context, size,
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            Budget::Pace pace;
            for (; column < end_column; column += step) {
              if (pace.Stop(static_cast<int64_t>(std::min(work_of_panel, 1e18)))) return;
              body(part, row, end_row, column, std::min(column + step, end_column));
            }
          });
}

// mm, bmm and addmm of integers and doubles; mixed_mm and mixed_linear.
absl::Span<const Kernel> IntegerGemmKernels();
absl::Span<const Kernel> MixedGemmKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_PANEL_GEMM_H_
