#include "runtime/kernel_interface/shape_rules/quantized_weights.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(QuantizedWeightsTest, PackedElementsUseFullRange) {
  EXPECT_OK(CheckPackedRange(8, -100, 100));
  EXPECT_OK(CheckPackedRange(4, -8, 7));
  EXPECT_OK(CheckPackedRange(2, -2, 1));
  EXPECT_THAT(CheckPackedRange(4, -7, 7),
              StatusIs(kInvalid, HasSubstr("expected -8 and 7, got -7 and 7")));
  EXPECT_THAT(CheckPackedRange(4, -8, 8), StatusIs(kInvalid));
}

absl::Status Rows(const Dims<D>& weight, const Dims<D>& scales, const Dims<D>* zeros,
                  int per_byte = 1) {
  return EmbeddingRows<D>(weight, scales, zeros, per_byte).status();
}

TEST(QuantizedWeightsTest, RowsDivideIntoGroups) {
  const Dims<D> zeros = ToDims({10, 2}), others = ToDims({10, 4}), vector = ToDims({10});
  EXPECT_OK(Rows(ToDims({10, 8}), ToDims({10, 2}), &zeros));
  EXPECT_OK(Rows(ToDims({10, 2}), ToDims({10, 4}), nullptr, 4));
  EXPECT_OK(Rows(ToDims({10, 8}), ToDims({10}), &vector));
  for (const int64_t groups : {0, 3, 8}) {
    EXPECT_THAT(Rows(ToDims({10, 8}), ToDims({10, groups}), nullptr),
                StatusIs(kInvalid, HasSubstr("groups have at least 2")));
  }
  EXPECT_OK(Rows({D(10), Overflowed()}, ToDims({10, 3}), nullptr));
  EXPECT_OK(Rows(ToDims({10, 8}), {D(10), Overflowed()}, nullptr));
  EXPECT_THAT(Rows(ToDims({8}), ToDims({10}), nullptr),
              StatusIs(kInvalid, HasSubstr("a matrix with scales of rank 1 or 2")));
  EXPECT_THAT(Rows(ToDims({10, 8}), ToDims({10, 1, 1}), nullptr), StatusIs(kInvalid));
  EXPECT_THAT(Rows(ToDims({10, 8}), ToDims({9}), nullptr),
              StatusIs(kInvalid, HasSubstr("are not those of a weight [10,8]")));
  EXPECT_THAT(Rows(ToDims({10, 8}), ToDims({10, 2}), &others), StatusIs(kInvalid));
  EXPECT_THAT(Rows(ToDims({10, 8}), ToDims({10, 2}), &vector), StatusIs(kInvalid));
  EXPECT_THAT(Rows(ToDims({9, 8}), ToDims({10, 2}), &zeros), StatusIs(kInvalid));
}

TEST(QuantizedWeightsTest, ChecksEmbeddingDTypeAndRank) {
  const std::string names =
      "weight weight_scales weight_zero_points weight_quant_min weight_quant_max indices dtype";
  const EValue weight = Tensor({10, 8}, DType::kInt8), scales = Tensor({10});
  EXPECT_THAT(
      (ReadStatus<QuantizedEmbeddingCall<K, 8>>(
          names, {weight, scales, None(), -128, 127, Tensor({3}, DType::kInt64), DType::kInt32})),
      StatusIs(kInvalid, "dtype: expected a floating point type, got int32"));
  EXPECT_THAT((ReadStatus<QuantizedEmbeddingCall<K, 4>>(
                  names, {weight, scales, None(), -128, 127, Tensor({3}, DType::kInt64), None()})),
              StatusIs(kInvalid, HasSubstr("expected -8 and 7")));
  EXPECT_THAT(EmbeddingShape<D>(Dims<D>(kMaxRank, D(1)), D(8)),
              StatusIs(kInvalid, HasSubstr("rank 17")));
}

absl::StatusOr<Sizes> Product(const Sizes& input, const Sizes& weight, const Dims<D>& scales,
                              const Dims<D>* zeros, bool linear) {
  ABSL_ASSIGN_OR_RETURN(const MixedShape<D> shape,
                        MixedProductShape<D>(ToDims(input), ToDims(weight), scales, zeros, linear));
  return ToSizes(shape.out);
}

TEST(QuantizedWeightsTest, MixedMatmulScalesMatchWeight) {
  const Dims<D> zeros = ToDims({5}), groups = ToDims({4, 2});
  EXPECT_EQ(*Product({2, 5}, {5, 4}, ToDims({5}), &zeros, false), Sizes({2, 4}));
  EXPECT_EQ(*Product({2, 5}, {4, 5}, ToDims({4}), nullptr, true), Sizes({2, 4}));
  EXPECT_EQ(*Product({2, 8}, {4, 8}, groups, &groups, true), Sizes({2, 4}));
  EXPECT_OK(Product({2, 8}, {4, 8}, {D(4), Overflowed()}, nullptr, true));
  const auto expect_misfit = [](absl::StatusOr<Sizes> shape) {
    EXPECT_THAT(shape, StatusIs(kInvalid, HasSubstr("are inconsistent")));
  };
  expect_misfit(Product({2, 8}, {4, 8}, ToDims({4, 0}), nullptr, true));
  expect_misfit(Product({2, 5}, {5, 4}, ToDims({5, 1}), nullptr, false));
  expect_misfit(Product({2, 5}, {5, 4}, ToDims({4}), nullptr, false));
  expect_misfit(Product({2, 5}, {4, 5}, {}, nullptr, true));
  expect_misfit(Product({2, 5}, {4, 4}, ToDims({4}), nullptr, true));
  expect_misfit(Product({5}, {4, 5}, ToDims({4}), nullptr, true));
  expect_misfit(Product({2, 5}, {5}, ToDims({5}), nullptr, false));
  expect_misfit(Product({2, 8}, {4, 8}, groups, &zeros, true));
  expect_misfit(Product({2, 8}, {4, 8}, ToDims({4}), &zeros, true));
}

}  // namespace
}  // namespace belay
