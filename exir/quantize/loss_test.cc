#include "exir/quantize/loss.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace belay::exir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LossSumsTest, ComputesMetrics) {
  LossSums sums;
  sums.Add(3, 3);
  sums.Add(4, 5);
  EXPECT_NEAR(sums.Value(LossMetric::kSnr), 10 * std::log10(25.0), 1e-12);
  EXPECT_NEAR(sums.Value(LossMetric::kCosine), 29 / (5 * std::sqrt(34.0)), 1e-12);
  EXPECT_EQ(sums.Value(LossMetric::kMse), 0.5);
  EXPECT_EQ(sums.max_error, 1);
}

TEST(LossSumsTest, EqualOutputsHaveNoLoss) {
  LossSums sums;
  sums.Add(0.1, 0.1);
  EXPECT_EQ(sums.Value(LossMetric::kSnr), kInfinity);
  EXPECT_EQ(sums.Value(LossMetric::kCosine), 1);
  EXPECT_EQ(sums.Value(LossMetric::kMse), 0);
}

TEST(LossSumsTest, SkipsElementsThatAreNotFiniteInFloat32) {
  LossSums sums;
  sums.Add(kInfinity, 1);
  sums.Add(std::nan(""), 1);
  EXPECT_EQ(sums.elements, 0);
  EXPECT_EQ(sums.Value(LossMetric::kSnr), kInfinity);
  sums.Add(1, std::nan(""));
  EXPECT_EQ(sums.Value(LossMetric::kSnr), -kInfinity);
  EXPECT_EQ(sums.Value(LossMetric::kCosine), -1);
  EXPECT_EQ(sums.Value(LossMetric::kMse), kInfinity);
}

TEST(LossSumsTest, PairsElementsOfStridedTensors) {
  std::vector<float> rows = {1, 2, 3, 4}, columns = {1, 3, 2, 5};
  const TensorView y = {
      .dtype = DType::kFloat32, .sizes = {2, 2}, .strides = {2, 1}, .data = rows.data()};
  const TensorView actual = {
      .dtype = DType::kFloat32, .sizes = {2, 2}, .strides = {1, 2}, .data = columns.data()};
  LossSums sums;
  sums.Add(y, actual);
  EXPECT_EQ(sums.elements, 4);
  EXPECT_EQ(sums.expected, 30);
  EXPECT_EQ(sums.noise, 1);
}

TEST(LossMetricTest, HasNames) {
  EXPECT_EQ(LossMetricName(LossMetric::kSnr), "snr");
  EXPECT_EQ(LossMetricName(LossMetric::kCosine), "cosine");
  EXPECT_EQ(LossMetricName(LossMetric::kMse), "mse");
}

}  // namespace
}  // namespace belay::exir
