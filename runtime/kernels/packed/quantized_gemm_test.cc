#include "runtime/kernels/packed/quantized_gemm.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/requantize_reference.h"

namespace belay {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Operands of A B, all in guarded memory.
struct Problem {
  size_t m, n, k, taps;
  GuardedArray<uint8_t> a, bytes;
  GuardedArray<int8_t> b, packed;
  GuardedFloats scale, bias, floats;
  GuardedArray<int32_t> weight_sums, integers;
  std::vector<const uint8_t*> pointers;
  std::vector<uint8_t> copy;
  QuantizedEpilogue epilogue;

  Problem(size_t m, size_t n, size_t k, size_t taps, std::mt19937_64& random)
      : Problem(m, n, k, taps, (m + n + k) % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin) {
    a.Fill(random);
    b.Fill(random);
    bias.Fill(random);
    scale.Fill(random);
    for (size_t j = 0; j < n; ++j) scale[j] *= 0.002f;
    Pack();
    epilogue.input_zero_point = std::uniform_int_distribution<int32_t>(0, 255)(random);
    epilogue.inverse_scale = 5;
    epilogue.zero_point = std::uniform_int_distribution<int32_t>(0, 255)(random);
  }
  Problem(size_t m, size_t n, size_t k, size_t taps, GuardedSide side)
      : m(m),
        n(n),
        k(k),
        taps(taps),
        a(m * taps * k, 0, side),
        bytes(m * n, 0, side),
        b(taps * k * n),
        packed(static_cast<size_t>(*PackedQuantizedMatrixSize(
                   static_cast<int64_t>(taps), static_cast<int64_t>(k), static_cast<int64_t>(n))),
               0, side),
        scale(n, 0, side),
        bias(n, 0, side),
        floats(m * n, kNan, side),
        weight_sums(n, 0, side),
        integers(m * n, 0, side),
        pointers(kQuantizedGroupRows * taps),
        copy(static_cast<size_t>(
            QuantizedCopySize(static_cast<int64_t>(k), static_cast<int64_t>(taps)).value())) {
    epilogue.scale = scale.data();
    epilogue.bias = bias.data();
    epilogue.weight_sums = weight_sums.data();
  }
  void Pack() {
    PackQuantizedMatrix(b.data(), static_cast<int64_t>(taps), static_cast<int64_t>(k),
                        static_cast<int64_t>(n), static_cast<int64_t>(k * n),
                        static_cast<int64_t>(n), 1, packed.data());
    for (size_t j = 0; j < n; ++j) {
      weight_sums[j] = 0;
      for (size_t p = 0; p < taps * k; ++p) weight_sums[j] += b[p * n + j];
    }
  }

  // Rows of A are stored tap by tap: [taps][m][k].
  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const uint8_t** pointers) {
    Problem& p = *static_cast<Problem*>(const_cast<void*>(source));
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < count; ++i) {
        pointers[t * count + i] = p.a.data() + ((tap + t) * p.m + first + i) * p.k;
      }
    }
  }

  QuantizedGemmArgs Args(bool quantizes) {
    QuantizedGemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.taps = taps;
    if (taps == 1) {
      g.a = a.data();
      g.lda = k;
    } else {
      g.row_pointers = &RowPointers;
      g.source = this;
      g.pointers = pointers.data();
    }
    if (!copy.empty()) g.copy = copy.data();
    g.b = packed.data();
    g.c = quantizes ? static_cast<void*>(bytes.data()) : floats.data();
    g.ldc = n;
    g.epilogue = epilogue;
    g.epilogue.quantizes = quantizes;
    return g;
  }

  int64_t Sum(size_t i, size_t j) {
    int64_t sum = 0;
    for (size_t t = 0; t < taps; ++t) {
      for (size_t p = 0; p < k; ++p) {
        sum += int64_t{a[(t * m + i) * k + p]} * b[(t * k + p) * n + j];
      }
    }
    return sum;
  }

  // Compares the float, uint8 and int32 results of an epilogue without an activation bit by bit.
  void Check() {
    QuantizedGemm(Args(true));
    QuantizedGemm(Args(false));
    QuantizedGemmArgs unscaled = Args(false);
    unscaled.epilogue.scale = nullptr;
    unscaled.c = integers.data();
    QuantizedGemm(unscaled);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        const int64_t corrected =
            Sum(i, j) - int64_t{epilogue.input_zero_point} *
                            (epilogue.weight_sums == nullptr ? 0 : weight_sums[j]);
        ASSERT_EQ(integers[i * n + j], static_cast<int32_t>(corrected)) << i << "," << j;
        const float y = RealSum(epilogue, Sum(i, j), j);
        const float want = FinishedReal(epilogue, y), got = floats[i * n + j];
        ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : want == got)
            << m << "x" << k << "*" << taps << "x" << n << " at " << i << "," << j << ": " << got
            << ", expected " << want;
        ASSERT_EQ(bytes[i * n + j], QuantizedReal(epilogue, y))
            << m << "x" << k << "*" << taps << "x" << n << " at " << i << "," << j << ", of " << y;
      }
    }
  }
};

class QuantizedGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(QuantizedGemmTest, RowsColumnsAndDepthsAroundTheTile) {
  for (size_t m = 1; m <= 2 * kQuantizedTileRows + 1; ++m) {
    for (size_t n : {1, 3, 4, 5, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 64, 65}) {
      for (size_t k : {1, 2, 3, 4, 5, 6, 7, 8, 15, 33}) {
        Problem p(m, n, k, 1, random_);
        p.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(QuantizedGemmTest, IndirectRows) {
  for (size_t m : {1, 2, 12, 13, 29}) {
    for (size_t taps : {2, 9}) {
      for (size_t k : {1, 3, 8, 19}) {
        Problem p(m, 37, k, taps, random_);
        p.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows of A with the channels of all groups, tap by tap: [taps][m][channels].
struct GroupedRows {
  size_t m, channels;
  GuardedArray<uint8_t> a;

  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const uint8_t** pointers) {
    const GroupedRows& rows = *static_cast<const GroupedRows*>(source);
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < count; ++i) {
        pointers[t * count + i] = const_cast<GroupedRows&>(rows).a.data() +
                                  ((tap + t) * rows.m + first + i) * rows.channels;
      }
    }
  }
};

TEST_P(QuantizedGemmTest, MatricesOfGroups) {
  struct Groups {
    size_t joined, channels, filters;  // per group
  };
  constexpr size_t kMatrices = 3, kRows = 29;
  for (const Groups& group : {Groups{1, 3, 16},
                              {1, 16, 16},
                              {1, 19, 24},
                              {1, 8, 40},
                              {2, 8, 8},
                              {4, 4, 4},
                              {8, 2, 2},
                              {2, 5, 8},
                              {4, 8, 4}}) {
    for (const size_t taps : {size_t{1}, size_t{9}, size_t{40}}) {
      const size_t groups = kMatrices * group.joined, channels = groups * group.channels;
      const size_t n = group.joined * group.filters, columns = kMatrices * n;
      const auto size = [](size_t count) { return static_cast<int64_t>(count); };
      ASSERT_EQ(QuantizedJoinedGroups(size(groups), size(group.filters)), size(group.joined));
      GroupedRows rows = {kRows, channels, GuardedArray<uint8_t>(taps * kRows * channels)};
      GuardedArray<int8_t> filters(columns * taps * group.channels);
      rows.a.Fill(random_);
      filters.Fill(random_);
      GuardedArray<int8_t> packed(static_cast<size_t>(*PackedQuantizedGroupsSize(
          size(taps), size(groups), size(group.channels), size(group.filters))));
      PackQuantizedGroups(filters.data(), size(taps), size(groups), size(group.channels),
                          size(group.filters), packed.data());
      GuardedArray<int32_t> sums(kRows * columns);
      std::vector<const uint8_t*> pointers(kQuantizedGroupRows * taps);
      QuantizedGemmArgs g;
      g.matrices = kMatrices;
      g.joined = group.joined;
      g.m = kRows;
      g.n = n;
      g.k = group.joined * group.channels;
      g.taps = taps;
      g.row_pointers = &GroupedRows::RowPointers;
      g.source = &rows;
      g.pointers = pointers.data();
      std::vector<uint8_t> copy(
          static_cast<size_t>(QuantizedCopySize(size(g.k), size(taps)).value()));
      if (!copy.empty()) g.copy = copy.data();
      g.b = packed.data();
      g.c = sums.data();
      g.ldc = columns;
      g.epilogue.scale = nullptr;
      g.epilogue.quantizes = false;
      // Ranges of rows, and of whole matrices.
      QuantizedGemmRange(g, 0, 13, 0, columns);
      QuantizedGemmRange(g, 13, kRows, 0, n);
      QuantizedGemmRange(g, 13, kRows, n, columns);
      for (size_t i = 0; i < kRows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          int32_t want = 0;
          for (size_t t = 0; t < taps; ++t) {
            for (size_t c = 0; c < group.channels; ++c) {
              const size_t channel = j / group.filters * group.channels + c;
              want += int32_t{rows.a[(t * kRows + i) * channels + channel]} *
                      filters[(j * taps + t) * group.channels + c];
            }
          }
          ASSERT_EQ(sums[i * columns + j], want)
              << group.joined << " joined groups of " << group.channels << " channels and "
              << group.filters << " filters, " << taps << " taps, at " << i << "," << j;
        }
      }
    }
  }
}

TEST_P(QuantizedGemmTest, RowsAndDepthsAroundAmxTiles) {
  for (size_t m : {4, 5, 15, 16, 17, 31, 32, 33, 49, 64, 71}) {
    for (size_t n : {16, 32, 48, 63, 97}) {
      for (size_t k : {4, 60, 63, 64, 68, 127, 128, 192}) {
        for (size_t taps : {1, 3}) {
          Problem p(m, n, k, taps, random_);
          p.Check();
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(QuantizedGemmTest, BlocksOfColumns) {
  // Deep enough that a block has only one pair of panels.
  Problem p(3, 70, 20000, 1, random_);
  p.Check();
}

TEST_P(QuantizedGemmTest, ExtremeOperands) {
  for (int a : {0, 255}) {
    for (int b : {-128, 127}) {
      for (int32_t zero_point : {0, 255}) {
        Problem p(13, 33, 600, 1, GuardedSide::kEnd);
        std::memset(p.a.data(), a, p.a.size());
        std::memset(p.b.data(), b, p.b.size());
        for (size_t j = 0; j < p.n; ++j) p.scale[j] = 1e-5f * static_cast<float>(j + 1);
        p.Pack();
        p.epilogue.input_zero_point = zero_point;
        p.epilogue.zero_point = 255 - zero_point;
        p.Check();
      }
    }
  }
}

TEST_P(QuantizedGemmTest, ZeroDepthGivesTheBias) {
  Problem p(3, 5, 0, 1, random_);
  p.Check();
}

TEST_P(QuantizedGemmTest, WithoutBiasAndZeroPoint) {
  for (size_t n : {24, 40}) {
    Problem p(14, n, 21, 1, random_);
    p.epilogue.bias = nullptr;
    p.epilogue.weight_sums = nullptr;
    p.epilogue.input_zero_point = 0;
    p.Check();
  }
}

TEST_P(QuantizedGemmTest, ClampsFloatAndByteResults) {
  const float bounds[][2] = {{0, kInf}, {0, 6}, {-kInf, 0.3f}, {-0.11f, 0.1f}, {50, 60}, {2, 1}};
  for (const auto& [low, high] : bounds) {
    for (int32_t quant_min : {0, 100}) {
      for (int32_t quant_max : {130, 255}) {
        Problem p(5, 40, 30, 1, random_);
        p.epilogue.low = low;
        p.epilogue.high = high;
        p.epilogue.zero_point = 110;
        p.epilogue.quant_min = quant_min;
        p.epilogue.quant_max = quant_max;
        p.Check();
      }
    }
  }
}

TEST_P(QuantizedGemmTest, InnerQuantization) {
  for (float value : {1.0f, kInf, kNan, 3e9f}) {
    for (const auto& [scale, inverse] : {std::pair(0.3f, 5.0f), {1e-3f, 1e4f}, {1e20f, 1e20f}}) {
      for (size_t n : {24, 40}) {
        Problem p(14, n, 21, 1, random_);
        p.bias[1] = value;
        p.bias[2] = -value;
        p.epilogue.rounds = true;
        p.epilogue.inner_scale = scale;
        p.epilogue.inner_inverse_scale = 1 / scale;
        p.epilogue.inner_zero_point = 120;
        p.epilogue.inner_quant_min = 100;
        p.epilogue.inner_quant_max = 140;
        p.epilogue.inverse_scale = inverse;
        p.epilogue.zero_point = 110;
        p.Check();
        p.epilogue.high = 2;
        p.epilogue.quant_max = 114;
        p.Check();
      }
    }
  }
}

TEST_P(QuantizedGemmTest, InnerQuantizationToEveryByte) {
  // Sums -128 to 127, which the inner quantization maps to bytes 0 to 255.
  Problem p(1, 256, 1, 1, GuardedSide::kEnd);
  p.a[0] = 1;
  for (size_t j = 0; j < p.n; ++j) {
    p.b[j] = static_cast<int8_t>(static_cast<int>(j) - 128);
    p.scale[j] = 1;
  }
  p.Pack();
  p.epilogue.rounds = true;
  p.epilogue.inner_zero_point = 128;
  p.epilogue.inverse_scale = 0.7f;
  p.epilogue.zero_point = 110;
  p.Check();
  p.epilogue.inner_quant_min = 3;
  p.epilogue.inner_quant_max = 250;
  p.epilogue.low = -100.4f;
  p.Check();
}

TEST_P(QuantizedGemmTest, RoundsTiesToEven) {
  // Sums 1 to 64, multiplied by 0.5.
  Problem p(1, 64, 1, 1, GuardedSide::kEnd);
  p.a[0] = 1;
  for (size_t j = 0; j < p.n; ++j) {
    p.b[j] = static_cast<int8_t>(j + 1);
    p.scale[j] = 1;
  }
  p.Pack();
  p.epilogue.inverse_scale = 0.5f;
  p.epilogue.zero_point = 3;
  p.Check();
}

TEST_P(QuantizedGemmTest, HugeValuesAndNan) {
  for (float value : {kInf, -kInf, kNan, 3e38f, 3e9f}) {
    for (size_t n : {33, 64}) {
      Problem p(13, n, 9, 1, random_);
      p.bias[1] = value;
      p.scale[n - 1] = value;
      p.Check();
      p.epilogue.low = 0.5f;
      p.epilogue.zero_point = 10;
      p.Check();
    }
  }
}

TEST_P(QuantizedGemmTest, ResultsDoNotDependOnTheRange) {
  for (bool quantizes : {false, true}) {
    for (size_t m : {3, 14, 40}) {
      Problem p(m, 100, 50, 1, random_);
      const QuantizedGemmArgs g = p.Args(quantizes);
      QuantizedGemm(g);
      const size_t size = m * p.n * (quantizes ? 1 : sizeof(float));
      const std::string whole(static_cast<const char*>(g.c), size);
      for (size_t split = 1; split < m; ++split) {
        std::memset(g.c, 0x55, size);
        QuantizedGemmRange(g, 0, split, 0, 64);
        QuantizedGemmRange(g, split, m, 0, 64);
        QuantizedGemmRange(g, 0, m, 64, 80);
        QuantizedGemmRange(g, 0, m, 80, 100);
        ASSERT_TRUE(std::string(static_cast<const char*>(g.c), size) == whole)
            << m << " rows, split at " << split;
      }
    }
  }
}

TEST_P(QuantizedGemmTest, WritesOnlyTheRange) {
  Problem p(20, 70, 9, 1, random_);
  p.epilogue.quant_min = p.epilogue.zero_point = 1;
  QuantizedGemmRange(p.Args(true), 3, 17, 32, 70);
  QuantizedGemmRange(p.Args(false), 3, 17, 32, 70);
  for (size_t i = 0; i < p.m; ++i) {
    for (size_t j = 0; j < p.n; ++j) {
      const bool outside = i < 3 || i >= 17 || j < 32;
      EXPECT_EQ(std::isnan(p.floats[i * p.n + j]), outside) << i << "," << j;
      EXPECT_EQ(p.bytes[i * p.n + j] == 0, outside) << i << "," << j;
    }
  }
}

TEST_P(QuantizedGemmTest, EmptyRangeWritesNothing) {
  Problem p(3, 70, 9, 1, random_);
  p.epilogue.quant_min = p.epilogue.zero_point = 1;
  for (const auto& [first_row, last_row, first_column, last_column] :
       {std::array<size_t, 4>{2, 2, 0, 70}, {3, 2, 0, 70}, {0, 3, 32, 32}, {0, 3, 64, 32}}) {
    QuantizedGemmRange(p.Args(false), first_row, last_row, first_column, last_column);
  }
  for (size_t i = 0; i < p.bytes.size(); ++i) EXPECT_EQ(p.bytes[i], 0) << i;
}

TEST_P(QuantizedGemmTest, ActivationPrecedesClamp) {
  for (int activation = 1; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
    Problem p(14, 43, 11, 1, random_);
    p.epilogue.activation = static_cast<Activation>(activation);
    p.epilogue.low = -0.1f;
    p.epilogue.high = 4;
    p.epilogue.inverse_scale = 40;
    QuantizedGemm(p.Args(false));
    QuantizedGemm(p.Args(true));
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j) {
        const float got = p.floats[i * p.n + j];
        const double y = RealSum(p.epilogue, p.Sum(i, j), j);
        const double want =
            std::fmin(std::fmax(ExactActivation(p.epilogue.activation, y), -0.1f), 4);
        ASSERT_NEAR(got, want, 16 * 0x1p-24 * (std::abs(y) + std::abs(want)) + 3e-7 * std::abs(y));
        ASSERT_EQ(p.bytes[i * p.n + j], QuantizedReal(p.epilogue, got));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, QuantizedGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
