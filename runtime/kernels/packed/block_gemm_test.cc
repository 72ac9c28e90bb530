#include "runtime/kernels/packed/block_gemm.h"

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

namespace belay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr WeightFormat kFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4};
constexpr size_t kBytes[] = {1, 2};

size_t PackedSize(std::optional<int64_t> size) { return static_cast<size_t>(*size); }

// Operands in guarded memory.
struct Problem {
  size_t m, n, k, group, bytes;
  WeightFormat format;
  std::vector<int8_t> q;     // [k, n]
  std::vector<float> scale;  // [group, n]
  GuardedFloats a, c, bias, packed_scales;
  GuardedArray<uint32_t> packed;
  GuardedArray<uint64_t> rows, scratch;

  Problem(WeightFormat format, size_t bytes, size_t m, size_t n, size_t k, size_t group,
          std::mt19937_64& random, GuardedSide side)
      : m(m),
        n(n),
        k(k),
        group(group),
        bytes(bytes),
        format(format),
        q(k * n),
        scale((k + group - 1) / group * n),
        a(m * k, 0, side),
        c(m * n, kNan, side),
        bias(n, 0, side),
        packed_scales(PackedSize(PackedScalesSize(Int(k), Int(n), Int(group))), 0, side),
        packed(PackedSize(PackedWeightsSize(format, Int(k), Int(n))) / 4, 0, side),
        rows((m + kBlockGemmRows - 1) / kBlockGemmRows * BlockRowsBytes(k, bytes) / 8, 0, side),
        scratch(BlockGemmScratch(k) / 8, 0, side) {
    a.Fill(random);
    bias.Fill(random);
    const int low = format == WeightFormat::kInt4 ? -8 : -128;
    std::uniform_int_distribution<int> integers(low, -low - 1);
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (int8_t& x : q) x = static_cast<int8_t>(integers(random));
    for (float& x : scale) x = numbers(random);
    if (format == WeightFormat::kInt4) {
      PackInt4Weights(q.data(), Int(k), Int(n), Int(n), 1, packed.data());
    } else {
      PackInt8Weights(q.data(), Int(k), Int(n), Int(n), 1,
                      reinterpret_cast<int8_t*>(packed.data()));
    }
    PackScales(scale.data(), Int(k), Int(n), Int(group), Int(n), 1, packed_scales.data());
  }
  static int64_t Int(size_t size) { return static_cast<int64_t>(size); }

  BlockGemmArgs Args() {
    BlockGemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.format = format;
    g.group = group;
    g.bytes = bytes;
    g.rows = reinterpret_cast<std::byte*>(rows.data());
    g.b = packed.data();
    g.scales = packed_scales.data();
    g.scratch = reinterpret_cast<std::byte*>(scratch.data());
    g.c = c.data();
    g.ldc = n;
    g.epilogue.bias = bias.data();
    return g;
  }
  void Quantize() {
    QuantizeBlocks(a.data(), k, m, k, format, bytes, 0, (m + kBlockGemmRows - 1) / kBlockGemmRows,
                   reinterpret_cast<std::byte*>(rows.data()));
  }
  // The header's formula, and the sum of the addends' magnitudes.
  double Sum(size_t i, size_t j, double& magnitude) {
    const float limit = bytes == 1 ? 127 : 127 * 256;
    double sum = bias[j];
    magnitude = std::abs(sum);
    for (size_t b = 0; b < k; b += kBlockGemmTerms) {
      const size_t end = std::min(k, b + kBlockGemmTerms);
      float most = 0;
      for (size_t p = b; p < end; ++p) most = std::max(most, std::abs(a[i * k + p]));
      if (most < 0x1p-100f) continue;
      double inner = 0;
      for (size_t p = b; p < end; ++p) {
        inner += std::nearbyint(a[i * k + p] * (limit / most)) * q[p * n + j];
      }
      const double addend = double{most} / limit * scale[b / group * n + j] * inner;
      sum += addend;
      magnitude += std::abs(addend);
    }
    return sum;
  }
  void Check() {
    Quantize();
    BlockGemmRange(Args(), 0, m, 0, n);
    const double blocks = static_cast<double>((k + kBlockGemmTerms - 1) / kBlockGemmTerms);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        double magnitude;
        const double want = Sum(i, j, magnitude);
        ASSERT_NEAR(c[i * n + j], want, (blocks + 8) * 0x1p-23 * magnitude)
            << "format " << static_cast<int>(format) << " by " << bytes << " bytes, " << m << "x"
            << k << "x" << n << ", groups of " << group << " at " << i << "," << j;
      }
    }
  }
};

class BlockGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_OK(UseInstructionSet(GetParam()));
    if (!HasBlockGemm()) GTEST_SKIP() << "no byte dot products";
  }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(BlockGemmTest, RowsColumnsDepthsAndGroups) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 7, 8, 9, 17}) {
      for (size_t n : {1, 31, 32, 33, 70}) {
        for (size_t k : {1, 8, 9, 31, 32, 33, 64, 100, 168}) {
          for (size_t group : {size_t{32}, size_t{64}, size_t{200}}) {
            for (size_t bytes : kBytes) {
              Problem p(format, bytes, m, n, k, group, random_,
                        (m + n + k) % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin);
              p.Check();
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST_P(BlockGemmTest, OperandsOfAllMagnitudes) {
  for (WeightFormat format : kFormats) {
    for (size_t bytes : kBytes) {
      Problem p(format, bytes, 9, 33, 256, 32, random_, GuardedSide::kEnd);
      for (size_t i = 0; i < p.a.size(); ++i) {
        p.a[i] *= std::ldexp(1.0f, static_cast<int>(i * 7 % 240) - 120);
      }
      for (size_t i = 0; i < p.k; ++i) p.a[i] = 0;
      p.Check();
    }
  }
}

TEST_P(BlockGemmTest, RowsBeyondTheCache) {
  Problem p(WeightFormat::kInt4, 2, 137, 40, 4096, 4096, random_, GuardedSide::kEnd);
  p.Check();
}

TEST_P(BlockGemmTest, NoTermsAreTheBias) {
  Problem p(WeightFormat::kInt8, 1, 3, 33, 0, 32, random_, GuardedSide::kEnd);
  p.Check();
}

// The largest elements and weights of one sign: the largest inner sums.
TEST_P(BlockGemmTest, LargestSums) {
  for (size_t bytes : kBytes) {
    Problem p(WeightFormat::kInt8, bytes, 8, 32, 64, 64, random_, GuardedSide::kEnd);
    std::fill(p.a.data(), p.a.data() + p.a.size(), 3.0f);
    std::fill(p.q.begin(), p.q.end(), int8_t{-128});
    PackInt8Weights(p.q.data(), 64, 32, 32, 1, reinterpret_cast<int8_t*>(p.packed.data()));
    p.Check();
    std::fill(p.a.data(), p.a.data() + p.a.size(), -3.0f);
    p.Check();
  }
}

// Beside the sum of float products: half a step of the largest element of the block per element.
TEST_P(BlockGemmTest, TwoBytesAreNearFloats) {
  Problem p(WeightFormat::kInt8, 2, 17, 70, 168, 32, random_, GuardedSide::kEnd);
  p.Quantize();
  BlockGemmRange(p.Args(), 0, p.m, 0, p.n);
  for (size_t i = 0; i < p.m; ++i) {
    for (size_t j = 0; j < p.n; ++j) {
      double sum = p.bias[j], bound = std::abs(sum) * 0x1p-20;
      for (size_t b = 0; b < p.k; b += kBlockGemmTerms) {
        double most = 0, weights = 0;
        for (size_t k = b; k < std::min(p.k, b + kBlockGemmTerms); ++k) {
          const double w = p.q[k * p.n + j] * double{p.scale[b / p.group * p.n + j]};
          most = std::max(most, std::abs(double{p.a[i * p.k + k]}));
          weights += std::abs(w);
          sum += p.a[i * p.k + k] * w;
        }
        bound += most * weights * (1.0 / (2 * 127 * 256) + 0x1p-19);
      }
      ASSERT_NEAR(p.c[i * p.n + j], sum, bound) << i << "," << j;
    }
  }
}

TEST_P(BlockGemmTest, RowsWithoutNumbersAreNan) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    for (size_t bytes : kBytes) {
      Problem p(WeightFormat::kInt8, bytes, 9, 33, 100, 32, random_, GuardedSide::kEnd);
      p.a[2 * p.k + 99] = value;
      p.Quantize();
      BlockGemmRange(p.Args(), 0, p.m, 0, p.n);
      for (size_t i = 0; i < p.m; ++i) {
        for (size_t j = 0; j < p.n; ++j) EXPECT_EQ(std::isnan(p.c[i * p.n + j]), i == 2);
      }
    }
  }
}

TEST_P(BlockGemmTest, ResultsDoNotDependOnTheRange) {
  for (WeightFormat format : kFormats) {
    const size_t bytes = format == WeightFormat::kInt4 ? 2 : 1;
    Problem p(format, bytes, 21, 100, 90, 32, random_, GuardedSide::kEnd);
    p.Quantize();
    BlockGemmRange(p.Args(), 0, p.m, 0, p.n);
    const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
    for (size_t split : {8, 16}) {
      std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
      BlockGemmRange(p.Args(), 0, split, 0, 64);
      BlockGemmRange(p.Args(), split, p.m, 0, 64);
      BlockGemmRange(p.Args(), 0, p.m, 64, 100);
      EXPECT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0) << split;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BlockGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
