#include "runtime/kernels/packed/packed_gemm.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/few_columns.h"
#include "runtime/kernels/packed/gemm_testing.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Problem = ProductProblem<float>;

class PackedGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }

  // Expects every element within the header's error bound; the bias is one more addend.
  static void Check(Problem& p) {
    const PackedGemmArgs g = p.Args();
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j) {
        double magnitude = 0;
        double want = p.Sum(i, j, &magnitude);
        want += p.bias[j];
        magnitude += std::abs(p.bias[j]);
        const double terms = static_cast<double>(g.k * g.taps) + 4;
        ASSERT_NEAR(p.c[i * p.n + j], want, terms * 0x1p-24 * magnitude)
            << p.m << "x" << p.k << "*" << p.taps << "x" << p.n << " at " << i << "," << j;
      }
    }
  }

  std::mt19937_64 random_{TestSeed()};
};

TEST_P(PackedGemmTest, RowsColumnsAndDepthsAroundTheTile) {
  for (size_t m = 1; m <= 2 * kTileRows + 1; ++m) {
    for (size_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65}) {
      for (size_t k : {1, 2, 3, 4, 5, 16, 33}) {
        Problem p(m, n, k, 1, random_);
        PackedGemmArgs g = p.Args();
        g.epilogue.bias = p.bias.data();
        PackedGemm(g);
        Check(p);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(PackedGemmTest, TileGroupsAndKBlocks) {
  // Rows 1024 floats apart: copied, kCopiedRows in a group.
  const size_t shapes[][3] = {{13, 200, 1024},
                              {kCopiedRows + 3, 40, 1024},
                              {3, 70, 5000},
                              {25, 129, 2048},
                              {kGroupRows + 30, 33, 50},
                              {kGroupRows + 1, 40, kBlockDepth + 1},
                              {2 * kGroupRows, 35, kBlockDepth}};
  for (const auto& [m, n, k] : shapes) {
    Problem p(m, n, k, 1, random_);
    PackedGemmArgs g = p.Args();
    g.epilogue.bias = p.bias.data();
    PackedGemm(g);
    Check(p);
  }
}

// Whichever function computes the columns.
TEST_P(PackedGemmTest, SubnormalOperandsCountAsZeros) {
  for (size_t n : {1, 16, 33, 70}) {
    for (size_t m : {1, 5, 40}) {
      Problem p(m, n, 20, 1, random_);
      for (size_t i = 0; i < p.a.size(); ++i) p.a[i] = 0x1p-127F;
      for (size_t i = 0; i < p.b.size(); ++i) p.b[i] = 0x1p100F;
      p.Pack();
      PackedGemm(p.Args());
      for (size_t i = 0; i < m * n; ++i) ASSERT_EQ(p.c[i], 0) << m << "x" << n;
    }
  }
}

// Results that exceed the L2 cache are computed along their rows; B in one part, or in several.
TEST_P(PackedGemmTest, LargeResultsOfShortSums) {
  const size_t shapes[][3] = {{256, 1030, 5}, {257, 1100, 100}, {300, 1024, 384}};
  for (const auto& [m, n, k] : shapes) {
    Problem p(m, n, k, 1, random_);
    PackedGemmArgs g = p.Args();
    g.epilogue.bias = p.bias.data();
    PackedGemm(g);
    Check(p);
  }
}

// Two panels at once have the bits of one panel at a time.
TEST_P(PackedGemmTest, OneRowOfManyColumns) {
  for (size_t n : {63, 64, 65, 96, 127, 160}) {
    for (size_t k : {1, 3, 4, 5, 7, 8, 100, 1003}) {
      Problem p(1, n, k, 1, random_);
      PackedGemmArgs g = p.Args();
      g.epilogue.bias = p.bias.data();
      PackedGemm(g);
      Check(p);
      const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
      std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
      for (size_t column = 0; column < n; column += 32) {
        PackedGemmRange(g, 0, 1, column, std::min(column + 32, n));
      }
      ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0)
          << n << " columns, " << k << " terms";
    }
  }
}

TEST_P(PackedGemmTest, IndirectRows) {
  for (size_t m : {size_t{1}, size_t{2}, size_t{12}, size_t{13}, size_t{29}, kGroupRows + 5}) {
    for (size_t taps : {2, 9}) {
      // 9 * 100 and 2 * 400: K blocks of several taps and of one tap; 700: of a part of a tap.
      for (size_t k : {1, 8, 19, 100, 400, 700}) {
        if (m > 29 && k * taps > 1500) continue;  // slow, covered by smaller cases
        Problem p(m, 37, k, taps, random_);
        PackedGemmArgs g = p.Args();
        g.epilogue.bias = p.bias.data();
        PackedGemm(g);
        Check(p);
      }
    }
  }
}

// Rows below 30 are outside of the image at tap 0, and all others at tap 2.
TEST_P(PackedGemmTest, SkipsTapsOfZerosWithTheSameResult) {
  for (size_t k : {7, 64, 1000}) {
    Problem p(67, 37, k, 3, random_);
    PackedGemmArgs g = p.Args();
    struct Source {
      Problem* problem;
      std::vector<float> zeros;
    } source = {&p, std::vector<float>(k)};
    g.source = &source;
    g.row_pointers = [](const void* from, size_t first, size_t count, size_t tap, size_t taps,
                        const float** pointers) {
      const auto& s = *static_cast<const Source*>(from);
      Problem::RowPointers(s.problem, first, count, tap, taps, pointers);
      for (size_t t = 0; t < taps; ++t) {
        for (size_t i = 0; i < count; ++i) {
          if (tap + t == (first + i < 30 ? 0 : 2)) pointers[t * count + i] = s.zeros.data();
        }
      }
    };
    PackedGemm(g);
    const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
    std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
    g.zeros = source.zeros.data();
    PackedGemm(g);
    ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0) << k;
  }
}

TEST_P(PackedGemmTest, FewColumnsOfManyRows) {
  for (size_t m : {64, 65, 66, 67, 131}) {
    for (size_t n : {1, 2, 3, 4}) {
      for (size_t k : {16, 17, 40, 200}) {
        for (size_t taps : {1, 4, 9, 81}) {
          if (n * k * taps > kFewColumnsElements) continue;
          Problem p(m, n, k, taps, random_);
          PackedGemmArgs g = p.Args();
          ASSERT_EQ(HasFewColumns(g), taps > 1 || k >= kFewColumnsDepthPerColumn * n);
          g.epilogue.bias = p.bias.data();
          PackedGemm(g);
          Check(p);
          const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
          for (size_t split : {size_t{1}, size_t{30}, m - 1}) {
            std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
            PackedGemmRange(g, 0, split, 0, n);
            PackedGemmRange(g, split, m, 0, n);
            ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0);
          }
          g.epilogue.activation = Activation::kTanh;
          PackedGemm(g);
          for (size_t i = 0; i < whole.size(); ++i) {
            ASSERT_NEAR(p.c.data()[i], std::tanh(whole[i]), 1e-6) << i;
          }
        }
      }
    }
  }
}

// A tap is deeper than a K block.
TEST_P(PackedGemmTest, IndirectRowsDeeperThanAKBlock) {
  for (size_t m : {1, 13}) {
    Problem p(m, 37, kBlockDepth + 100, 2, random_);
    PackedGemmArgs g = p.Args();
    g.epilogue.bias = p.bias.data();
    PackedGemm(g);
    Check(p);
  }
}

// A product with B as it is stored: rows, or packed by a function.
struct UnpackedProblem : Problem {
  GuardedFloats panels, row_bias;

  UnpackedProblem(size_t m, size_t n, size_t k, std::mt19937_64& random)
      : Problem(m, n, k, 1, random), panels(PanelsSize(k, n)), row_bias(m) {
    row_bias.Fill(random);
  }
  static void Pack(const void* source, size_t first, size_t count, size_t stride, float* panel) {
    auto& p = *static_cast<UnpackedProblem*>(const_cast<void*>(source));
    for (size_t i = 0; i < p.k; ++i) {
      for (size_t j = 0; j < count; ++j) panel[i * stride + j] = p.b[i * p.n + first + j];
    }
  }
  PackedGemmArgs Args(bool rows) {
    PackedGemmArgs g = Problem::Args();
    g.tile = nullptr;
    g.b = rows ? b.data() : nullptr;
    g.ldb = rows ? n : 0;
    if (!rows) g.pack = &Pack;
    g.pack_source = this;
    g.panels = panels.data();
    return g;
  }
};

// Multiplies with all addends and compares every element with the header's error bound. The factor
// and the addends are more roundings.
void ExpectUnpackedProduct(UnpackedProblem& p, bool rows, float alpha) {
  PackedGemmArgs g = p.Args(rows);
  g.alpha = alpha;
  g.row_bias = p.row_bias.data();
  g.epilogue.bias = p.bias.data();
  g.epilogue.other = p.other.data();
  PackedGemm(g);
  for (size_t i = 0; i < p.m; ++i) {
    for (size_t j = 0; j < p.n; ++j) {
      double magnitude = 0;
      double want = alpha * p.Sum(i, j, &magnitude);
      magnitude *= std::abs(alpha);
      for (double x : {p.bias[j], p.row_bias[i], p.other[i * p.n + j]}) {
        want += x;
        magnitude += std::abs(x);
      }
      ASSERT_NEAR(p.c[i * p.n + j], want, static_cast<double>(p.k + 6) * 0x1p-24 * magnitude)
          << p.m << "x" << p.k << "x" << p.n << " at " << i << "," << j;
    }
  }
}

TEST_P(PackedGemmTest, ReadsOrPacksARightOperandThatIsNotPrepacked) {
  for (size_t m : {1, 2, 4, 5, 6, 7, 8, 12, 13, 24, 25, 40}) {
    for (size_t n : {1, 2, 4, 5, 8, 9, 16, 17, 24, 31, 32, 33, 48, 70}) {
      for (size_t k : {1, 2, 33, 64, 100}) {
        for (bool rows : {false, true}) {
          UnpackedProblem p(m, n, k, random_);
          ExpectUnpackedProduct(p, rows, -0.5f);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(PackedGemmTest, PacksSeveralKBlocksAndGroupsOfPanels) {
  const size_t shapes[][3] = {{26, 70, 3 * kBlockDepth / 2}, {300, 300, 150}, {25, 40, 1024}};
  for (const auto& [m, n, k] : shapes) {
    for (bool rows : {false, true}) {
      for (float alpha : {1.0f, -0.5f}) {
        UnpackedProblem p(m, n, k, random_);
        ExpectUnpackedProduct(p, rows, alpha);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(PackedGemmTest, ResultsWithoutPrepackingDoNotDependOnTheRange) {
  for (size_t m : {5, 13, 40}) {
    for (size_t n : {8, 100}) {
      for (bool rows : {false, true}) {
        UnpackedProblem p(m, n, 130, random_);
        const PackedGemmArgs g = p.Args(rows);
        PackedGemm(g);
        const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
        for (size_t split = 1; split < m; ++split) {
          std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
          PackedGemmRange(g, 0, split, 0, std::min<size_t>(n, 64));
          PackedGemmRange(g, split, m, 0, std::min<size_t>(n, 64));
          if (n > 64) PackedGemmRange(g, 0, m, 64, n);
          ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0)
              << m << " rows, split at " << split;
        }
      }
    }
  }
}

// Rows of B that are the same row, and a column in place.
TEST_P(PackedGemmTest, RowsOfBMayBeRepeated) {
  for (size_t n : {1, 40}) {
    UnpackedProblem p(7, n, 70, random_);
    PackedGemmArgs g = p.Args(/*rows=*/true);
    g.ldb = 0;
    for (size_t i = n; i < p.b.size(); ++i) p.b[i] = p.b[i % n];
    g.epilogue.bias = p.bias.data();
    PackedGemm(g);
    Check(p);
  }
}

TEST_P(PackedGemmTest, CanBeCancelled) {
  for (size_t m : {8, 200}) {
    UnpackedProblem p(m, 512, 512, random_);
    const std::atomic<bool> cancel = true;
    Budget budget;
    budget.cancel = &cancel;
    {
      const Budget::Scope scope(&budget);
      PackedGemm(p.Args(/*rows=*/true));
    }
    EXPECT_TRUE(budget.cut_short());
    EXPECT_TRUE(std::isnan(p.c[p.c.size() - 1]));
  }
}

TEST_P(PackedGemmTest, ZeroDepthGivesTheBias) { ExpectTheBiasOfNoProducts<float>(random_); }

TEST_P(PackedGemmTest, ResultsDoNotDependOnTheRange) {
  const size_t shapes[][2] = {{3, 50}, {14, 50}, {40, 50}, {40, 700}, {kCopiedRows + 5, 1024}};
  for (const auto& [m, k] : shapes) ExpectSameForAnyDivision<float>(m, k, random_);
}

// Few rows are not computed as short sums.
TEST_P(PackedGemmTest, ShortSumsHaveTheBitsOfFewRows) {
  struct Size {
    size_t n, k;
  };
  for (const Size& size : {Size{13, 601}, {32, 301}, {64, 128}, {200, 96}, {331, 144}, {40, 256}}) {
    for (Activation activation : {Activation::kNone, Activation::kHardswish}) {
      Problem p(107, size.n, size.k, 1, random_);
      PackedGemmArgs g = p.Args();
      g.epilogue = {.bias = p.bias.data(),
                    .other = p.other.data(),
                    .multiply = activation == Activation::kNone,
                    .activation = activation,
                    .low = -3};
      PackedGemm(g);
      const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
      std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
      for (size_t row = 0; row < p.m; row += 11) {
        PackedGemmRange(g, row, std::min(row + 11, p.m), 0, p.n);
      }
      ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0)
          << size.n << " columns, depth " << size.k;
    }
  }
}

TEST_P(PackedGemmTest, WritesOnlyTheRange) { ExpectNothingOutsideOfTheRange<float>(9, random_); }

TEST_P(PackedGemmTest, EmptyRangeWritesNothing) {
  Problem p(3, 70, 9, 1, random_);
  for (const auto& [first_row, last_row, first_column, last_column] :
       {std::array<size_t, 4>{2, 2, 0, 70}, {3, 2, 0, 70}, {0, 3, 32, 32}, {0, 3, 64, 32}}) {
    PackedGemmRange(p.Args(), first_row, last_row, first_column, last_column);
  }
  for (size_t i = 0; i < p.c.size(); ++i) EXPECT_TRUE(std::isnan(p.c[i])) << i;
}

TEST_P(PackedGemmTest, EveryEpilogue) {
  for (int activation = 0; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
    // Nothing, add, multiply; of a panel of columns, and of few columns.
    for (int shape = 0; shape < 6; ++shape) {
      const int combine = shape % 3;
      Problem p = shape < 3 ? Problem(14, 43, 11, 1, random_) : Problem(70, 3, 16, 1, random_);
      PackedGemmArgs g = p.Args();
      g.epilogue.bias = p.bias.data();
      g.epilogue.activation = static_cast<Activation>(activation);
      if (combine != 0) g.epilogue.other = p.other.data();
      g.epilogue.multiply = combine == 2;
      g.epilogue.low = -1;
      g.epilogue.high = 4;
      PackedGemm(g);
      for (size_t i = 0; i < p.m; ++i) {
        for (size_t j = 0; j < p.n; ++j) {
          double magnitude = 0;
          double x = p.Sum(i, j, &magnitude) + p.bias[j];
          magnitude += std::abs(p.bias[j]);
          const double other = p.other[i * p.n + j];
          if (combine == 1) {
            x += other;
            magnitude += std::abs(other);
          }
          double want = ExactActivation(g.epilogue.activation, x);
          // All slopes are below 1.2 in magnitude. Activations are accurate to a few ULP of their
          // argument or result, erf to 3e-7 absolutely.
          double bound = 1.2 * 20 * 0x1p-24 * magnitude +
                         (activation == 0
                              ? 0
                              : 16 * 0x1p-24 * (std::abs(x) + std::abs(want)) + 3e-7 * std::abs(x));
          if (combine == 2) {
            want *= other;
            bound = bound * std::abs(other) + 0x1p-24 * std::abs(want);
          }
          want = std::fmin(std::fmax(want, -1), 4);
          ASSERT_NEAR(p.c[i * p.n + j], want, bound)
              << "activation " << activation << ", combine " << combine << " at " << i << "," << j;
        }
      }
    }
  }
}

// Epilogue with multiplication, but without `other`.
TEST_P(PackedGemmTest, MultiplyWithoutOtherIsIdentity) {
  for (const Activation activation : {Activation::kNone, Activation::kTanh}) {
    Problem p(5, 37, 9, 1, random_);
    PackedGemmArgs g = p.Args();
    g.epilogue.activation = activation;
    PackedGemm(g);
    const std::vector<float> plain(p.c.data(), p.c.data() + p.c.size());
    g.epilogue.multiply = true;
    PackedGemm(g);
    EXPECT_EQ(std::memcmp(plain.data(), p.c.data(), plain.size() * sizeof(float)), 0);
  }
}

TEST_P(PackedGemmTest, OtherMayAliasTheResult) {
  for (size_t k : {size_t{6}, 2 * kBlockDepth}) ExpectOtherMayBeTheResult<float>(k, random_);
}

TEST_P(PackedGemmTest, EpilogueRunsOnceForSeveralKBlocks) {
  const size_t k = 2 * kBlockDepth + 3;
  Problem p(14, 43, k, 1, random_);
  for (size_t i = 0; i < p.a.size(); ++i) p.a[i] = p.b[i % p.b.size()] = 0;
  PackMatrix(p.b.data(), static_cast<int64_t>(k), 43, 43, 1, p.packed.data());
  for (bool multiply : {false, true}) {
    for (Activation activation : {Activation::kNone, Activation::kHardswish}) {
      PackedGemmArgs g = p.Args();
      g.epilogue.bias = p.bias.data();
      g.epilogue.other = p.other.data();
      g.epilogue.multiply = multiply;
      g.epilogue.activation = activation;
      PackedGemm(g);
      for (size_t i = 0; i < p.m * p.n; ++i) {
        const double bias = p.bias[i % p.n], other = p.other[i];
        const double want = multiply ? ExactActivation(activation, bias) * other
                                     : ExactActivation(activation, bias + other);
        ASSERT_NEAR(p.c[i], want, 1e-5) << i;
      }
    }
  }
}

// Sums without terms are the bias, so that activations are of all its values.
TEST_P(PackedGemmTest, ActivationsAreAccurate) {
  std::vector<float> x;
  for (float a = -120; a <= 120; a += 0.0371f) x.push_back(a);
  for (float a = 1e-38f; a < 1e38f; a *= 3.7f) x.insert(x.end(), {a, -a});
  x.insert(x.end(), {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()});
  std::vector<float> y(x.size());
  PackedGemmArgs g;
  g.m = 1;
  g.n = g.ldc = x.size();
  g.c = y.data();
  g.epilogue.bias = x.data();
  const std::vector<float> nothing(kPanelColumns);
  g.b = nothing.data();
  for (const auto& [activation, ulps] : {std::pair(Activation::kSilu, 4.0),
                                         {Activation::kGelu, 5.0},
                                         {Activation::kHardswish, 3.0}}) {
    g.epilogue.activation = activation;
    PackedGemm(g);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = ExactActivation(activation, x[i]);
      // The errors of small results of large negative values are absolute.
      const double error = x[i] < -87 ? 0 : ulps * 0x1p-24 * std::abs(double{x[i]});
      ASSERT_NEAR(y[i], exact, error + 0x1p-118) << x[i];
    }
  }
}

TEST_P(PackedGemmTest, PropagatesNan) {
  for (int activation = 0; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
    Problem p(13, 35, 3, 1, random_);
    p.a[4 * 3 + 1] = kNan;
    PackedGemmArgs g = p.Args();
    g.epilogue.activation = static_cast<Activation>(activation);
    g.epilogue.low = 0;
    g.epilogue.high = 6;
    PackedGemm(g);
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j) EXPECT_EQ(std::isnan(p.c[i * p.n + j]), i == 4);
    }
  }
}

TEST_P(PackedGemmTest, ClampsInfinities) {
  Problem p(2, 3, 1, 1, random_);
  p.a[0] = kInf;
  p.b[0] = 1, p.b[1] = -1, p.b[2] = 2;
  PackMatrix(p.b.data(), 1, 3, 3, 1, p.packed.data());
  PackedGemmArgs g = p.Args();
  g.epilogue.low = 0;
  PackedGemm(g);
  EXPECT_EQ(p.c[0], kInf);
  EXPECT_EQ(p.c[1], 0);
  EXPECT_EQ(p.c[2], kInf);
}

INSTANTIATE_TEST_SUITE_P(, PackedGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
