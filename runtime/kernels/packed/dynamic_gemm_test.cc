#include "runtime/kernels/packed/dynamic_gemm.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr WeightFormat kFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4};

// A GEMM with its operands; all memory that kernels access is guarded.
struct Problem {
  size_t m, n, k, group, groups;
  WeightFormat format;
  bool is_signed;
  std::vector<int> a, q;     // [m, k], [k, n]
  std::vector<float> scale;  // [groups, n]
  std::vector<DynamicRow> rows;
  GuardedFloats c, bias, other, packed_scales;
  GuardedArray<int32_t> packed, packed_sums;
  GuardedArray<uint64_t> prepared;

  static int64_t Packed(WeightFormat format, size_t k, size_t n) {
    return *PackedDynamicSize(format, static_cast<int64_t>(k), static_cast<int64_t>(n));
  }
  static size_t Scales(size_t k, size_t n, size_t group) {
    return static_cast<size_t>(*PackedScalesSize(static_cast<int64_t>(k), static_cast<int64_t>(n),
                                                 static_cast<int64_t>(group)));
  }

  Problem(WeightFormat format, size_t m, size_t n, size_t k, size_t group, bool is_signed,
          std::mt19937_64& random, GuardedSide side = GuardedSide::kEnd)
      : m(m),
        n(n),
        k(k),
        group(group),
        groups((k + group - 1) / group),
        format(format),
        is_signed(is_signed),
        a(m * k),
        q(k * n),
        scale(groups * n),
        rows(m),
        c(m * n, kNan, side),
        bias(n, 0, side),
        other(m * n, 0, side),
        packed_scales(Scales(k, n, group), 0, side),
        packed(static_cast<size_t>(Packed(format, k, n)) / 4, 0, side),
        packed_sums(Scales(k, n, group), 0, side),
        prepared(m * DynamicRowBytes(k) / 8, 0, side) {
    const int least = is_signed ? -128 : 0, lowest = format == WeightFormat::kInt4 ? -8 : -128;
    std::uniform_int_distribution<int> bytes(least, least + 255), weights(lowest, -lowest - 1);
    std::uniform_real_distribution<float> numbers(0.001f, 2);
    for (int& x : a) x = bytes(random);
    for (int& x : q) x = weights(random);
    for (float& x : scale) x = numbers(random) - 1;
    for (DynamicRow& row : rows) row = {numbers(random), bytes(random)};
    bias.Fill(random);
    other.Fill(random);
    Pack();
  }
  void Pack() {
    const auto r = static_cast<int64_t>(k), columns = static_cast<int64_t>(n);
    const std::vector<int8_t> b(q.begin(), q.end());
    if (format == WeightFormat::kInt4) {
      PackInt4Weights(b.data(), r, columns, columns, 1, reinterpret_cast<uint32_t*>(packed.data()));
    } else {
      PackQuantizedMatrix(b.data(), 1, r, columns, 0, columns, 1,
                          reinterpret_cast<int8_t*>(packed.data()));
    }
    std::vector<int32_t> sums(groups * n);
    for (size_t i = 0; i < q.size(); ++i) sums[i / n / group * n + i % n] += q[i];
    const auto size = static_cast<int64_t>(group);
    PackScales(scale.data(), r, columns, size, columns, 1, packed_scales.data());
    PackScales(sums.data(), r, columns, size, columns, 1, packed_sums.data());
    Prepare();
  }
  void Prepare() {
    const size_t bytes = DynamicRowBytes(k);
    for (size_t i = 0; i < m; ++i) {
      GuardedArray<uint8_t> row(k, 0, GuardedSide::kEnd);
      for (size_t p = 0; p < k; ++p) row[p] = static_cast<uint8_t>(a[i * k + p]);
      PrepareDynamicRow(row.data(), is_signed, rows[i], format, k,
                        reinterpret_cast<std::byte*>(prepared.data()) + i * bytes);
    }
  }

  DynamicGemmArgs Args() {
    DynamicGemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.format = format;
    g.group = group;
    g.rows = reinterpret_cast<const std::byte*>(prepared.data());
    g.b = packed.data();
    g.scales = packed_scales.data();
    g.weight_sums = packed_sums.data();
    g.c = c.data();
    g.ldc = n;
    return g;
  }

  double Sum(size_t i, size_t j, double* magnitude) {
    double sum = 0;
    *magnitude = 0;
    for (size_t g = 0; g < groups; ++g) {
      int64_t inner = 0;
      for (size_t p = g * group; p < std::min(k, (g + 1) * group); ++p) {
        inner += int64_t{a[i * k + p] - rows[i].zero} * q[p * n + j];
      }
      const double part = static_cast<double>(inner) * scale[g * n + j] * rows[i].scale;
      sum += part;
      *magnitude += std::abs(part);
    }
    return sum;
  }
  // Expects every element within the header's error bound; the bias is one more addend.
  void Check() {
    DynamicGemmArgs g = Args();
    g.epilogue.bias = bias.data();
    DynamicGemm(g);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        double magnitude = 0;
        const double want = Sum(i, j, &magnitude) + bias[j];
        magnitude += std::abs(bias[j]);
        ASSERT_NEAR(c[i * n + j], want, (static_cast<double>(groups) + 8) * 0x1p-23 * magnitude)
            << "format " << static_cast<int>(format) << ", " << m << "x" << k << "x" << n
            << ", groups of " << group << " at " << i << "," << j;
      }
    }
  }
};

class DynamicGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(DynamicGemmTest, RowsColumnsDepthsAndGroups) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 2, 3, 4, 7, 8, 13}) {
      for (size_t n : {1, 15, 16, 31, 32, 47, 70}) {
        for (size_t k : {1, 4, 5, 8, 9, 64, 100, 163}) {
          for (size_t group : {size_t{8}, size_t{32}, k}) {
            const GuardedSide side = (m + n + k) % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin;
            Problem p(format, m, n, k, group, (n + k) % 3 == 0, random_, side);
            p.Check();
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(DynamicGemmTest, ExtremeOperandsDoNotOverflow) {
  for (WeightFormat format : kFormats) {
    for (bool is_signed : {false, true}) {
      for (bool high : {false, true}) {
        const size_t k = static_cast<size_t>(kDynamicTerms);
        Problem p(format, 2, 3, k, k, is_signed, random_);
        const int least = is_signed ? -128 : 0;
        for (int& x : p.a) x = high ? least + 255 : least;
        for (int& x : p.q) x = format == WeightFormat::kInt4 ? -8 : -128;
        for (DynamicRow& row : p.rows) row.zero = high ? least : least + 255;
        p.Pack();
        p.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// From a group of 4096 rows on, the sum of its int4 weights may not be an int16.
TEST_P(DynamicGemmTest, LargeGroups) {
  for (size_t group : {4088, 4096}) {
    for (size_t m : {1, 2}) {
      for (int weight : {-8, 7}) {
        Problem p(WeightFormat::kInt4, m, 3, group + 16, group, false, random_);
        for (int& x : p.q) x = weight;
        for (DynamicRow& row : p.rows) row.zero = 255;
        p.Pack();
        p.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(DynamicGemmTest, BFloat16ScalesEqualFloats) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 5, 8}) {
      Problem p(format, m, 70, 100, 32, true, random_);
      GuardedArray<uint16_t> narrow(p.packed_scales.size(), 0, GuardedSide::kEnd);
      for (float& scale : p.scale) scale = BFloat16BitsToFloat(FloatToBFloat16Bits(scale));
      p.Pack();
      for (size_t i = 0; i < narrow.size(); ++i) {
        narrow[i] = FloatToBFloat16Bits(p.packed_scales[i]);
      }
      DynamicGemmArgs g = p.Args();
      DynamicGemm(g);
      const std::vector<float> want(p.c.data(), p.c.data() + p.c.size());
      g.scales = nullptr;
      g.bfloat16_scales = narrow.data();
      DynamicGemm(g);
      EXPECT_EQ(std::memcmp(want.data(), p.c.data(), want.size() * sizeof(float)), 0);
    }
  }
}

TEST_P(DynamicGemmTest, PreparesRowsInPlace) {
  for (WeightFormat format : kFormats) {
    for (size_t k = 0; k < 200; ++k) {
      const size_t bytes = DynamicRowBytes(k);
      GuardedArray<uint64_t> want(bytes / 8, 0, GuardedSide::kEnd);
      GuardedArray<uint64_t> row(bytes / 8, 0, GuardedSide::kEnd);
      std::vector<uint8_t> a(k);
      for (uint8_t& x : a) x = static_cast<uint8_t>(random_());
      PrepareDynamicRow(a.data(), true, {0.5f, -3}, format, k,
                        reinterpret_cast<std::byte*>(want.data()));
      auto* to = reinterpret_cast<std::byte*>(row.data());
      if (k > 0) std::memcpy(to + kDynamicRowOffset, a.data(), k);
      PrepareDynamicRow(to + kDynamicRowOffset, true, {0.5f, -3}, format, k, to);
      EXPECT_EQ(std::memcmp(want.data(), row.data(), bytes), 0) << k;
    }
  }
}

TEST_P(DynamicGemmTest, ZeroDepthGivesTheBias) {
  for (WeightFormat format : kFormats) {
    Problem p(format, 5, 7, 0, 32, true, random_);
    p.Check();
  }
}

TEST_P(DynamicGemmTest, ResultsDoNotDependOnTheRange) {
  for (WeightFormat format : kFormats) {
    for (size_t m : {1, 3, 9}) {
      Problem p(format, m, 100, 90, 32, true, random_);
      const DynamicGemmArgs g = p.Args();
      DynamicGemm(g);
      const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
      for (size_t split = 0; split < m; ++split) {
        std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
        DynamicGemmRange(g, 0, split, 0, 64);
        DynamicGemmRange(g, split, m, 0, 64);
        DynamicGemmRange(g, 0, m, 64, 96);
        DynamicGemmRange(g, 0, m, 96, 100);
        ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0)
            << m << " rows, split at " << split;
      }
    }
  }
}

TEST_P(DynamicGemmTest, EmptyRangeWritesNothing) {
  Problem p(WeightFormat::kInt8, 3, 70, 90, 32, true, random_);
  std::fill(p.c.data(), p.c.data() + p.c.size(), kNan);
  for (const auto& [first_row, last_row, first_column, last_column] :
       {std::array<size_t, 4>{2, 2, 0, 70}, {3, 2, 0, 70}, {0, 3, 32, 32}, {0, 3, 64, 32}}) {
    DynamicGemmRange(p.Args(), first_row, last_row, first_column, last_column);
  }
  for (size_t i = 0; i < p.c.size(); ++i) EXPECT_TRUE(std::isnan(p.c[i])) << i;
}

TEST_P(DynamicGemmTest, NanScaleGivesNanRow) {
  Problem p(WeightFormat::kInt8, 3, 20, 40, 40, true, random_);
  p.rows[1].scale = kNan;
  p.Prepare();
  DynamicGemm(p.Args());
  for (size_t i = 0; i < p.c.size(); ++i) EXPECT_EQ(std::isnan(p.c[i]), i / p.n == 1);
}

TEST_P(DynamicGemmTest, EveryEpilogue) {
  for (size_t m : {1, 6}) {
    for (bool multiply : {false, true}) {
      for (Activation activation : {Activation::kNone, Activation::kHardswish}) {
        Problem p(WeightFormat::kInt4, m, 43, 24, 8, true, random_);
        for (float& x : p.scale) x *= 0.01f;
        p.Pack();
        DynamicGemmArgs g = p.Args();
        g.epilogue.bias = p.bias.data();
        DynamicGemm(g);
        const std::vector<float> sums(p.c.data(), p.c.data() + p.c.size());
        g.epilogue.activation = activation;
        g.epilogue.low = -0.5;
        g.epilogue.high = 3;
        g.epilogue.multiply = multiply;
        g.epilogue.other = p.other.data();
        DynamicGemm(g);
        for (size_t i = 0; i < sums.size(); ++i) {
          const double other = p.other[i], x = sums[i] + (multiply ? 0.0 : other);
          const double y =
              activation == Activation::kNone ? x : x * std::fmin(std::fmax(x + 3, 0), 6) / 6;
          const double result = multiply ? y * other : y;
          ASSERT_NEAR(p.c[i], std::fmin(std::fmax(result, -0.5), 3),
                      16 * 0x1p-24 * (std::abs(sums[i]) + std::abs(other) + std::abs(result)));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DynamicGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
