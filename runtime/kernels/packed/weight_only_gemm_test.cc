#include "runtime/kernels/packed/weight_only_gemm.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/weight_only_weights.h"
#include "runtime/kernels/vector_halves.h"

namespace belay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr WeightFormat kFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4,
                                     WeightFormat::kBFloat16};

// Operands of A W, all in guarded memory.
struct Problem {
  size_t m, n, k, group;
  WeightFormat format;
  bool has_zeros;
  std::vector<int8_t> q;
  std::vector<uint16_t> half;
  std::vector<float> scale, zero;  // [group, n]
  GuardedFloats a, c, bias, other, scratch, packed_scales, packed_zeros;
  GuardedArray<uint32_t> packed;

  static size_t Groups(size_t k, size_t group) { return (k + group - 1) / group; }
  static size_t ScalesSize(size_t k, size_t n, size_t group) {
    return static_cast<size_t>(*PackedScalesSize(static_cast<int64_t>(k), static_cast<int64_t>(n),
                                                 static_cast<int64_t>(group)));
  }
  static size_t Words(WeightFormat format, size_t k, size_t n) {
    return static_cast<size_t>(
               *PackedWeightsSize(format, static_cast<int64_t>(k), static_cast<int64_t>(n))) /
           4;
  }

  Problem(WeightFormat format, size_t m, size_t n, size_t k, size_t group, bool has_zeros,
          std::mt19937_64& random)
      : Problem(format, m, n, k, group, has_zeros, random,
                (m + n + k) % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin) {}
  Problem(WeightFormat format, size_t m, size_t n, size_t k, size_t group, bool has_zeros,
          std::mt19937_64& random, GuardedSide side)
      : m(m),
        n(n),
        k(k),
        group(group),
        format(format),
        has_zeros(has_zeros && format != WeightFormat::kBFloat16),
        q(k * n),
        half(k * n),
        scale(Groups(k, group) * n),
        zero(Groups(k, group) * n),
        a(m * k, 0, side),
        c(m * n, kNan, side),
        bias(n, 0, side),
        other(m * n, 0, side),
        scratch(WeightOnlyScratch(m, k, k), 0, side),
        packed_scales(ScalesSize(k, n, group), 0, side),
        packed_zeros(ScalesSize(k, n, group), 0, side),
        packed(Words(format, k, n), 0, side) {
    a.Fill(random);
    bias.Fill(random);
    other.Fill(random);
    const int low = format == WeightFormat::kInt4 ? -8 : -128;
    std::uniform_int_distribution<int> integers(low, -low - 1);
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (int8_t& x : q) x = static_cast<int8_t>(integers(random));
    for (float& x : zero) x = static_cast<float>(integers(random));
    for (float& x : scale) x = numbers(random);
    for (uint16_t& x : half) {
      x = static_cast<uint16_t>(std::bit_cast<uint32_t>(numbers(random)) >> 16);
    }
    Pack();
  }
  void Pack() {
    const auto rows = static_cast<int64_t>(k), columns = static_cast<int64_t>(n);
    switch (format) {
      case WeightFormat::kInt8:
        PackInt8Weights(q.data(), rows, columns, columns, 1,
                        reinterpret_cast<int8_t*>(packed.data()));
        break;
      case WeightFormat::kInt4:
        PackInt4Weights(q.data(), rows, columns, columns, 1, packed.data());
        break;
      case WeightFormat::kBFloat16:
        PackBFloat16Weights(half.data(), rows, columns, columns, 1,
                            reinterpret_cast<uint16_t*>(packed.data()));
        break;
    }
    const auto size = static_cast<int64_t>(group);
    PackScales(scale.data(), rows, columns, size, columns, 1, packed_scales.data());
    PackScales(zero.data(), rows, columns, size, columns, 1, packed_zeros.data());
  }

  WeightOnlyGemmArgs Args() {
    WeightOnlyGemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = a.data();
    g.lda = k;
    g.format = format;
    g.group = group;
    g.b = packed.data();
    if (format != WeightFormat::kBFloat16) g.scales = packed_scales.data();
    if (has_zeros) g.zeros = packed_zeros.data();
    g.scratch = scratch.data();
    g.c = c.data();
    g.ldc = n;
    return g;
  }

  double Weight(size_t p, size_t j) const {
    if (format == WeightFormat::kBFloat16) {
      return std::bit_cast<float>(uint32_t{half[p * n + j]} << 16);
    }
    const size_t at = p / group * n + j;
    return (q[p * n + j] - (has_zeros ? double{zero[at]} : 0.0)) * scale[at];
  }
  double Sum(size_t i, size_t j, double* magnitude) {
    double sum = 0;
    *magnitude = 0;
    for (size_t p = 0; p < k; ++p) {
      const double x = a[i * k + p] * Weight(p, j);
      sum += x;
      *magnitude += std::abs(x);
    }
    return sum;
  }
  // Expects every element within the header's error bound; the bias is one more addend.
  void Check() {
    WeightOnlyGemmArgs g = Args();
    g.epilogue.bias = bias.data();
    WeightOnlyGemm(g);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        double magnitude = 0;
        const double want = Sum(i, j, &magnitude) + bias[j];
        magnitude += std::abs(bias[j]);
        ASSERT_NEAR(c[i * n + j], want, (static_cast<double>(k) + 8) * 0x1p-23 * magnitude)
            << "format " << static_cast<int>(format) << ", " << m << "x" << k << "x" << n
            << ", groups of " << group << " at " << i << "," << j;
      }
    }
  }
};

class WeightOnlyGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(WeightOnlyGemmTest, RowsColumnsDepthsAndGroups) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 2, 3, 4, 5, 7, 12, 13, 16, 17}) {
      for (size_t n : {1, 16, 31, 32, 70}) {
        for (size_t k : {1, 7, 8, 9, 64, 100, 163}) {
          for (size_t group : {size_t{8}, size_t{32}, k}) {
            for (bool zeros : {false, true}) {
              if (format == WeightFormat::kBFloat16 && (zeros || group != k)) continue;
              Problem p(format, m, n, k, group, zeros, random_);
              p.Check();
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST_P(WeightOnlyGemmTest, RowsAtCacheWayDistance) {
  // Rows 1024 floats apart.
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 9, 30}) {
      Problem p(format, m, 40, 1024, 128, true, random_);
      p.Check();
    }
  }
}

TEST_P(WeightOnlyGemmTest, ZeroWeightsAddNothing) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 4, 7, 17}) {
      for (size_t k : {24, 200}) {
        Problem p(format, m, 33, k, 8, true, random_);
        for (size_t i = 0; i < p.q.size(); ++i) {
          p.q[i] = static_cast<int8_t>(p.zero[i / p.n / 8 * p.n + i % p.n]);
          p.half[i] = 0;
        }
        p.Pack();
        WeightOnlyGemm(p.Args());
        for (size_t i = 0; i < p.c.size(); ++i) EXPECT_EQ(p.c[i], 0);
      }
    }
  }
}

TEST_P(WeightOnlyGemmTest, ZeroPointsMayBeFractions) {
  for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
    for (size_t m : {1, 4, 7, 17}) {
      Problem p(format, m, 40, 256, 32, true, random_);
      for (size_t i = 0; i < p.zero.size(); ++i) p.zero[i] += static_cast<float>(i % 64) / 64;
      p.Pack();
      p.Check();
    }
  }
}

TEST_P(WeightOnlyGemmTest, OperandsOfAllMagnitudes) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 3, 8, 17}) {
      Problem p(format, m, 33, 256, 32, false, random_);
      for (size_t i = 0; i < p.a.size(); ++i) {
        p.a[i] *= std::ldexp(1.0f, static_cast<int>(i * 7 % 60) - 30);
      }
      p.Check();
    }
  }
}

TEST_P(WeightOnlyGemmTest, PropagatesInfinitiesAndNan) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 4, 11, 17}) {
      Problem p(format, m, 33, 160, 160, false, random_);
      for (size_t i = 0; i < p.q.size(); ++i) {
        p.q[i] = i % p.n % 2 == 0 ? 3 : -3;
        p.half[i] = i % p.n % 2 == 0 ? 0x3f80 : 0xbf80;
      }
      for (float& x : p.scale) x = 1;
      p.Pack();
      p.a[5] = std::numeric_limits<float>::infinity();
      WeightOnlyGemm(p.Args());
      for (size_t j = 0; j < p.n; ++j) {
        EXPECT_EQ(p.c[j], j % 2 == 0 ? p.a[5] : -p.a[5]);
        if (m > 1) EXPECT_TRUE(std::isfinite(p.c[p.n + j]));
      }
      p.a[5] = std::numeric_limits<float>::max();
      WeightOnlyGemm(p.Args());
      for (size_t j = 0; j < p.n; ++j) EXPECT_FALSE(std::isnan(p.c[j]));
      p.a[7] = kNan;
      WeightOnlyGemm(p.Args());
      for (size_t j = 0; j < p.n; ++j) EXPECT_TRUE(std::isnan(p.c[j]));
    }
  }
}

TEST_P(WeightOnlyGemmTest, ZeroDepthGivesTheBias) {
  for (size_t m : {1, 5, 17}) {
    Problem p(WeightFormat::kInt4, m, 5, 0, 32, false, random_);
    p.Check();
  }
}

TEST_P(WeightOnlyGemmTest, ResultsDoNotDependOnTheRange) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 3, 4, 14, 15, 21}) {
      Problem p(format, m, 100, 90, 32, true, random_);
      const WeightOnlyGemmArgs g = p.Args();
      WeightOnlyGemm(g);
      const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
      for (size_t split = 0; split < m; ++split) {
        std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
        WeightOnlyGemmRange(g, 0, split, 0, 64);
        WeightOnlyGemmRange(g, split, m, 0, 64);
        WeightOnlyGemmRange(g, 0, m, 64, 96);
        WeightOnlyGemmRange(g, 0, m, 96, 100);
        ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0)
            << m << " rows, split at " << split;
      }
    }
  }
}

// Checks both settings of ExecutesVectorsInHalves().
TEST_P(WeightOnlyGemmTest, HalfVectorsGiveTheSameBits) {
  const bool halves = ExecutesVectorsInHalves();
  for (size_t m : {1, 3, 9, 17}) {
    for (bool zeros : {false, true}) {
      Problem p(WeightFormat::kInt8, m, 70, 100, 32, zeros, random_);
      SetExecutesVectorsInHalves(true);
      p.Check();
      const std::vector<float> first(p.c.data(), p.c.data() + p.c.size());
      SetExecutesVectorsInHalves(false);
      p.Check();
      EXPECT_EQ(std::memcmp(first.data(), p.c.data(), first.size() * sizeof(float)), 0) << m;
    }
  }
  SetExecutesVectorsInHalves(halves);
}

TEST_P(WeightOnlyGemmTest, EveryEpilogue) {
  for (size_t m : {3, 17}) {
    for (int activation = 0; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
      for (int combine : {0, 1, 2}) {  // nothing, add, multiply
        Problem p(WeightFormat::kInt8, m, 43, 11, 8, true, random_);
        for (float& x : p.scale) x *= 0.01f;
        p.Pack();
        WeightOnlyGemmArgs g = p.Args();
        g.epilogue.bias = p.bias.data();
        WeightOnlyGemm(g);
        const std::vector<float> sums(p.c.data(), p.c.data() + p.c.size());
        g.epilogue.activation = static_cast<Activation>(activation);
        g.epilogue.low = -0.5;
        g.epilogue.high = 3;
        g.epilogue.multiply = combine == 2;
        if (combine != 0) g.epilogue.other = p.other.data();
        WeightOnlyGemm(g);
        for (size_t i = 0; i < sums.size(); ++i) {
          const double other = p.other[i], x = sums[i] + (combine == 1 ? other : 0.0);
          const double y = activation == static_cast<int>(Activation::kHardswish)
                               ? x * std::fmin(std::fmax(x + 3, 0), 6) / 6
                               : x;
          if (activation == 0 || y != x) {
            const double product = combine == 2 ? y * other : y;
            ASSERT_NEAR(p.c[i], std::fmin(std::fmax(product, -0.5), 3),
                        16 * 0x1p-24 * (std::abs(x) + std::abs(product)));
          } else {
            ASSERT_GE(p.c[i], -0.5f);
            ASSERT_LE(p.c[i], 3.0f);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, WeightOnlyGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

TEST(WeightOnlyPackingTest, Int8HasRowsOf32Columns) {
  const int8_t b[] = {1, 2, 3, 4, 5, 6};  // [n, k] = [3, 2]
  ASSERT_EQ(PackedWeightsSize(WeightFormat::kInt8, 2, 3), 8 * 32);
  std::vector<int8_t> packed(8 * 32, -1);
  PackInt8Weights(b, 2, 3, 1, 2, packed.data());
  for (size_t i = 0; i < packed.size(); ++i) {
    const size_t p = i / 32, j = i % 32;
    EXPECT_EQ(packed[i], p < 2 && j < 3 ? b[j * 2 + p] : 0);
  }
}

TEST(WeightOnlyPackingTest, Int4HasWordsOfEightRows) {
  const int8_t b[] = {-8, -7, -6, -5, 4, 5, 6, 7, 1};  // a column of 9 rows
  ASSERT_EQ(PackedWeightsSize(WeightFormat::kInt4, 9, 1), 2 * 32 * 4);
  std::vector<uint32_t> packed(2 * 32);
  PackInt4Weights(b, 9, 1, 1, 0, packed.data());
  EXPECT_EQ(packed[0], 0xfd31'ec20u);
  EXPECT_EQ(packed[1], 0x8888'8888u);
  EXPECT_EQ(packed[32], 0x8888'8889u);
}

TEST(WeightOnlyPackingTest, ScalesAreGroupedByPanel) {
  std::vector<float> scales(3 * 40);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(i + 1);
  ASSERT_EQ(PackedScalesSize(90, 40, 32), 2 * 3 * 32);
  std::vector<float> packed(2 * 3 * 32, -1);
  PackScales(scales.data(), 90, 40, 32, 40, 1, packed.data());
  for (size_t i = 0; i < packed.size(); ++i) {
    const size_t j = i / 96 * 32 + i % 32, group = i / 32 % 3;
    EXPECT_EQ(packed[i], j < 40 ? scales[group * 40 + j] : 0.0f);
  }
}

TEST(WeightOnlyPackingTest, InvalidSizesAreNullopt) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(PackedWeightsSize(WeightFormat::kInt8, -1, 4), std::nullopt);
  EXPECT_EQ(PackedWeightsSize(WeightFormat::kInt4, 4, -1), std::nullopt);
  EXPECT_EQ(PackedWeightsSize(WeightFormat::kBFloat16, kMost, 1), std::nullopt);
  EXPECT_EQ(PackedWeightsSize(WeightFormat::kInt8, int64_t{1} << 31, int64_t{1} << 31),
            std::nullopt);
  EXPECT_EQ(PackedWeightsSize(WeightFormat::kBFloat16, 16, 32), 16 * 32 * 2);
  EXPECT_EQ(PackedScalesSize(64, 32, 0), std::nullopt);
  EXPECT_EQ(PackedScalesSize(-1, 32, 8), std::nullopt);
  EXPECT_EQ(PackedScalesSize(64, -1, 8), std::nullopt);
  EXPECT_EQ(PackedScalesSize(64, 32, 12), std::nullopt);
  EXPECT_EQ(PackedScalesSize(64, 32, -8), std::nullopt);
  EXPECT_EQ(PackedScalesSize(12, 32, 12), 32);
  EXPECT_EQ(PackedScalesSize(12, kMost, 12), std::nullopt);
}

}  // namespace
}  // namespace belay
