#include "exir/quantize/error_feedback.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "exir/interpreter/run_kernel.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kRowsAtOnce = 256;
constexpr size_t kBlock = 128;  // columns, if rows have one scale

// Outputs with memory; kernels may not resize them.
class GivenOutputs final : public OutputAllocator {
 public:
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    if (tensor.sizes.span() == sizes) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("expected an output of the sizes of ", tensor.ToString()));
  }
};

absl::Status Call(const KernelRegistry& kernels, std::string_view op,
                  absl::Span<EValue* const> arguments, absl::Span<EValue* const> outputs) {
  GivenOutputs allocator;
  const Kernel* kernel =
      ChooseKernel(kernels, op, std::nullopt, KernelContext(arguments, outputs, &allocator, {}));
  if (kernel == nullptr) return absl::InternalError(absl::StrCat("no kernel for ", op));
  return RunKernel(*kernel, arguments, outputs, &allocator);
}

// A view of `rows` x `columns` elements of a row-major matrix with rows of `stride` elements.
TensorView MatrixView(const float* data, size_t rows, size_t columns, size_t stride) {
  TensorView view = TensorView::Contiguous(
      DType::kFloat32, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
      const_cast<float*>(data));  // kernels only read arguments
  view.strides = {static_cast<int64_t>(stride), 1};
  return view;
}

// Replaces the lower triangle of `matrix` [n, n] by its Cholesky factor, and the upper one by 0.
// Returns whether it is positive definite.
absl::StatusOr<bool> Factorize(std::vector<double>& matrix, int64_t n,
                               const KernelRegistry& kernels) {
  std::vector<double> factor(matrix.size());
  int32_t info = 0;
  EValue self(TensorView::Contiguous(DType::kFloat64, {n, n}, matrix.data()));
  EValue upper(false), check_errors(false);
  EValue lower(TensorView::Contiguous(DType::kFloat64, {n, n}, factor.data()));
  EValue failed(TensorView::Contiguous(DType::kInt32, {}, &info));
  EValue* const arguments[] = {&self, &upper, &check_errors};
  EValue* const outputs[] = {&lower, &failed};
  ABSL_RETURN_IF_ERROR(Call(kernels, "aten.linalg_cholesky_ex.default", arguments, outputs));
  matrix = std::move(factor);
  return info == 0;
}

}  // namespace

absl::Status MultiplyMatrices(const KernelRegistry& kernels, const TensorView& a,
                              const TensorView& b, const TensorView& c) {
  EValue left(a), right(b), result(c);
  EValue* const arguments[] = {&left, &right};
  EValue* const outputs[] = {&result};
  return Call(kernels, "aten.mm.default", arguments, outputs);
}

GramMatrix::GramMatrix(int64_t columns, const KernelRegistry& kernels)
    : columns_(static_cast<size_t>(columns)), kernels_(&kernels), sum_(columns_ * columns_) {}

void GramMatrix::Add(const TensorView& input) {
  const int rank = input.rank();
  if (rank < 1 || input.sizes[rank - 1] != static_cast<int64_t>(columns_)) return;
  Sizes rows = input.sizes;
  rows[rank - 1] = 1;
  const int64_t step = input.strides[rank - 1];
  for (StridedIterator<1> it(rows, {input.strides}); !it.done(); it.Next()) {
    const float* row = input.as<float>() + it.offset(0);
    for (size_t k = 0; k < columns_; ++k) rows_.push_back(row[static_cast<int64_t>(k) * step]);
    if (rows_.size() == kRowsAtOnce * columns_) Flush();
  }
}

void GramMatrix::Flush() {
  const size_t count = rows_.size() / columns_;
  if (count == 0 || !status_.ok()) return;
  product_.resize(columns_ * columns_);
  const TensorView rows = MatrixView(rows_.data(), count, columns_, columns_);
  TensorView transposed = rows;
  std::swap(transposed.sizes[0], transposed.sizes[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  status_ = MultiplyMatrices(*kernels_, transposed, rows,
                             MatrixView(product_.data(), columns_, columns_, columns_));
  for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += double{product_[i]};
  rows_.clear();
}

absl::StatusOr<std::vector<double>> GramMatrix::Finish() && {
  Flush();
  if (!status_.ok()) return status_;
  return std::move(sum_);
}

absl::StatusOr<std::optional<std::vector<float>>> FeedbackFactors(std::vector<double> gram,
                                                                  int64_t n,
                                                                  const KernelRegistry& kernels) {
  const auto size = static_cast<size_t>(n);
  double mean = 0;
  for (size_t i = 0; i < size; ++i) mean += gram[i * size + i] / static_cast<double>(n);
  const bool finite =
      std::all_of(gram.begin(), gram.end(), [](double x) { return std::isfinite(x); });
  if (!finite || mean <= 0) return std::nullopt;
  // With J, which reverses the order: J H J = L L^T gives H = R R^T, where R = J L J is upper
  // triangular. U is R with columns divided by the diagonal.
  std::vector<double> reversed;
  for (double damping : {0.01, 0.1, 1.0}) {
    reversed.assign(gram.rbegin(), gram.rend());
    for (size_t i = 0; i < size; ++i) reversed[i * size + i] += damping * mean;
    ABSL_ASSIGN_OR_RETURN(const bool positive, Factorize(reversed, n, kernels));
    if (!positive) continue;
    std::vector<float> factors(size * size);
    for (size_t k = 0; k < size; ++k) {
      const double diagonal = reversed[(size - 1 - k) * size + size - 1 - k];
      for (size_t i = 0; i <= k; ++i) {
        factors[i * size + k] =
            static_cast<float>(reversed[(size - 1 - i) * size + size - 1 - k] / diagonal);
      }
    }
    return factors;
  }
  return std::nullopt;
}

absl::StatusOr<QuantizedRows> QuantizeRowsWithFeedback(absl::Span<const float> elements,
                                                       int64_t columns, const RowsOptions& options,
                                                       absl::Span<const float> factors,
                                                       const KernelRegistry& kernels) {
  const auto k = static_cast<size_t>(columns);
  const size_t rows = elements.size() / k;
  const bool has_groups = options.group_size != 0;
  const size_t group_size = has_groups ? static_cast<size_t>(options.group_size) : k;
  const size_t block = has_groups ? group_size : std::min(k, kBlock);
  QuantizedRows result;
  result.elements.resize(elements.size());
  result.scales.resize(rows * (k / group_size));
  if (!options.symmetric) result.zero_points.resize(result.scales.size());
  std::vector<float> errors(elements.size()), feedback(rows * block);
  for (size_t start = 0; start < k; start += block) {
    const size_t width = std::min(block, k - start);
    if (start > 0) {
      ABSL_RETURN_IF_ERROR(MultiplyMatrices(kernels, MatrixView(errors.data(), rows, start, k),
                                            MatrixView(factors.data() + start, start, width, k),
                                            MatrixView(feedback.data(), rows, width, width)));
    }
    for (size_t n = 0; n < rows; ++n) {
      const absl::Span<const float> original = elements.subspan(n * k + start, width);
      float* target = feedback.data() + n * width;
      for (size_t j = 0; j < width; ++j) target[j] += original[j];
      const size_t group = n * (k / group_size) + start / group_size;
      if (has_groups || start == 0) {
        const AffineParameters chosen = ChooseForGroup(
            has_groups ? absl::MakeConstSpan(target, width) : elements.subspan(n * k, k), options);
        result.scales[group] = chosen.scale;
        if (!options.symmetric) result.zero_points[group] = static_cast<int8_t>(chosen.zero_point);
      }
      const AffineParameters p = {result.scales[group],
                                  options.symmetric ? 0 : result.zero_points[group]};
      for (size_t j = 0; j < width; ++j) {
        const int32_t q = QuantizeNumber(target[j], p, options.range);
        const float dequantized = DequantizeNumber(q, p), error = original[j] - dequantized;
        result.elements[n * k + start + j] = static_cast<std::byte>(static_cast<int8_t>(q));
        result.loss.Add(original[j], dequantized);
        result.loss.clamped += IsClamped(target[j], p, options.range) ? 1 : 0;
        errors[n * k + start + j] = error;
        const float* row = factors.data() + (start + j) * k + start;
        for (size_t i = j + 1; i < width; ++i) target[i] += error * row[i];
      }
    }
  }
  return result;
}

}  // namespace belay::exir
