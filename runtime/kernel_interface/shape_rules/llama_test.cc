#include "runtime/kernel_interface/shape_rules/llama.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kUpdate = "self value start_pos indices";
constexpr std::string_view kAttention =
    "query key value start_pos attn_mask drpout_p is_causal scale";
constexpr std::string_view kWithCache =
    "query key value key_cache value_cache start_pos seq_len attn_mask drpout_p is_causal scale";

TEST(LlamaTest, TokenRangesAreInsideTheCache) {
  EXPECT_OK(CheckTokenRange<D>(2, 3, 5));
  EXPECT_OK(CheckTokenRange<D>(5, 0, 5));
  EXPECT_OK(CheckTokenRange<D>(Overflowed(), 3, 5));
  EXPECT_OK(CheckTokenRange<D>(9, Overflowed(), 5));
  EXPECT_OK(CheckTokenRange<D>(9, 3, Overflowed()));
  EXPECT_THAT(CheckTokenRange<D>(3, 3, 5),
              StatusIs(kRange, "start_pos: 3 tokens at position 3 exceed a cache of 5 tokens"));
  EXPECT_THAT(CheckTokenRange<D>(-1, 1, 5), StatusIs(kRange));
  EXPECT_THAT(CheckTokenRange<D>(INT64_MAX, 1, 5), StatusIs(kRange));
  EXPECT_THAT(CheckTokenRange<D>(6, 0, 5), StatusIs(kRange));
}

absl::Status Update(std::vector<TestArgument> arguments) {
  return CheckShapesOf<UpdateCacheCall<K>>(kUpdate, std::move(arguments));
}

TEST(LlamaTest, UpdatesFitTheCache) {
  const EValue cache = Tensor({2, 5, 3, 4}), value = Tensor({2, 2, 3, 4});
  const EValue indices = Tensor({2, 2}, DType::kInt64);
  EXPECT_OK(Update({cache, value, 3, None()}));
  EXPECT_OK(Update({cache, value, 100, indices}));  // the position is unused
  EXPECT_THAT(Update({cache, value, 4, None()}), StatusIs(kRange));
  EXPECT_THAT(Update({cache, Tensor({2, 3, 4}), 0, None()}),
              StatusIs(kInvalid, HasSubstr("value: expected four dimensions")));
  EXPECT_THAT(Update({Tensor({2, 5, 3}), value, 0, None()}),
              StatusIs(kInvalid, HasSubstr("cache: expected four dimensions")));
  for (const Sizes& sizes : {Sizes{1, 2, 3, 4}, Sizes{2, 2, 4, 4}, Sizes{2, 2, 3, 5}}) {
    EXPECT_THAT(Update({cache, Tensor(sizes), 0, None()}),
                StatusIs(kInvalid, HasSubstr("value: expected shape [2,2,3,4]")));
  }
  EXPECT_THAT(Update({cache, Tensor({2, 2, 3, 4}, DType::kFloat16), 0, None()}),
              StatusIs(kInvalid, HasSubstr("value: expected one of float32")));
  EXPECT_THAT(Update({cache, value, 0, Tensor({2, 3}, DType::kInt64)}),
              StatusIs(kInvalid, HasSubstr("indices: expected shape [2,2]")));
  EXPECT_THAT(Update({cache, value, 0, Tensor({2, 2}, DType::kInt32)}), StatusIs(kInvalid));
  ExpectArgumentsOfTheirKinds<UpdateCacheCall<K>>(kUpdate, {cache, value, 1, indices});
  ExpectArgumentsOfTheirKinds<UpdateCacheCall<K>>("value cache start_pos", {value, cache, 1});
}

absl::Status Attend(std::vector<TestArgument> arguments) {
  return ShapeOf<CacheAttentionCall<K>>(kAttention, std::move(arguments)).status();
}

TEST(LlamaTest, AttentionHasTheQueryShape) {
  const EValue query = Tensor({1, 2, 4, 8}), cache = Tensor({1, 6, 2, 8}), mask = Tensor({2, 6});
  const auto shape = ShapeOf<CacheAttentionCall<K>>(
      kAttention, {query, cache, cache, 4, None(), 0.0, true, None()});
  ASSERT_OK(shape.status());
  EXPECT_EQ(FormatDims<D>(*shape), "[1,2,4,8]");
  EXPECT_OK(Attend({query, cache, cache, 100, mask, 0.0, false, 0.5}));  // the mask decides
  EXPECT_THAT(Attend({query, cache, cache, 5, None(), 0.0, false, None()}), StatusIs(kRange));
  EXPECT_THAT(Attend({query, cache, cache, 0, mask, 0.0, true, None()}),
              StatusIs(kInvalid, HasSubstr("'attn_mask'")));
  EXPECT_THAT(Attend({query, cache, cache, 0, Tensor({2, 5}), 0.0, false, None()}),
              StatusIs(kInvalid, HasSubstr("attn_mask: expected shape [2,6]")));
  EXPECT_THAT(Attend({Tensor({2, 4, 8}), cache, cache, 0, None(), 0.0, true, None()}),
              StatusIs(kInvalid, HasSubstr("query: expected four dimensions")));
  EXPECT_THAT(Attend({query, Tensor({6, 2, 8}), cache, 0, None(), 0.0, true, None()}),
              StatusIs(kInvalid, HasSubstr("key: expected four dimensions")));
  EXPECT_THAT(Attend({query, cache, Tensor({1, 7, 2, 8}), 0, None(), 0.0, true, None()}),
              StatusIs(kInvalid, HasSubstr("value: expected shape [1,6,2,8]")));
  for (const Sizes& sizes : {Sizes{2, 6, 2, 8}, Sizes{1, 6, 2, 4}}) {
    EXPECT_THAT(Attend({query, Tensor(sizes), Tensor(sizes), 0, None(), 0.0, true, None()}),
                StatusIs(kInvalid, HasSubstr("key: expected shape [1,6,2,8]")));
  }
  for (const int64_t heads : {0, 3, 8}) {
    const EValue other = Tensor({1, 6, heads, 8});
    EXPECT_THAT(Attend({query, other, other, 0, None(), 0.0, true, None()}),
                StatusIs(kInvalid, HasSubstr("key: expected a divisor of 4 heads")));
  }
  EXPECT_THAT(
      Attend({Tensor({1, 2, 4, 8}, DType::kFloat64), cache, cache, 0, None(), 0.0, true, None()}),
      StatusIs(kInvalid, HasSubstr("query: expected one of float16")));
  ExpectArgumentsOfTheirKinds<CacheAttentionCall<K>>(
      kAttention, {query, cache, cache, 1, mask, 0.0, false, 0.5});
}

TEST(LlamaTest, NewTokensFitTheCaches) {
  const EValue query = Tensor({1, 2, 4, 8}), entry = Tensor({1, 2, 2, 8}),
               cache = Tensor({1, 6, 2, 8}), mask = Tensor({2, 6});
  const auto shape = [&](EValue key, EValue value, int64_t start, TestArgument scores) {
    return ShapeOf<CacheAttentionCall<K>>(
               kWithCache, {query, key, value, cache, cache, start, 2, scores, 0.0, false, None()})
        .status();
  };
  EXPECT_OK(shape(entry, entry, 4, None()));
  ExpectArgumentsOfTheirKinds<CacheAttentionCall<K>>(
      kWithCache, {query, entry, entry, cache, cache, 1, 2, None(), 0.0, true, None()});
  EXPECT_OK(shape(entry, entry, 4, mask));
  EXPECT_THAT(shape(entry, entry, 5, mask), StatusIs(kRange));
  EXPECT_THAT(shape(Tensor({1, 2, 1, 8}), entry, 0, None()),
              StatusIs(kInvalid, HasSubstr("key: expected shape [1,2,2,8]")));
  EXPECT_THAT(shape(entry, Tensor({1, 2, 2, 4}), 0, None()),
              StatusIs(kInvalid, HasSubstr("value: expected shape [1,2,2,8]")));
}

TEST(LlamaTest, QuantizedOperandsHaveParametersPerRow) {
  constexpr std::string_view kNames =
      "query key value start_pos attn_mask drpout_p is_causal scale q_zero_points q_scales "
      "k_zero_points k_scales v_zero_points v_scales is_seq_at_dim_2";
  const auto quantized = [](const Sizes& sizes) { return Tensor(sizes, DType::kInt8); };
  // Heads before tokens: 2 queries, 6 tokens.
  std::vector<TestArgument> call = {quantized({1, 4, 2, 8}),
                                    quantized({1, 2, 6, 8}),
                                    quantized({1, 2, 6, 8}),
                                    4,
                                    None(),
                                    0.0,
                                    true,
                                    None(),
                                    quantized({1, 4, 2, 1}),
                                    Tensor({1, 4, 2, 1}),
                                    quantized({1, 2, 6, 1}),
                                    Tensor({1, 2, 6, 1}),
                                    quantized({1, 2, 6, 1}),
                                    Tensor({1, 2, 6, 1}),
                                    true};
  const auto shape = ShapeOf<CacheAttentionCall<K>>(kNames, call);
  ASSERT_OK(shape.status());
  EXPECT_EQ(FormatDims<D>(*shape), "[1,4,2,8]");
  for (size_t i = 8; i < 14; ++i) {
    std::vector<TestArgument> wrong = call;
    wrong[i] = Tensor({1, 2, 5, 1}, i % 2 == 0 ? DType::kInt8 : DType::kFloat32);
    EXPECT_THAT(ShapeOf<CacheAttentionCall<K>>(kNames, wrong).status(),
                StatusIs(kInvalid, HasSubstr("scales and zero points: expected shape")));
    wrong[i] = None();
    EXPECT_THAT(ReadStatus<CacheAttentionCall<K>>(kNames, wrong), StatusIs(kInvalid));
  }
  call[0] = Tensor({1, 4, 2, 8});
  EXPECT_THAT(ReadStatus<CacheAttentionCall<K>>(kNames, call), StatusIs(kInvalid));
}

TEST(LlamaTest, HadamardSizesArePowersOfTwoTimes28) {
  const auto split = [](int64_t size) {
    const absl::StatusOr<HadamardSize> result = HadamardSize::Of(size);
    return result.ok() ? absl::StrCat(result->blocks, "x", result->block) : "invalid";
  };
  EXPECT_EQ(split(0), "1x0");
  EXPECT_EQ(split(1), "1x1");
  EXPECT_EQ(split(64), "1x64");
  EXPECT_EQ(split(28), "28x1");
  EXPECT_EQ(split(14336), "28x512");
  for (const int64_t size : {-1, 3, 12, 14, 84}) EXPECT_EQ(split(size), "invalid") << size;
  EXPECT_OK(CheckShapesOf<HadamardCall<K>>("mat", {Tensor({})}));
  EXPECT_OK(CheckShapesOf<HadamardCall<K>>("mat", {Tensor({3, 8})}));
  EXPECT_THAT(
      CheckShapesOf<HadamardCall<K>>("mat", {Tensor({8, 3})}),
      StatusIs(kInvalid, "mat: expected a last dimension of 2^k or 28 * 2^k elements, got 3"));
}

}  // namespace
}  // namespace belay
