#include "exir/quantize/error_feedback.h"

#include <cmath>
#include <limits>
#include <vector>

#include "exir/quantize/calibration_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

class ErrorFeedbackTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  // Returns correlated rows [count, columns]: each element adds to the previous one.
  static std::vector<float> Correlated(size_t count, size_t columns) {
    std::vector<float> rows = PseudoRandom(count * columns, 7);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i % columns != 0) rows[i] += 0.9F * rows[i - 1];
    }
    return rows;
  }
  std::vector<double> GramOf(std::vector<float> rows, int64_t columns) const {
    GramMatrix gram(columns, kernels_);
    const auto count = static_cast<int64_t>(rows.size()) / columns;
    gram.Add(TensorView::Contiguous(DType::kFloat32, {count, columns}, rows.data()));
    return std::move(gram).Finish().value();
  }
  // Squared error of the outputs x * W^T.
  static double OutputError(const std::vector<float>& weight, const QuantizedRows& quantized,
                            const std::vector<float>& x, const RowsOptions& options,
                            size_t columns) {
    const size_t group =
        options.group_size == 0 ? columns : static_cast<size_t>(options.group_size);
    double sum = 0;
    for (size_t m = 0; m < x.size() / columns; ++m) {
      for (size_t n = 0; n < weight.size() / columns; ++n) {
        double error = 0;
        for (size_t k = 0; k < columns; ++k) {
          const size_t i = n * columns + k;
          const int zero = options.symmetric ? 0 : quantized.zero_points[i / group];
          const double w =
              (static_cast<int8_t>(quantized.elements[i]) - zero) * quantized.scales[i / group];
          error += x[m * columns + k] * (weight[i] - w);
        }
        sum += error * error;
      }
    }
    return sum;
  }

  KernelRegistry kernels_;
};

TEST_F(ErrorFeedbackTest, GramMatrixIsTheSumOverRows) {
  GramMatrix gram(2, kernels_);
  std::vector<float> first = {1, 2, 3, 4}, second = {1, 0, -1, 0};
  gram.Add(TensorView::Contiguous(DType::kFloat32, {1, 2, 2}, first.data()));
  TensorView transposed = TensorView::Contiguous(DType::kFloat32, {2, 2}, second.data());
  transposed.strides = {1, 2};  // rows (1, -1) and (0, 0)
  gram.Add(transposed);
  gram.Add(TensorView::Contiguous(DType::kFloat32, {4}, first.data()));  // ignored
  ASSERT_OK_AND_ASSIGN(const std::vector<double> sum, std::move(gram).Finish());
  EXPECT_THAT(sum, ElementsAre(11, 13, 13, 21));
}

TEST_F(ErrorFeedbackTest, GramMatrixAddsManyRows) {
  const std::vector<float> rows = Correlated(700, 3);
  const std::vector<double> gram = GramOf(rows, 3);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 3; ++k) {
      double expected = 0;
      for (size_t m = 0; m < 700; ++m) expected += double{rows[m * 3 + i]} * rows[m * 3 + k];
      EXPECT_NEAR(gram[i * 3 + k], expected, 1e-2);
    }
  }
}

// H + 1 % = [[4.04, 2], [2, 4.04]]: U[0, 1] = 2 / 4.04.
TEST_F(ErrorFeedbackTest, FactorsAreUpperTriangularWithUnitDiagonal) {
  ASSERT_OK_AND_ASSIGN(const auto factors, FeedbackFactors({4, 2, 2, 4}, 2, kernels_));
  ASSERT_TRUE(factors.has_value());
  EXPECT_THAT(*factors, ElementsAre(1, FloatNear(2 / 4.04F, 1e-6F), 0, 1));
}

TEST_F(ErrorFeedbackTest, DampingGrowsUntilTheMatrixIsPositiveDefinite) {
  // Eigenvalues 1.95 and 0.05 - 0.1, as rounding could give.
  ASSERT_OK_AND_ASSIGN(const auto factors, FeedbackFactors({1, 1.05, 1.05, 1}, 2, kernels_));
  ASSERT_TRUE(factors.has_value());
  EXPECT_THAT((*factors)[1], FloatNear(1.05F / 1.1F, 1e-6F));
}

TEST_F(ErrorFeedbackTest, DegenerateMatricesHaveNoFactors) {
  for (const std::vector<double>& gram :
       {std::vector<double>{0, 0, 0, 0}, std::vector<double>{1, NAN, NAN, 1},
        std::vector<double>{1, 5, 5, 1}}) {
    ASSERT_OK_AND_ASSIGN(const auto factors, FeedbackFactors(gram, 2, kernels_));
    EXPECT_FALSE(factors.has_value());
  }
}

// With H = I nothing is fed back.
TEST_F(ErrorFeedbackTest, UncorrelatedInputsGivePlainRounding) {
  constexpr int64_t kColumns = 64;
  const std::vector<float> weight = PseudoRandom(3 * kColumns, 1);
  std::vector<float> identity(kColumns * kColumns);
  for (size_t i = 0; i < kColumns; ++i) identity[i * kColumns + i] = 1;
  const RowsOptions options = {.range = {-8, 7}, .group_size = 32};
  const QuantizedRows plain = QuantizeRows(weight, kColumns, options);
  ASSERT_OK_AND_ASSIGN(const QuantizedRows fed,
                       QuantizeRowsWithFeedback(weight, kColumns, options, identity, kernels_));
  EXPECT_EQ(fed.elements, plain.elements);
  EXPECT_EQ(fed.scales, plain.scales);
  EXPECT_EQ(fed.loss.noise, plain.loss.noise);
  EXPECT_EQ(fed.loss.clamped, plain.loss.clamped);
}

TEST_F(ErrorFeedbackTest, OutputErrorIsLessThanOfPlainRounding) {
  constexpr int64_t kColumns = 192;
  const std::vector<float> weight = PseudoRandom(16 * kColumns, 3);
  const std::vector<float> x = Correlated(400, kColumns);
  ASSERT_OK_AND_ASSIGN(const auto factors,
                       FeedbackFactors(GramOf(x, kColumns), kColumns, kernels_));
  for (const RowsOptions& options :
       {RowsOptions{.range = {-8, 7}, .group_size = 32},
        RowsOptions{.range = {-8, 7}, .group_size = 64, .symmetric = false},
        RowsOptions{.range = {-8, 7}, .group_size = 32, .search = ScaleSearch::kSquaredError},
        RowsOptions{.range = {-127, 127}}}) {
    const double plain =
        OutputError(weight, QuantizeRows(weight, kColumns, options), x, options, kColumns);
    ASSERT_OK_AND_ASSIGN(const QuantizedRows rows,
                         QuantizeRowsWithFeedback(weight, kColumns, options, *factors, kernels_));
    const double fed = OutputError(weight, rows, x, options, kColumns);
    EXPECT_LT(fed, 0.6 * plain) << "group size " << options.group_size;
  }
}

}  // namespace
}  // namespace belay::exir
