#include "exir/quantize/affine.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "exir/quantize/calibration_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

// Expected values: torchao 0.18, choose_qparams_affine and quantize_affine with eps 2^-23.
const std::vector<float> kRows = {0.3F,    -1.7F,   0.05F,    2.9F,   -0.66F,  1.12F,
                                  -2.41F,  0.499F,  1e-3F,    -2e-3F, 3.1e-3F, -4e-3F,
                                  2.5e-3F, 1.5e-3F, -0.5e-3F, 0.0F};

std::vector<int> Elements(const QuantizedRows& rows) {
  std::vector<int> elements;
  for (std::byte b : rows.elements) elements.push_back(static_cast<int8_t>(b));
  return elements;
}

TEST(AffineTest, Int8RowsMatchTorchao) {
  const QuantizedRows rows = QuantizeRows(kRows, 8, {.range = {-128, 127}});
  EXPECT_THAT(rows.scales, ElementsAre(0x1.74a7dcp-6F, 0x1.072c0ap-15F));
  EXPECT_THAT(Elements(rows),
              ElementsAre(13, -75, 2, 127, -29, 49, -106, 22, 32, -64, 99, -128, 80, 48, -16, 0));
  EXPECT_TRUE(rows.zero_points.empty());
}

TEST(AffineTest, SymmetricRangeMatchesPt2e) {
  const QuantizedRows rows = QuantizeRows(kRows, 8, {.range = {-127, 127}});
  EXPECT_THAT(rows.scales, ElementsAre(0x1.761f72p-6F, 0x1.083548p-15F));
  EXPECT_THAT(Elements(rows),
              ElementsAre(13, -74, 2, 127, -29, 49, -106, 22, 32, -64, 98, -127, 79, 48, -16, 0));
}

TEST(AffineTest, Int4GroupsMatchTorchao) {
  const QuantizedRows rows = QuantizeRows(kRows, 8, {.range = {-8, 7}, .group_size = 4});
  EXPECT_THAT(rows.scales,
              ElementsAre(0x1.8bf25ap-2F, 0x1.490b9cp-2F, 0x1.179ecap-11F, 0x1.5d867cp-12F));
  EXPECT_THAT(Elements(rows), ElementsAre(1, -4, 0, 7, -2, 3, -8, 2, 2, -4, 6, -8, 7, 4, -2, 0));
}

TEST(AffineTest, AsymmetricGroupsMatchTorchao) {
  const QuantizedRows rows =
      QuantizeRows(kRows, 8, {.range = {-8, 7}, .group_size = 4, .symmetric = false});
  EXPECT_THAT(rows.scales,
              ElementsAre(0x1.3a06d6p-2F, 0x1.e1f674p-3F, 0x1.f05374p-12F, 0x1.a36e2ep-13F));
  EXPECT_THAT(rows.zero_points, ElementsAre(-2, 2, 0, -5));
  EXPECT_THAT(Elements(rows), ElementsAre(-1, -8, -2, 7, -1, 7, -8, 4, 2, -4, 7, -8, 7, 3, -7, -5));
}

TEST(AffineTest, RowOfZerosHasTheSmallestScale) {
  const QuantizedRows rows = QuantizeRows(std::vector<float>(4, 0.0F), 4, {});
  EXPECT_THAT(rows.scales, ElementsAre(kMinScale));
  EXPECT_THAT(Elements(rows), ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(std::isinf(rows.loss.SnrDb()));
}

TEST(AffineTest, AsymmetricParametersRepresentZero) {
  EXPECT_EQ(ChooseAffine(2, 4, false, {-128, 127}), (AffineParameters{4.0F / 255, -128}));
  EXPECT_EQ(ChooseAffine(-4, -2, false, {-128, 127}), (AffineParameters{4.0F / 255, 127}));
}

TEST(AffineTest, LargestRangeDoesNotOverflow) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(ChooseAffine(-most, most, false, {-128, 127}).scale));
}

TEST(AffineTest, RoundsHalfToEvenAndClamps) {
  const AffineParameters p = {1, 3};
  EXPECT_EQ(QuantizeNumber(0.5F, p, {-128, 127}), 3);
  EXPECT_EQ(QuantizeNumber(1.5F, p, {-128, 127}), 5);
  EXPECT_EQ(QuantizeNumber(-2.5F, p, {-128, 127}), 1);
  EXPECT_EQ(QuantizeNumber(1e30F, p, {-128, 127}), 127);
  EXPECT_EQ(QuantizeNumber(-1e30F, p, {-128, 127}), -128);
}

TEST(AffineTest, SquaredErrorSearchIsNeverWorse) {
  std::mt19937_64 random(TestSeed());
  std::normal_distribution<float> normal;
  for (const bool symmetric : {true, false}) {
    std::vector<float> elements(64 * 32);
    for (float& x : elements) x = normal(random);
    RowsOptions options = {.range = {-8, 7}, .group_size = 32, .symmetric = symmetric};
    const QuantizationLoss range = QuantizeRows(elements, 64, options).loss;
    options.search = ScaleSearch::kSquaredError;
    const QuantizationLoss searched = QuantizeRows(elements, 64, options).loss;
    EXPECT_LT(searched.noise, range.noise);
    EXPECT_EQ(searched.signal, range.signal);
  }
}

TEST(AffineTest, LossSumsErrors) {
  // Scale 1: 0.25 becomes 0, and -7.5 becomes -8.
  const QuantizedRows rows = QuantizeRows({0.25F, -7.5F}, 2, {.range = {-8, 7}});
  EXPECT_EQ(rows.loss.elements, 2);
  EXPECT_DOUBLE_EQ(rows.loss.signal, 0.0625 + 56.25);
  EXPECT_DOUBLE_EQ(rows.loss.noise, 0.0625 + 0.25);
  EXPECT_DOUBLE_EQ(rows.loss.max_error, 0.5);
  EXPECT_NEAR(rows.loss.SnrDb(), 10 * std::log10(56.3125 / 0.3125), 1e-9);
}

TEST(AffineTest, BFloat16RoundsToNearestEven) {
  QuantizationLoss loss;
  const std::vector<std::byte> bytes = RoundToBFloat16({{1.0F, 1.00390625F, 1.01171875F}}, loss);
  uint16_t bits[3];
  std::memcpy(bits, bytes.data(), sizeof(bits));
  EXPECT_EQ(BFloat16BitsToFloat(bits[1]), 1.0F);
  EXPECT_EQ(BFloat16BitsToFloat(bits[2]), 1.015625F);
  EXPECT_DOUBLE_EQ(loss.max_error, 0.00390625);
}

TEST(QuantizeRowsTest, ThreadsDoNotChangeTheResult) {
  // Several parts, and a last one that is not full.
  const std::vector<float> elements = PseudoRandom(size_t{2048} * 96, 1);
  const RowsOptions options = {
      .range = {-8, 7}, .group_size = 32, .search = ScaleSearch::kSquaredError};
  ThreadPool threads(3);
  const QuantizedRows one = QuantizeRows(elements, 96, options),
                      three = QuantizeRows(elements, 96, options, &threads);
  EXPECT_EQ(one.elements, three.elements);
  EXPECT_EQ(one.scales, three.scales);
  EXPECT_EQ(one.loss.noise, three.loss.noise);
  EXPECT_EQ(one.loss.elements, elements.size());
}

}  // namespace
}  // namespace belay::exir
