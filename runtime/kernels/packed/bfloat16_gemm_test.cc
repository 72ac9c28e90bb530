#include "runtime/kernels/packed/bfloat16_gemm.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/gemm_testing.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

using Problem = ProductProblem<BFloat16>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kUnit = 0x1p-8;  // relative error of rounding to bfloat16

class BFloat16GemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }

  // The header's error bound of sums; the bias is one more addend.
  static double Bound(const Problem& p, double magnitude) {
    const auto terms = static_cast<double>(p.k * p.taps);
    return (terms + 9) * 0x1p-23 * magnitude + terms * 0x1p-125;
  }
  static void Check(Problem& p) {
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j) {
        double magnitude = 0;
        const double want = p.Sum(i, j, &magnitude) + double{p.bias[j]};
        const double bound = Bound(p, magnitude + std::abs(p.bias[j]));
        ASSERT_NEAR(p.c[i * p.n + j], want, bound + kUnit * (std::abs(want) + bound))
            << p.m << "x" << p.k << "*" << p.taps << "x" << p.n << " at " << i << "," << j;
      }
    }
  }
  // With floats, if the instruction set does so, and with bfloat16.
  static void MultiplyAndCheck(Problem& p) {
    for (const bool widens : {true, false}) {
      p.widens = widens;
      BFloat16GemmArgs g = p.Args();
      g.epilogue.bias = p.bias.data();
      PackedGemm(g);
      Check(p);
      if (HasFatalFailure()) return;
    }
  }

  std::mt19937_64 random_{TestSeed()};
};

TEST_P(BFloat16GemmTest, RowsColumnsAndDepthsAroundTheTile) {
  for (size_t m = 1; m <= 2 * kTileRows + 1; ++m) {
    for (size_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65}) {
      for (size_t k : {2, 4, 6, 8, 10, 32, 66}) {
        Problem p(m, n, k, 1, random_);
        MultiplyAndCheck(p);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(BFloat16GemmTest, TileGroupsAndLongSums) {
  // Rows 2048 elements apart: copied, kCopiedRows in a group.
  const size_t shapes[][3] = {{13, 200, 2048},        {kCopiedRows + 3, 40, 2048},
                              {3, 70, 5000},          {kGroupRows + 30, 33, 50},
                              {25, 40, 2 * 2304 + 2}, {kGroupRows + 1, 35, 1000}};
  for (const auto& [m, n, k] : shapes) {
    Problem p(m, n, k, 1, random_);
    MultiplyAndCheck(p);
  }
}

TEST_P(BFloat16GemmTest, IndirectRows) {
  for (size_t m : {size_t{1}, size_t{2}, size_t{12}, size_t{13}, size_t{29}, kGroupRows + 5}) {
    for (size_t taps : {2, 9}) {
      for (size_t k : {2, 8, 18, 100, 600}) {
        if (m > 29 && k * taps > 1500) continue;  // slow, covered by smaller cases
        Problem p(m, 37, k, taps, random_);
        MultiplyAndCheck(p);
      }
    }
  }
}

TEST_P(BFloat16GemmTest, ZeroDepthGivesTheBias) { ExpectTheBiasOfNoProducts<BFloat16>(random_); }

TEST_P(BFloat16GemmTest, ResultsDoNotDependOnTheRange) {
  const size_t shapes[][2] = {{3, 50},   {14, 50},   {40, 50},
                              {40, 700}, {13, 3000}, {kCopiedRows + 5, 2048}};
  for (const auto& [m, k] : shapes) ExpectSameForAnyDivision<BFloat16>(m, k, random_);
}

TEST_P(BFloat16GemmTest, WritesOnlyTheRange) {
  ExpectNothingOutsideOfTheRange<BFloat16>(10, random_);
}

// Every step of the epilogue rounds. The rounded sum thus determines all later steps exactly,
// except for the activation, which may round a tie the other way.
TEST_P(BFloat16GemmTest, RoundsEachEpilogueStep) {
  for (int activation = 0; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
    for (int combine : {0, 1, 2}) {  // nothing, add, multiply
      Problem p(14, 43, 12, 1, random_);
      BFloat16GemmArgs g = p.Args();
      g.epilogue.bias = p.bias.data();
      PackedGemm(g);
      const std::vector<BFloat16> sums(p.c.data(), p.c.data() + p.c.size());
      g.epilogue.activation = static_cast<Activation>(activation);
      if (combine != 0) g.epilogue.other = p.other.data();
      g.epilogue.multiply = combine == 2;
      g.epilogue.low = -1;
      g.epilogue.high = 4;
      PackedGemm(g);
      for (size_t i = 0; i < sums.size(); ++i) {
        const float other = p.other[i];
        BFloat16 x = sums[i];
        if (combine == 1) x = BFloat16(x + other);
        const double exact = ExactActivation(g.epilogue.activation, x);
        double want = activation == 0 ? exact : double{BFloat16(static_cast<float>(exact))};
        // One bfloat16 step, for a value near a tie.
        double bound = activation == 0 ? 0 : 2 * kUnit * std::abs(exact) + 4e-7 * std::abs(x);
        if (combine == 2) {
          want = BFloat16(static_cast<float>(want) * other);
          bound = bound * std::abs(other) + (activation == 0 ? 0 : 2 * kUnit * std::abs(want));
        }
        want = std::fmin(std::fmax(want, -1), 4);
        ASSERT_NEAR(p.c[i], want, bound)
            << "activation " << activation << ", combine " << combine << " at " << i;
      }
    }
  }
}

TEST_P(BFloat16GemmTest, RoundsTiesToEven) {
  Problem p(1, 6, 2, 1, random_);
  p.a[0] = BFloat16(1.0f), p.a[1] = BFloat16(1.0f);
  const float first[] = {1, 1, 1, 1, -1, 1},
              second[] = {0x1p-8f, 0x3p-8f, 0x1p-7f, 0x1.1p-8f, -0x1p-8f, 0x1.fep-9f};
  for (size_t j = 0; j < 6; ++j) {
    p.b[j] = BFloat16(first[j]);
    p.b[6 + j] = BFloat16(second[j]);
  }
  p.Pack();
  PackedGemm(p.Args());
  const float want[] = {1, 1 + 0x1p-6f, 1 + 0x1p-7f, 1 + 0x1p-7f, -1, 1};
  for (size_t j = 0; j < 6; ++j) EXPECT_EQ(static_cast<float>(p.c[j]), want[j]) << j;
}

TEST_P(BFloat16GemmTest, OtherMayAliasTheResult) {
  for (size_t k : {6, 4700}) ExpectOtherMayBeTheResult<BFloat16>(k, random_);
}

TEST_P(BFloat16GemmTest, PropagatesNanAndClampsInfinities) {
  for (int activation = 0; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
    Problem p(13, 35, 4, 1, random_);
    p.a[4 * 4 + 1] = BFloat16(std::numeric_limits<float>::quiet_NaN());
    BFloat16GemmArgs g = p.Args();
    g.epilogue.activation = static_cast<Activation>(activation);
    g.epilogue.low = 0;
    g.epilogue.high = 6;
    PackedGemm(g);
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j) {
        EXPECT_EQ(std::isnan(p.c[i * p.n + j]), i == 4) << activation;
        // The quiet NaN; an instruction that rounds keeps its sign.
        if (i == 4) EXPECT_EQ(p.c[i * p.n + j].bits & 0x7FFF, 0x7FC0);
      }
    }
  }
  Problem p(1, 2, 2, 1, random_);
  p.a[0] = BFloat16(kInf), p.a[1] = BFloat16(1.0f);
  for (size_t j = 0; j < 4; ++j) p.b[j] = BFloat16(j % 2 == 0 ? 1.0f : -1.0f);
  p.Pack();
  BFloat16GemmArgs g = p.Args();
  g.epilogue.low = 0;
  PackedGemm(g);
  EXPECT_EQ(static_cast<float>(p.c[0]), kInf);
  EXPECT_EQ(static_cast<float>(p.c[1]), 0);
}

INSTANTIATE_TEST_SUITE_P(, BFloat16GemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
