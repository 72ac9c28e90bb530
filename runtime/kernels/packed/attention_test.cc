#include "runtime/kernels/packed/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"

namespace belay {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Sizes {
  int64_t batch, heads, kv_heads, queries, keys, head_size, value_size;
};

// [batch, tokens, heads, size], viewed as [batch, heads, tokens, size]: the layout that linear
// layers produce.
HeadStrides Interleaved(int64_t heads, int64_t tokens, int64_t size) {
  return {.batch = tokens * heads * size, .head = size, .token = heads * size};
}

struct Problem {
  Sizes s;
  GuardedFloats q, k, v, out, scratch;
  std::vector<float> mask;         // [queries, keys]
  std::vector<uint8_t> mask_bits;  // [queries, keys]
  AttentionArgs g;

  Problem(const Sizes& s, std::mt19937_64& random)
      : s(s),
        q(static_cast<size_t>(s.batch * s.heads * s.queries * s.head_size)),
        k(static_cast<size_t>(s.batch * s.kv_heads * s.keys * s.head_size)),
        v(static_cast<size_t>(s.batch * s.kv_heads * s.keys * s.value_size)),
        out(static_cast<size_t>(s.batch * s.heads * s.queries * s.value_size)),
        scratch(
            static_cast<size_t>(*AttentionFloats(s.queries, s.keys, s.head_size, s.value_size))) {
    q.Fill(random);
    k.Fill(random);
    v.Fill(random);
    g.batch = s.batch;
    g.heads = s.heads;
    g.kv_heads = s.kv_heads;
    g.queries = s.queries;
    g.keys = s.keys;
    g.head_size = s.head_size;
    g.value_size = s.value_size;
    g.query = q.data();
    g.key = k.data();
    g.value = v.data();
    g.query_strides = Interleaved(s.heads, s.queries, s.head_size);
    g.key_strides = Interleaved(s.kv_heads, s.keys, s.head_size);
    g.value_strides = Interleaved(s.kv_heads, s.keys, s.value_size);
    g.out_strides = Interleaved(s.heads, s.queries, s.value_size);
    g.scale = 1 / std::sqrt(static_cast<float>(s.head_size));
    g.out = out.data();
    g.scratch = scratch.data();
  }

  // Checks the bound of attention.h. The sum of absolute products of a score is below
  // 4 * size * scale, and so is its distance from the largest score, except for the mask's 1.
  void Check() {
    const double score_error = static_cast<double>(s.head_size + 8) * 0x1p-24 *
                                   (4 * static_cast<double>(s.head_size) * std::fabs(g.scale) + 1) +
                               0x1p-21;
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t h = 0; h < s.heads; ++h) {
        const int64_t kv = h / (s.heads / s.kv_heads);
        for (int64_t i = 0; i < s.queries; ++i) {
          std::vector<double> scores;
          double most = -kInf;
          for (int64_t t = 0; t < s.keys; ++t) {
            double score = 0;
            for (int64_t d = 0; d < s.head_size; ++d) {
              score +=
                  double{
                      q[static_cast<size_t>(b * g.query_strides.batch + h * g.query_strides.head +
                                            i * g.query_strides.token + d)]} *
                  k[static_cast<size_t>(b * g.key_strides.batch + kv * g.key_strides.head +
                                        t * g.key_strides.token + d)];
            }
            score *= g.scale;
            const auto at = static_cast<size_t>(i * s.keys + t);
            if (!mask.empty()) score = mask[at] == -kInf ? -kInf : score + mask[at];
            if (!mask_bits.empty() && mask_bits[at] == 0) score = -kInf;
            if (g.causal && t > i) score = -kInf;
            scores.push_back(score);
            most = std::fmax(most, score);
          }
          double total = 0;
          for (double& score : scores) {
            score = most == -kInf ? 0 : std::exp(score - most);
            total += score;
          }
          for (int64_t d = 0; d < s.value_size; ++d) {
            double want = 0;
            for (int64_t t = 0; t < s.keys && total > 0; ++t) {
              if (scores[static_cast<size_t>(t)] == 0) continue;
              want += scores[static_cast<size_t>(t)] / total *
                      v[static_cast<size_t>(b * g.value_strides.batch + kv * g.value_strides.head +
                                            t * g.value_strides.token + d)];
            }
            const double bound =
                2 * (2 * score_error + static_cast<double>(s.keys + s.keys / 64 + 22) * 0x1p-24);
            const float got = out[static_cast<size_t>(
                b * g.out_strides.batch + h * g.out_strides.head + i * g.out_strides.token + d)];
            if (total == 0 && g.nan_rows) {
              ASSERT_TRUE(std::isnan(got)) << "query " << i;
              continue;
            }
            ASSERT_NEAR(got, want, bound)
                << "batch " << b << " head " << h << " query " << i << " of " << s.queries
                << " keys " << s.keys << " sizes " << s.head_size << "," << s.value_size;
          }
        }
      }
    }
  }
};

class AttentionTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

const Sizes kShapes[] = {
    {1, 1, 1, 1, 1, 1, 1},    {2, 3, 3, 5, 7, 8, 8},     {1, 4, 2, 50, 33, 16, 24},
    {2, 6, 2, 1, 40, 64, 64}, {1, 2, 1, 3, 9, 20, 70},   {1, 2, 2, 4, 9, 20, 130},
    {1, 1, 1, 97, 5, 3, 1},   {1, 3, 1, 2, 65, 7, 31},   {1, 2, 2, 49, 49, 32, 32},
    {1, 1, 1, 73, 385, 4, 4}, {1, 2, 1, 75, 801, 9, 40}, {1, 4, 2, 3, 801, 33, 65},
    {1, 80, 1, 1, 40, 5, 6}};

TEST_P(AttentionTest, QueriesKeysAndSizes) {
  for (const Sizes& s : kShapes) {
    Problem p(s, random_);
    AttentionRange(p.g, 0, AttentionUnits(p.g));
    p.Check();
    if (HasFatalFailure()) return;
  }
}

TEST_P(AttentionTest, Causal) {
  for (const Sizes& s : kShapes) {
    Problem p(s, random_);
    p.g.causal = true;
    AttentionRange(p.g, 0, AttentionUnits(p.g));
    p.Check();
    if (HasFatalFailure()) return;
  }
}

TEST_P(AttentionTest, AdditiveAndBoolMasks) {
  for (const Sizes& s : kShapes) {
    for (bool bits : {false, true}) {
      Problem p(s, random_);
      const auto count = static_cast<size_t>(s.queries * s.keys);
      for (size_t i = 0; i < count; ++i) {
        // Some queries attend to no keys.
        const bool seen = random_() % 3 != 0 && i / static_cast<size_t>(s.keys) % 4 != 1;
        if (bits) {
          p.mask_bits.push_back(seen);
        } else {
          p.mask.push_back(seen ? static_cast<float>(random_() % 5) / 4 : -kInf);
        }
      }
      if (bits) {
        p.g.mask_bits = p.mask_bits.data();
      } else {
        p.g.mask = p.mask.data();
      }
      p.g.mask_strides.token = s.keys;
      AttentionRange(p.g, 0, AttentionUnits(p.g));
      p.Check();
      if (HasFatalFailure()) return;
    }
  }
}

// Rows of any block may have no visible keys.
TEST_P(AttentionTest, RowsWithoutVisibleKeysAreNanOnRequest) {
  for (const Sizes& s : kShapes) {
    for (bool causal : {false, true}) {
      Problem p(s, random_);
      for (int64_t i = 0; i < s.queries; ++i) {
        for (int64_t t = 0; t < s.keys; ++t) {
          // A third of the queries see nothing, others not the first 400 keys or every second one.
          const bool seen =
              i % 3 != 0 && (i % 3 == 1 ? t >= std::min(s.keys / 2, int64_t{400}) : t % 2 == 0);
          p.mask.push_back(seen ? 0.5f : -kInf);
        }
      }
      p.g.mask = p.mask.data();
      p.g.mask_strides.token = s.keys;
      p.g.causal = causal;
      p.g.nan_rows = true;
      AttentionRange(p.g, 0, AttentionUnits(p.g));
      p.Check();
      if (HasFatalFailure()) return;
    }
  }
}

// Unused keys of a cache: hidden blocks, and the hidden end of a block, are skipped.
TEST_P(AttentionTest, HiddenKeysAtTheEndHaveNoEffect) {
  for (int64_t queries : {1, 2, 75}) {
    for (bool bits : {false, true}) {
      Problem p({1, 2, 1, queries, 1200, 8, 8}, random_);
      for (int64_t i = 0; i < queries * 1200; ++i) {
        if (bits) {
          p.mask_bits.push_back(i % 1200 < 10);
        } else {
          p.mask.push_back(i % 1200 < 10 ? 0.25f : -kInf);
        }
      }
      p.g.mask = bits ? nullptr : p.mask.data();
      p.g.mask_bits = bits ? p.mask_bits.data() : nullptr;
      p.g.mask_strides.token = 1200;
      for (size_t i = 10 * 8; i < p.k.size(); ++i) {
        p.k[i] = p.v[i] = std::numeric_limits<float>::quiet_NaN();
      }
      AttentionRange(p.g, 0, AttentionUnits(p.g));
      p.Check();
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, MaskMayBroadcastOverKeys) {
  for (bool bits : {false, true}) {
    Problem p({1, 2, 2, 6, 9, 8, 8}, random_);
    const std::vector<float> zeros(9);
    const std::vector<uint8_t> ones(9, 1);
    if (bits) {
      p.g.mask_bits = ones.data();
    } else {
      p.g.mask = zeros.data();
    }
    AttentionRange(p.g, 0, AttentionUnits(p.g));
    p.Check();
    const std::vector<float> want(p.out.data(), p.out.data() + p.out.size());
    p.g.mask_key_stride = 0;
    AttentionRange(p.g, 0, AttentionUnits(p.g));
    EXPECT_EQ(std::memcmp(want.data(), p.out.data(), want.size() * sizeof(float)), 0);
  }
}

// Rounds to T; writes the elements to `narrow`, too.
template <class T>
void Round(GuardedFloats& floats, GuardedArray<T>& narrow) {
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = narrow[i] = T(floats[i]);
}

TEST_P(AttentionTest, NarrowKeysAndValuesGiveTheResultsOfWidenedOnes) {
  const auto check = [&](auto element) {
    using T = decltype(element);
    for (const Sizes& s : kShapes) {
      Problem p(s, random_);
      GuardedArray<T> key(p.k.size()), value(p.v.size());
      Round(p.k, key);
      Round(p.v, value);
      AttentionRange(p.g, 0, AttentionUnits(p.g));
      const std::vector<float> want(p.out.data(), p.out.data() + p.out.size());
      p.g.key = key.data();
      p.g.value = value.data();
      p.g.key_dtype = DTypeOf<T>;
      AttentionRange(p.g, 0, AttentionUnits(p.g));
      ASSERT_EQ(std::memcmp(want.data(), p.out.data(), want.size() * sizeof(float)), 0)
          << s.queries << " queries, " << s.keys << " keys, sizes " << s.head_size << ", "
          << s.value_size;
    }
  };
  check(BFloat16());
  check(Half());
}

TEST_P(AttentionTest, ResultsDoNotDependOnTheRange) {
  for (const Sizes& s : {Sizes{2, 6, 3, 5, 11, 12, 12}, Sizes{1, 2, 2, 220, 801, 12, 12},
                         Sizes{1, 5, 1, 1, 801, 12, 12}, Sizes{1, 8, 2, 3, 40, 12, 12}}) {
    Problem p(s, random_);
    p.g.causal = s.queries == 220;
    AttentionRange(p.g, 0, AttentionUnits(p.g));
    const std::vector<float> one(p.out.data(), p.out.data() + p.out.size());
    p.g.threads = 4;
    const int64_t units = AttentionUnits(p.g);
    if (s.queries <= 3) EXPECT_EQ(units, 4);
    AttentionRange(p.g, 0, units);
    const std::vector<float> want(p.out.data(), p.out.data() + p.out.size());
    EXPECT_EQ(std::memcmp(want.data(), one.data(), want.size() * sizeof(float)), 0);
    for (int64_t split = 1; split < units; ++split) {
      std::fill(p.out.data(), p.out.data() + p.out.size(), 3.0f);
      AttentionRange(p.g, split, units);
      AttentionRange(p.g, 0, split);
      EXPECT_EQ(std::memcmp(want.data(), p.out.data(), want.size() * sizeof(float)), 0);
    }
  }
}

// The scratch memory of the maximal sizes of a program suffices for smaller ones.
TEST(AttentionFloatsTest, IsMonotonic) {
  for (int64_t queries : {1, 3, 4, 100}) {
    int64_t previous = 0;
    for (int64_t keys = 0; keys < 1000; ++keys) {
      const int64_t floats = *AttentionFloats(queries, keys, 5, 37);
      EXPECT_GE(floats, previous);
      previous = floats;
    }
  }
}

TEST_P(AttentionTest, NanAffectsOnlyItsRow) {
  for (int64_t queries : {2, 6}) {
    Problem p({1, 1, 1, queries, 9, 8, 8}, random_);
    p.q[8 + 3] = std::numeric_limits<float>::quiet_NaN();
    AttentionRange(p.g, 0, AttentionUnits(p.g));
    for (size_t i = 0; i < p.out.size(); ++i) EXPECT_EQ(std::isnan(p.out[i]), i / 8 == 1);
  }
}

// Few and many queries use different code.
TEST_P(AttentionTest, CanBeCancelled) {
  const std::atomic<bool> cancel = true;
  for (int64_t queries : {4, 64}) {
    Problem p({1, 1, 1, queries, 600, 64, 64}, random_);
    std::fill(p.out.data(), p.out.data() + p.out.size(), 7.0f);
    Budget budget;
    budget.cancel = &cancel;
    {
      const Budget::Scope scope(&budget);
      AttentionRange(p.g, 0, AttentionUnits(p.g));
    }
    EXPECT_TRUE(budget.cut_short()) << queries;
    EXPECT_EQ(p.out[p.out.size() - 1], 7.0f) << queries;
  }
}

TEST(AttentionFloatsTest, OverflowIsNullopt) {
  EXPECT_EQ(AttentionFloats(1, 5, 64, 64), 72 * (5 + 32) + 5);
  EXPECT_EQ(AttentionFloats(1, std::numeric_limits<int64_t>::max(), 1, 1), std::nullopt);
  EXPECT_EQ(AttentionFloats(9, int64_t{1} << 40, int64_t{1} << 30, 1), std::nullopt);
  EXPECT_EQ(AttentionFloats(9, int64_t{1} << 40, 1, int64_t{1} << 30), std::nullopt);
}

// Each query has its largest score at key 5: a rounded product of such a score and log2(e) is far from
// the exact one.
TEST_P(AttentionTest, LargeScoresSelectOneKey) {
  for (const float size : {1e5f, 1e12f, 1e18f}) {
    for (int64_t queries : {1, 3, 20}) {
      Problem p({1, 2, 1, queries, 150, 1, 9}, random_);
      std::fill(p.q.data(), p.q.data() + p.q.size(), size);
      for (size_t t = 0; t < p.k.size(); ++t)
        p.k[t] = t == 5 ? size : -size * static_cast<float>(t);
      AttentionRange(p.g, 0, AttentionUnits(p.g));
      for (size_t i = 0; i < p.out.size(); ++i) {
        ASSERT_EQ(p.out[i], p.v[5 * 9 + i % 9]) << size << ", " << queries << " queries, " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, AttentionTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
