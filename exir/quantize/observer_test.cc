#include "exir/quantize/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "exir/quantize/affine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::FloatNear;
using ::testing::Optional;
using ::testing::Pair;

// Three batches whose range grows: of 1000, 1500 and 700 elements.
std::vector<std::vector<float>> Batches() {
  std::vector<std::vector<float>> batches(3);
  for (int i = 0; i < 1000; ++i) {
    const double outlier = i % 501 == 500 ? 5 : 0;
    batches[0].push_back(static_cast<float>(std::sin(i * 0.37) * (i % 97) / 20 + outlier));
  }
  for (int i = 0; i < 1500; ++i) {
    batches[1].push_back(static_cast<float>(std::cos(i * 0.53) * (i % 89) / 10));
  }
  for (int i = 0; i < 700; ++i) {
    batches[2].push_back(static_cast<float>(std::pow(std::sin(i * 0.11), 3) * 3));
  }
  return batches;
}

std::optional<std::pair<float, float>> RangeOf(Observer observer,
                                               const std::vector<std::vector<float>>& batches) {
  for (const std::vector<float>& batch : batches) observer.Observe(batch);
  return observer.Range();
}

// Expected values: torchao 0.18, pt2e/observer.py.
TEST(ObserverTest, HistogramRangeMatchesTorchao) {
  EXPECT_THAT(RangeOf(Observer(ObserverKind::kHistogram), Batches()),
              Optional(Pair(FloatNear(-8.7977F, 1e-3F), FloatNear(8.7375F, 1e-2F))));
}

TEST(ObserverTest, MovingAverageMatchesTorchao) {
  EXPECT_THAT(RangeOf(Observer(ObserverKind::kMovingAverage), Batches()),
              Optional(Pair(FloatNear(-4.737704F, 1e-5F), FloatNear(5.272389F, 1e-5F))));
}

TEST(ObserverTest, MinMaxCoversAllElements) {
  EXPECT_THAT(RangeOf(Observer(ObserverKind::kMinMax), {{1, -2}, {5, 0}, {-3}}),
              Optional(Pair(-3, 5)));
}

// One outlier among many elements: representing it would cost more than clamping it.
TEST(ObserverTest, HistogramAndPercentileCutOutliers) {
  std::vector<float> values;
  for (int i = 0; i < 100000; ++i) values.push_back(static_cast<float>(std::sin(i * 0.7)));
  values.push_back(40);
  EXPECT_LT(RangeOf(Observer(ObserverKind::kHistogram), {values})->second, 20);
  EXPECT_LT(RangeOf(Observer(ObserverKind::kPercentile, 99.9), {values})->second, 1.1);
  EXPECT_EQ(RangeOf(Observer(ObserverKind::kPercentile, 100), {values})->second, 40);
}

// Sum of |x - x'|^2.25 of quantizing the values over the range.
double ErrorOf(std::pair<float, float> range, const std::vector<float>& values) {
  const AffineParameters parameters = ChooseAffine(range.first, range.second, false, {});
  double error = 0;
  for (float x : values) {
    const int32_t q = QuantizeNumber(x, parameters, {});
    error += std::pow(std::abs(double{x} - double{DequantizeNumber(q, parameters)}), 2.25);
  }
  return error;
}

// Heavy tails: torchao's search, which moves one bound at a time by shares of the elements, ends
// before or after the minimum. Elements are counted in bins, so their errors are approximate.
TEST(ObserverTest, LeastErrorLosesNoMoreThanOtherRanges) {
  for (const double power : {1.0, 3.0, 5.0, 9.0}) {
    std::vector<float> values;
    for (int i = 0; i < 20000; ++i) {
      values.push_back(static_cast<float>(std::pow(2 * std::sin(i * 0.7), power)));
    }
    values.push_back(2 * values[0] + 30);
    const double least = ErrorOf(*RangeOf(Observer(ObserverKind::kLeastError), {values}), values);
    for (const ObserverKind kind : {ObserverKind::kHistogram, ObserverKind::kMinMax}) {
      EXPECT_LE(least, 1.02 * ErrorOf(*RangeOf(Observer(kind), {values}), values)) << power;
    }
    const double percentile =
        ErrorOf(*RangeOf(Observer(ObserverKind::kPercentile, 99.9), {values}), values);
    EXPECT_LE(least, 1.02 * percentile) << power;
  }
}

TEST(ObserverTest, IgnoresElementsThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ObserverKind kind :
       {ObserverKind::kMinMax, ObserverKind::kMovingAverage, ObserverKind::kHistogram,
        ObserverKind::kLeastError, ObserverKind::kPercentile}) {
    EXPECT_THAT(RangeOf(Observer(kind), {{infinity, 2, -infinity, NAN}, {NAN}}),
                Optional(Pair(2, 2)));
    EXPECT_EQ(RangeOf(Observer(kind), {{NAN}, {}}), std::nullopt);
  }
}

TEST(ObserverTest, LossIsThatOfTheElements) {
  std::vector<float> values;
  for (int i = 0; i < 100000; ++i) values.push_back(static_cast<float>(std::sin(i * 0.7)));
  values.push_back(4);
  const std::pair<float, float> range = {-1.0F, 1.0F};
  const AffineParameters parameters = ChooseAffine(range.first, range.second, false, {});
  QuantizationLoss expected;
  for (float x : values) {
    expected.Add(x, DequantizeNumber(QuantizeNumber(x, parameters, {}), parameters));
  }
  Observer observer(ObserverKind::kLeastError);
  observer.Observe(values);
  const QuantizationLoss loss = observer.LossOf(range);
  EXPECT_EQ(loss.elements, 100001);
  EXPECT_EQ(loss.clamped, 1);
  EXPECT_NEAR(loss.SnrDb(), expected.SnrDb(), 0.2);
  EXPECT_NEAR(loss.max_error, 3, 0.01);
}

TEST(ObserverTest, LossOfAConstantIsThatOfItsValue) {
  Observer observer(ObserverKind::kHistogram);
  observer.Observe({3, 3});
  EXPECT_EQ(observer.LossOf({0, 3}).noise, 0);
  EXPECT_EQ(observer.LossOf({0, 2}).clamped, 2);
  EXPECT_EQ(observer.LossOf({0, 2}).max_error, 1);
}

TEST(ObserverTest, LossNeedsAHistogram) {
  Observer observer(ObserverKind::kMinMax);
  observer.Observe({1, 3});
  EXPECT_EQ(observer.LossOf({0, 3}).elements, 0);
}

TEST(ObserverTest, HistogramOfAConstantWidens) {
  const auto range = RangeOf(Observer(ObserverKind::kHistogram), {{2, 2, 2}, {0, 4, 1, 3}});
  ASSERT_TRUE(range.has_value());
  EXPECT_NEAR(range->first, 0, 0.1);
  EXPECT_NEAR(range->second, 4, 0.1);
}

// A function that is constant below 0: negative values need no levels. Between 0 and 4 all elements
// are as frequent as below.
TEST(ObserverTest, RangeOfAFunctionExcludesEqualResults) {
  Observer observer(ObserverKind::kLeastError);
  std::vector<float> values;
  for (int i = 0; i <= 4000; ++i) values.push_back(static_cast<float>(i - 3000) / 250);
  observer.Observe(values);
  const std::vector<float> points = observer.Points();
  ASSERT_FALSE(points.empty());
  EXPECT_NEAR(points.front(), -12, 0.01);
  EXPECT_NEAR(points.back(), 4, 0.01);
  std::vector<float> results;
  for (float x : points) results.push_back(std::max(x, 0.0F));
  const auto range = observer.Range(results);
  ASSERT_TRUE(range.has_value());
  EXPECT_GT(range->first, -0.1);
  EXPECT_NEAR(range->second, 4, 0.05);
  EXPECT_NEAR(observer.Range()->first, -12, 0.05);
}

// Differences of results decide, not those of x: large x with equal results are clamped.
TEST(ObserverTest, RangeOfASaturatedFunctionIsNarrow) {
  Observer observer(ObserverKind::kLeastError);
  std::vector<float> values;
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<float>(i - 10000) / 100);
  observer.Observe(values);
  std::vector<float> results;
  for (float x : observer.Points()) results.push_back(std::tanh(x / 4));
  const auto range = observer.Range(results);
  ASSERT_TRUE(range.has_value());
  EXPECT_GT(range->first, -50);
  EXPECT_LT(range->first, -6);
  EXPECT_LT(range->second, 50);
  EXPECT_GT(range->second, 6);
}

TEST(ObserverTest, OnlyLeastErrorHasPoints) {
  for (const ObserverKind kind : {ObserverKind::kMinMax, ObserverKind::kMovingAverage,
                                  ObserverKind::kHistogram, ObserverKind::kPercentile}) {
    Observer observer(kind);
    observer.Observe({1, 2, 3});
    EXPECT_TRUE(observer.Points().empty());
  }
  Observer equal(ObserverKind::kLeastError);
  EXPECT_TRUE(equal.Points().empty());
  equal.Observe({2, 2});
  EXPECT_TRUE(equal.Points().empty());
}

TEST(ObserverTest, HistogramsGiveTheDistribution) {
  Observer histogram(ObserverKind::kHistogram), limits(ObserverKind::kMinMax);
  std::vector<float> values = {0, 0, 0, 32, 63.9F, 64};
  histogram.Observe(values);
  limits.Observe(values);
  const Distribution observed = histogram.Observed();
  EXPECT_EQ(observed.low, 0);
  EXPECT_EQ(observed.high, 64);
  EXPECT_EQ(observed.before[0], 3);
  EXPECT_EQ(observed.before[32], 1);
  EXPECT_EQ(observed.before[63], 2);
  EXPECT_TRUE(observed.after.empty());
  EXPECT_TRUE(limits.Observed().empty());
}

}  // namespace
}  // namespace belay::exir
