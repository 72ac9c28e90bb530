#include "runtime/kernels/packed/short_gemm.h"

#include <algorithm>
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
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Windows of `k` terms, `lda` apart, in one row of A per tap. Rows of B are interleaved: those of tap
// t are t, t + taps, ….
struct Problem {
  size_t m, n, taps, k, lda, row;
  GuardedFloats a, packed, c, other, bias;
  std::vector<float> b;
  std::vector<const float*> rows;
  std::vector<size_t> b_rows;

  Problem(size_t m, size_t n, size_t taps, size_t k, size_t lda, std::mt19937_64& random)
      : m(m),
        n(n),
        taps(taps),
        k(k),
        lda(lda),
        row((m - 1) * lda + k),
        a(taps * row),
        packed(static_cast<size_t>(
            *PackedMatrixSize(static_cast<int64_t>(taps * k), static_cast<int64_t>(n)))),
        c(m * n),
        other(m * n),
        bias(n),
        b(taps * k * n) {
    for (GuardedFloats* array : {&a, &other, &bias}) array->Fill(random);
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (float& x : b) x = numbers(random);
    PackMatrix(b.data(), static_cast<int64_t>(taps * k), static_cast<int64_t>(n),
               static_cast<int64_t>(n), 1, packed.data());
    std::fill(c.data(), c.data() + c.size(), kNan);
    for (size_t t = 0; t < taps; ++t) {
      rows.push_back(a.data() + t * row);
      b_rows.push_back(t);
    }
  }

  ShortGemmArgs Args() {
    ShortGemmArgs g;
    g.m = m;
    g.last_column = g.ldc = n;
    g.taps = taps;
    g.k = k;
    g.a = rows.data();
    g.lda = lda;
    g.b = packed.data();
    g.b_rows = b_rows.data();
    g.b_step = taps;
    g.depth = taps * k;
    g.c = c.data();
    return g;
  }

  double Sum(size_t i, size_t j, double& magnitude) {
    double sum = 0;
    magnitude = 0;
    for (size_t t = 0; t < taps; ++t) {
      for (size_t p = 0; p < k; ++p) {
        const double x = static_cast<double>(a[t * row + i * lda + p]) * b[(p * taps + t) * n + j];
        sum += x;
        magnitude += std::abs(x);
      }
    }
    return sum;
  }
};

class ShortGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }

  std::mt19937_64 random_{TestSeed()};
};

TEST_P(ShortGemmTest, RowsAndColumnsAroundTheTiles) {
  for (size_t m : {16, 17, 23, 24, 25, 31, 32, 47, 48, 49, 63, 64, 65, 113}) {
    for (size_t n : {1, 5, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 64, 72}) {
      Problem p(m, n, 3, 3, 2, random_);
      ShortGemmArgs g = p.Args();
      g.epilogue.bias = p.bias.data();
      ShortGemm(g);
      for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
          double magnitude;
          const double want = p.Sum(i, j, magnitude) + p.bias[j];
          ASSERT_NEAR(p.c[i * n + j], want, 13 * 0x1p-24 * (magnitude + std::abs(p.bias[j])))
              << m << " rows, " << n << " columns at " << i << "," << j;
        }
      }
    }
  }
}

TEST_P(ShortGemmTest, TapsDepthsAndDistances) {
  for (size_t taps : {1, 2, 9}) {
    for (size_t k : {1, 2, 7, 16, 33}) {
      for (size_t lda : {size_t{1}, size_t{2}, k, k + 5}) {
        Problem p(37, 40, taps, k, lda, random_);
        ShortGemm(p.Args());
        const double terms = static_cast<double>(taps * k) + 4;
        for (size_t i = 0; i < p.m; ++i) {
          for (size_t j = 0; j < p.n; ++j) {
            double magnitude;
            const double want = p.Sum(i, j, magnitude);
            ASSERT_NEAR(p.c[i * p.n + j], want, terms * 0x1p-24 * magnitude)
                << taps << " taps of " << k << ", rows " << lda << " apart";
          }
        }
      }
    }
  }
}

TEST_P(ShortGemmTest, NoTapsGiveTheBias) {
  Problem p(20, 24, 1, 4, 4, random_);
  ShortGemmArgs g = p.Args();
  g.taps = 0;
  g.epilogue.bias = p.bias.data();
  ShortGemm(g);
  for (size_t i = 0; i < p.c.size(); ++i) ASSERT_EQ(p.c[i], p.bias[i % p.n]);
}

TEST_P(ShortGemmTest, EveryEpilogue) {
  for (Activation activation :
       {Activation::kNone, Activation::kSigmoid, Activation::kHardswish, Activation::kSilu}) {
    for (bool multiply : {false, true}) {
      for (bool with_other : {false, true}) {
        for (bool in_place : {false, true}) {
          if (in_place && (!with_other || multiply)) continue;
          Problem p(53, 41, 2, 5, 5, random_);
          ShortGemmArgs g = p.Args();
          g.epilogue = {.bias = p.bias.data(),
                        .other = with_other ? p.other.data() : nullptr,
                        .multiply = multiply,
                        .activation = activation,
                        .low = -0.5f,
                        .high = 2};
          if (in_place) {
            std::copy_n(p.other.data(), p.c.size(), p.c.data());
            g.epilogue.other = p.c.data();
          }
          ShortGemm(g);
          for (size_t i = 0; i < p.c.size(); ++i) {
            double magnitude;
            double want = p.Sum(i / p.n, i % p.n, magnitude) + p.bias[i % p.n];
            if (with_other && !multiply) want += p.other[i];
            want = ExactActivation(activation, want);
            if (with_other && multiply) want *= p.other[i];
            want = std::clamp(want, -0.5, 2.0);
            ASSERT_NEAR(p.c[i], want, 1e-5 * (1 + magnitude)) << "at " << i;
          }
        }
      }
    }
  }
}

TEST_P(ShortGemmTest, AnyRangeOfRowsAndColumnsHasTheSameBits) {
  Problem p(100, 80, 2, 6, 6, random_);
  ShortGemmArgs g = p.Args();
  g.epilogue = {.bias = p.bias.data(), .activation = Activation::kHardswish};
  ShortGemm(g);
  const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
  for (size_t split = kLeastShortRows; split + kLeastShortRows <= p.m; ++split) {
    std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
    for (size_t first : {size_t{0}, split}) {
      ShortGemmArgs part = g;
      part.m = first == 0 ? split : p.m - split;
      std::vector<const float*> rows = p.rows;
      for (const float*& row : rows) row += first * p.lda;
      part.a = rows.data();
      part.c += first * p.n;
      part.last_column = 64;
      ShortGemm(part);
      part.first_column = 64;
      part.last_column = p.n;
      ShortGemm(part);
    }
    ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0) << split;
  }
}

TEST_P(ShortGemmTest, KeepsNanAndClampsInfinity) {
  Problem p(32, 20, 1, 4, 4, random_);
  p.a[3 * 4] = kNan;
  p.a[30 * 4] = kInf;
  ShortGemmArgs g = p.Args();
  g.epilogue.low = 0;
  g.epilogue.high = 6;
  ShortGemm(g);
  for (size_t i = 0; i < p.c.size(); ++i) {
    const size_t row = i / p.n;
    if (row == 3) {
      EXPECT_TRUE(std::isnan(p.c[i]));
    } else {
      EXPECT_TRUE(p.c[i] >= 0 && p.c[i] <= 6) << p.c[i];
    }
    if (row == 30) EXPECT_EQ(p.c[i], p.b[i % p.n] > 0 ? 6 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(, ShortGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
