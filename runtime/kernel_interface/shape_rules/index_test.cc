#include "runtime/kernel_interface/shape_rules/index.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(IndexTest, ExpandOnlyChangesOnes) {
  EXPECT_TRUE(MayExpandTo<D>(ToDims({3}), ToDims({2, 3})));
  EXPECT_TRUE(MayExpandTo<D>(ToDims({1}), ToDims({2, 3})));
  EXPECT_FALSE(MayExpandTo<D>(ToDims({2}), ToDims({2, 3})));
  EXPECT_FALSE(MayExpandTo<D>(ToDims({2, 3}), ToDims({3})));
  EXPECT_TRUE(MayExpandTo<D>(Dims<D>{Overflowed()}, ToDims({2, 3})));  // not known to differ
}

absl::StatusOr<int> Gather(const Sizes& self, int64_t dim, const Sizes& index,
                           std::optional<Sizes> src = std::nullopt) {
  const Dims<D> src_dims = ToDims(src.value_or(Sizes()));
  const absl::Span<const D> src_sizes = src_dims;
  return CheckGatherShapes<D>("scatter", ToDims(self), dim, ToDims(index),
                              src.has_value() ? &src_sizes : nullptr);
}

TEST(IndexTest, GatherIndexFitsSelf) {
  EXPECT_EQ(*Gather({2, 3}, -1, {2, 9}), 1);
  EXPECT_EQ(*Gather({}, 0, {1}), 0);
  EXPECT_EQ(*Gather({1}, 0, {}), 0);
  EXPECT_EQ(*Gather({2, 3}, 0, {0}), 0);  // empty, any shape
  EXPECT_THAT(Gather({2, 3}, 1, {3, 3}),
              StatusIs(kInvalid,
                       "scatter: index [3,3] does not fit into self [2,3] along "
                       "dimension 1"));
  EXPECT_THAT(Gather({2, 3}, 0, {3}), StatusIs(kInvalid, HasSubstr("does not fit")));
  EXPECT_THAT(Gather({2, 3}, 2, {2, 3}), StatusIs(kRange, HasSubstr("dim 2")));
}

TEST(IndexTest, ScatterIndexFitsSource) {
  EXPECT_EQ(*Gather({2, 3}, 1, {2, 9}, Sizes{2, 9}), 1);
  EXPECT_EQ(*Gather({2, 3}, 1, {2, 2}, Sizes{4, 4}), 1);
  EXPECT_EQ(*Gather({}, 0, {}, Sizes{1}), 0);
  EXPECT_THAT(Gather({2, 3}, 1, {2, 9}, Sizes{2, 8}),
              StatusIs(kInvalid,
                       "scatter: index [2,9] does not fit into self [2,3] and src [2,8] "
                       "along dimension 1"));
  EXPECT_THAT(Gather({2, 3}, 1, {2, 3}, Sizes{1, 3}), StatusIs(kInvalid));
  EXPECT_THAT(Gather({2, 3}, 1, {2, 3}, Sizes{3}), StatusIs(kInvalid));
}

TEST(IndexTest, IndexSelectTakesAVector) {
  const auto shape = [](const Sizes& self, const Sizes& index) {
    return IndexSelectShape<D>(ToDims(self), 0, ToDims(index));
  };
  EXPECT_EQ(*ToSizes(*shape({2, 3}, {5})), Sizes({5, 3}));
  EXPECT_EQ(*ToSizes(*shape({2, 3}, {})), Sizes({1, 3}));
  EXPECT_EQ(*ToSizes(*shape({}, {1})), Sizes());
  EXPECT_THAT(shape({2, 3}, {1, 1}), StatusIs(kInvalid, HasSubstr("must be a vector")));
  EXPECT_THAT(shape({}, {2}), StatusIs(kInvalid, HasSubstr("of one element for a scalar")));
}

absl::StatusOr<int> Update(std::string_view op, const Sizes& self, int64_t dim, const Sizes& index,
                           std::optional<Sizes> source = std::nullopt) {
  const Dims<D> source_dims = ToDims(source.value_or(Sizes()));
  const absl::Span<const D> source_sizes = source_dims;
  return CheckIndexUpdateShapes<D>(op, ToDims(self), dim, ToDims(index),
                                   source.has_value() ? &source_sizes : nullptr);
}

TEST(IndexTest, UpdatesHaveOneSlicePerIndex) {
  EXPECT_EQ(*Update("index_add", {2, 3}, -1, {4}, Sizes{2, 4}), 1);
  EXPECT_EQ(*Update("index_add", {2, 3}, 1, {}, Sizes{2, 1}), 1);
  EXPECT_EQ(*Update("index_add", {}, 0, {1}, Sizes{}), 0);
  EXPECT_THAT(Update("index_add", {2, 3}, 1, {4}, Sizes{2, 3}),
              StatusIs(kInvalid,
                       "index_add: index [4] and source [2,3] do not fit self [2,3] along "
                       "dimension 1"));
  EXPECT_THAT(Update("index_add", {2, 3}, 1, {4}, Sizes{3, 4}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_add", {2, 3}, 1, {1, 4}, Sizes{2, 4}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_add", {2, 3}, 1, {4}, Sizes{4}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_add", {2, 3}, 1, {1}, Sizes{}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_add", {}, 0, {2}, Sizes{}), StatusIs(kInvalid));
}

TEST(IndexTest, IndexCopyAcceptsScalars) {
  EXPECT_EQ(*Update("index_copy", {}, 0, {1}, Sizes{1}), 0);
  EXPECT_EQ(*Update("index_copy", {3}, 0, {1}, Sizes{}), 0);
  EXPECT_EQ(*Update("index_copy", {}, 0, {}, Sizes{}), 0);
  EXPECT_EQ(*Update("index_copy", {2, 3}, 1, {4}, Sizes{2, 4}), 1);
  EXPECT_THAT(Update("index_copy", {}, 0, {2}, Sizes{1}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_copy", {3}, 0, {2}, Sizes{}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_copy", {2, 3}, 0, {1}, Sizes{}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_copy", {}, 0, {1}, Sizes{1, 1}), StatusIs(kInvalid));
  EXPECT_THAT(Update("index_copy", {}, 0, {1, 1}, Sizes{1}), StatusIs(kInvalid));
}

TEST(IndexTest, IndexFillTakesAVector) {
  EXPECT_EQ(*Update("index_fill", {2, 3}, 1, {9}), 1);
  EXPECT_THAT(
      Update("index_fill", {2, 3}, 1, {1, 9}),
      StatusIs(kInvalid, "index_fill: index [1,9] do not fit self [2,3] along dimension 1"));
}

TEST(IndexTest, EmbeddingsAreRowsOfAMatrix) {
  EXPECT_EQ(*ToSizes(*EmbeddingShape<D>(ToDims({10, 4}), ToDims({2, 3}))), Sizes({2, 3, 4}));
  EXPECT_THAT(EmbeddingShape<D>(ToDims({10}), ToDims({2})),
              StatusIs(kInvalid, HasSubstr("weight must have 2 dimensions")));
  EXPECT_THAT(EmbeddingShape<D>(ToDims({10, 4}), Dims<D>(kMaxRank, D(1))),
              StatusIs(kInvalid, HasSubstr("rank 17")));
}

TEST(IndexTest, EmbeddingGradientHasOneRowPerIndex) {
  const auto shape = [](const Sizes& gradient, const Sizes& indices, D rows) {
    return EmbeddingGradientShape<D>(ToDims(gradient), ToDims(indices), rows);
  };
  EXPECT_EQ(*ToSizes(*shape({2, 3, 4}, {2, 3}, 10)), Sizes({10, 4}));
  EXPECT_EQ(*ToSizes(*shape({6, 4}, {2, 3}, 10)), Sizes({10, 4}));
  EXPECT_EQ(*ToSizes(*shape({3, 0}, {5}, 10)), Sizes({10, 0}));
  const int64_t many = int64_t{1} << 40;
  EXPECT_EQ(*ToSizes(*shape({many, many, 0, 4}, {many, many, 0}, 10)), Sizes({10, 4}));
  EXPECT_THAT(shape({2, 4}, {3}, 10),
              StatusIs(kInvalid,
                       "embedding_dense_backward: gradient [2,4] does not fit indices [3] "
                       "and 10 rows"));
  EXPECT_THAT(shape({}, {}, 10), StatusIs(kInvalid));
  EXPECT_THAT(shape({3, 4}, {3}, -1), StatusIs(kInvalid, HasSubstr("and -1 rows")));
  EXPECT_THAT(shape({many, many}, {many, many}, 10), StatusIs(kInvalid));
}

TEST(IndexTest, BoundariesHaveOneRowPerRowOfValues) {
  EXPECT_OK(CheckSearchShapes<D>(ToDims({5}), ToDims({2, 3})));
  EXPECT_OK(CheckSearchShapes<D>(ToDims({2, 5}), ToDims({2, 3})));
  EXPECT_THAT(CheckSearchShapes<D>(ToDims({2, 5}), ToDims({3, 3})),
              StatusIs(kInvalid, "boundaries of shape [2,5] do not fit values of shape [3,3]"));
  EXPECT_THAT(CheckSearchShapes<D>(ToDims({2, 5}), ToDims({3})), StatusIs(kInvalid));
  EXPECT_THAT(CheckSearchShapes<D>({}, ToDims({3})), StatusIs(kInvalid));
}

TEST(IndexTest, ValuesAreComparedInTheCommonDType) {
  EXPECT_EQ(*SearchType(DType::kFloat32, 1, DType::kFloat64, 1), DType::kFloat64);
  EXPECT_EQ(*SearchType(DType::kInt32, 1, DType::kInt64, 0), DType::kInt32);
  EXPECT_THAT(SearchType(DType::kComplex64, 1, DType::kFloat32, 1),
              StatusIs(kInvalid, "boundaries of complex64 for values of float32"));
  EXPECT_THAT(SearchType(DType::kUint16, 1, DType::kInt32, 1), StatusIs(kInvalid));
}

absl::StatusOr<BagShape<D>> Bags(const Sizes& weight, const Sizes& indices, const Sizes& offsets,
                                 int64_t mode, std::optional<Sizes> weights = std::nullopt,
                                 bool include_last = false) {
  const Dims<D> dims = ToDims(weights.value_or(Sizes()));
  const absl::Span<const D> sizes = dims;
  return EmbeddingBagShape<D>(ToDims(weight), ToDims(indices), ToDims(offsets), mode,
                              weights.has_value() ? &sizes : nullptr, include_last);
}

TEST(IndexTest, ChecksEmbeddingBagShapes) {
  ASSERT_OK_AND_ASSIGN(const BagShape<D> shape, Bags({10, 4}, {6}, {3}, 1));
  EXPECT_EQ(shape.bags, D(3));
  EXPECT_EQ(shape.features, D(4));
  EXPECT_EQ(shape.indices, D(6));
  EXPECT_EQ(Bags({10, 4}, {6}, {3}, 2, std::nullopt, true)->bags, D(2));
  EXPECT_OK(Bags({10, 4}, {6}, {3}, 0, Sizes{6}));
  for (const int64_t mode : {-1, 3}) {
    EXPECT_THAT(Bags({10, 4}, {6}, {3}, mode), StatusIs(kInvalid, HasSubstr("is unknown")));
  }
  EXPECT_THAT(Bags({10}, {6}, {3}, 0), StatusIs(kInvalid, HasSubstr("a matrix and two vectors")));
  EXPECT_THAT(Bags({10, 4}, {6, 1}, {3}, 0), StatusIs(kInvalid, HasSubstr("two vectors")));
  EXPECT_THAT(Bags({10, 4}, {6}, {3, 1}, 0), StatusIs(kInvalid, HasSubstr("two vectors")));
  EXPECT_THAT(Bags({10, 4}, {6}, {3}, 1, Sizes{6}), StatusIs(kInvalid, HasSubstr("mode a sum")));
  EXPECT_THAT(Bags({10, 4}, {6}, {3}, 0, Sizes{5}), StatusIs(kInvalid, HasSubstr("one per index")));
  EXPECT_THAT(Bags({10, 4}, {6}, {3}, 0, Sizes{6, 1}), StatusIs(kInvalid));
  EXPECT_THAT(Bags({10, 4}, {6}, {0}, 0, std::nullopt, true),
              StatusIs(kInvalid, HasSubstr("without a last offset")));
}

// Sums that PyTorch delegates to a library.
TEST(IndexTest, PlainFloatSumsSkipOffset2Bag) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    EXPECT_TRUE(BagSkipsOffsets(dtype, 0, -1, true));
  }
  EXPECT_FALSE(BagSkipsOffsets(DType::kFloat64, 0, -1, true));
  EXPECT_FALSE(BagSkipsOffsets(DType::kFloat32, 1, -1, true));
  EXPECT_FALSE(BagSkipsOffsets(DType::kFloat32, 0, 0, true));
  EXPECT_FALSE(BagSkipsOffsets(DType::kFloat32, 0, -1, false));
}

TEST(IndexTest, EmbeddingBagUsesWiderIndexType) {
  const auto type = [](DType indices, DType offsets, TestArgument weights) {
    const TestCall call(
        "weight indices offsets mode per_sample_weights include_last_offset padding_idx",
        {Tensor({10, 4}), Tensor({6}, indices), Tensor({3}, offsets), 0, weights, false, -1});
    const auto read = *call.Read<EmbeddingBagCall<K>>();
    EXPECT_OK(read.Shape());
    return read.IndexType();
  };
  EXPECT_EQ(type(DType::kInt64, DType::kInt32, None()), DType::kInt64);
  EXPECT_EQ(type(DType::kInt32, DType::kInt64, Tensor({6})), DType::kInt64);
  EXPECT_EQ(type(DType::kInt32, DType::kInt32, None()), DType::kInt32);
}

}  // namespace
}  // namespace belay
