// Quantization of linear weights with error feedback: the error of a column is compensated in the
// columns after it, weighted by the correlation of the inputs in the calibration data.
//
// Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
// Transformers", 2022: columns in order, one Hessian H = X^T X of the inputs, damping of 1 % of its
// mean diagonal. Computed in the equivalent form of Chee et al., "QuIP", 2023, §3.2, which needs no
// inverse:
//
//   H = U D U^T             U upper triangular with unit diagonal, D diagonal
//   q[n, k] = round(w[n, k] + sum over i < k of e[n, i] * U[i, k])     e = w - dequantized(q)
//
// It minimizes the squared error of x * W^T column by column; the error of W itself grows.
#ifndef BELAY_EXIR_QUANTIZE_ERROR_FEEDBACK_H_
#define BELAY_EXIR_QUANTIZE_ERROR_FEEDBACK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/quantize/affine.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// c = a * b for float32 matrices of any strides. `kernels` must have aten.mm. Errors of the kernel.
absl::Status MultiplyMatrices(const KernelRegistry& kernels, const TensorView& a,
                              const TensorView& b, const TensorView& c);

// Sum of x^T x over rows x of a float32 tensor. Thread-compatible.
class GramMatrix {
 public:
  // `kernels` must have aten.mm, and outlive this.
  GramMatrix(int64_t columns, const KernelRegistry& kernels);

  // Adds the rows of a tensor [..., columns]. Ignored if the last dimension differs, and after an
  // error. O(elements * columns).
  void Add(const TensorView& input);
  // Returns the sum, [columns, columns]. No Add may follow. Errors of the kernel in this or an
  // earlier call.
  absl::StatusOr<std::vector<double>> Finish() &&;

 private:
  void Flush();

  size_t columns_;
  const KernelRegistry* kernels_;
  absl::Status status_;
  std::vector<float> rows_;  // not added yet
  std::vector<float> product_;
  std::vector<double> sum_;
};

// Returns U of H = `gram`, row-major [n, n]. The damping grows by 10 until the damped matrix is
// positive definite, at most twice. nullopt if H is 0, has elements that are not finite, or if even
// then the factorization fails. `kernels` must have aten.linalg_cholesky_ex. O(n^3). Errors of the
// kernel.
absl::StatusOr<std::optional<std::vector<float>>> FeedbackFactors(std::vector<double> gram,
                                                                  int64_t n,
                                                                  const KernelRegistry& kernels);

// As QuantizeRows, with feedback by U = `factors` [columns, columns]. A group's parameters are
// chosen from its elements with the feedback of all columns before the group. `kernels` must have
// aten.mm. O(elements * columns). Errors of the kernel.
absl::StatusOr<QuantizedRows> QuantizeRowsWithFeedback(absl::Span<const float> elements,
                                                       int64_t columns, const RowsOptions& options,
                                                       absl::Span<const float> factors,
                                                       const KernelRegistry& kernels);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_ERROR_FEEDBACK_H_
