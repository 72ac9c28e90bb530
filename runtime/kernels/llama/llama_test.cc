#include "runtime/kernels/llama/llama.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

// Fields of a custom_sdpa call. A mask excludes `causal`.
struct Attention {
  int64_t batch = 1, heads = 2, kv_heads = 1, queries = 1, room = 8, start = 3, size = 8;
  DType dtype = DType::kFloat32;
  bool mask = false, causal = true;
  Layout layout = Layout::kRowMajor;

  KernelCall Call() const {
    const auto tensor = [&](int64_t tokens, int64_t h) {
      return TestTensorSpec{dtype, {batch, tokens, h, size}, layout, Values::kUnit};
    };
    KernelCall call = {
        .op = "llama.custom_sdpa.default",
        .arguments = {tensor(queries, heads), tensor(room, kv_heads), tensor(room, kv_heads),
                      EValue(start), EValue(), EValue(0.0), EValue(!mask && causal), EValue()},
        .outputs = {dtype},
        .max_ulp = 64,
        .ulp_of = UlpOf::kLargest};
    if (mask) {
      call.arguments[4] =
          TestTensorSpec{DType::kFloat32, {queries, room}, Layout::kRowMajor, Values::kNormal};
    }
    return call;
  }
};

TEST(CacheAttentionTest, EveryStartAndNumberOfQueries) {
  KernelComparison comparison;
  for (const int64_t queries : {1, 2, 3, 4, 7, 33}) {
    for (const int64_t start : {0, 1, 31, 400}) {
      for (const int64_t heads : {1, 4}) {
        Attention attention = {.heads = heads, .queries = queries, .room = 450, .start = start};
        ASSERT_TRUE(comparison.Compare(attention.Call()));
        attention.causal = false;
        ASSERT_TRUE(comparison.Compare(attention.Call()));
      }
    }
  }
}

TEST(CacheAttentionTest, EveryTypeMaskAndGroupOfHeads) {
  KernelComparison comparison;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const bool mask : {false, true}) {
      for (const int64_t kv_heads : {1, 2, 6}) {
        for (const int64_t size : {1, 7, 16, 65}) {
          const Attention attention = {.batch = 2,
                                       .heads = 6,
                                       .kv_heads = kv_heads,
                                       .queries = 5,
                                       .room = 40,
                                       .start = 9,
                                       .size = size,
                                       .dtype = dtype,
                                       .mask = mask};
          ASSERT_TRUE(comparison.Compare(attention.Call()));
        }
      }
    }
  }
}

TEST(CacheAttentionTest, LeavesOtherLayoutsToReference) {
  KernelComparison comparison;
  Attention attention = {.layout = Layout::kGaps};
  EXPECT_FALSE(comparison.Compare(attention.Call(), /*may_refuse=*/true));
  attention.layout = Layout::kRowMajor;
  KernelCall call = attention.Call();
  call.output_layout = Layout::kGaps;
  EXPECT_FALSE(comparison.Compare(call, /*may_refuse=*/true));
}

TEST(CacheAttentionTest, EmptyTensors) {
  KernelComparison comparison;
  ASSERT_TRUE(comparison.Compare(Attention{.queries = 0}.Call()));
  ASSERT_TRUE(comparison.Compare(Attention{.batch = 0}.Call()));
  ASSERT_TRUE(comparison.Compare(Attention{.size = 0}.Call()));
}

TEST(CacheAttentionTest, QuantizedInBothOrders) {
  KernelComparison comparison;
  for (const bool heads_first : {false, true}) {
    for (const int64_t queries : {1, 6}) {
      const auto sizes = [&](int64_t tokens, int64_t heads, int64_t size) {
        return heads_first ? Sizes{2, heads, tokens, size} : Sizes{2, tokens, heads, size};
      };
      const auto elements = [&](int64_t tokens, int64_t heads) {
        return TestTensorSpec{DType::kInt8, sizes(tokens, heads, 20)};
      };
      const auto scales = [&](int64_t tokens, int64_t heads) {
        return TestTensorSpec{DType::kFloat32, sizes(tokens, heads, 1), Layout::kRowMajor,
                              Values::kUnit};
      };
      const auto zeros = [&](int64_t tokens, int64_t heads) {
        return TestTensorSpec{DType::kInt8, sizes(tokens, heads, 1)};
      };
      ASSERT_TRUE(comparison.Compare(
          {.op = "llama.custom_quantized_sdpa.default",
           .arguments = {elements(queries, 4), elements(30, 2), elements(30, 2), EValue(int64_t{7}),
                         EValue(), EValue(0.0), EValue(true), EValue(1e-4), zeros(queries, 4),
                         scales(queries, 4), zeros(30, 2), scales(30, 2), zeros(30, 2),
                         scales(30, 2), EValue(heads_first)},
           .max_ulp = 256,
           .ulp_of = UlpOf::kLargest}));
    }
  }
}

TEST(HadamardTest, EverySizeAndType) {
  KernelComparison comparison;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const int64_t size : {0, 1, 2, 4, 8, 16, 32, 64, 128, 4096, 28, 56, 224, 28 * 64}) {
      ASSERT_TRUE(comparison.Compare({.op = "llama.fast_hadamard_transform.default",
                                      .arguments = {TestTensorSpec{dtype, {3, size}}},
                                      .outputs = {dtype},
                                      .max_ulp = 32,
                                      .ulp_of = UlpOf::kLargest}));
    }
  }
}

TEST(HadamardTest, RowsFollowTheDefinition) {
  for (const int64_t size : {1, 2, 8, 64}) {
    std::vector<float> row(size), got(size);
    for (int64_t i = 0; i < size; ++i) row[i] = got[i] = std::sin(static_cast<float>(i + 1));
    HadamardRow(got.data(), size);
    for (int64_t i = 0; i < size; ++i) {
      double expected = 0;
      for (int64_t j = 0; j < size; ++j) {
        const bool negative = std::popcount(static_cast<uint64_t>(i & j)) % 2 != 0;
        expected += negative ? -row[j] : row[j];
      }
      EXPECT_NEAR(got[i], expected / std::sqrt(static_cast<double>(size)), 1e-5)
          << size << " " << i;
    }
  }
}

}  // namespace
}  // namespace belay
