// Embeddings and indexing against the reference kernels.
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kInt8};
constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kReversed, Layout::kGaps};

// Indices in [0, below), or, if `below` is negative, in [below, -below).
TestTensorSpec Places(const Sizes& sizes, int64_t below, DType dtype = DType::kInt64,
                      Layout layout = Layout::kRowMajor) {
  return {dtype, sizes, layout, Values::kNormal, below};
}

KernelCall Embedding(const TestTensorSpec& table, const TestTensorSpec& indices) {
  return {"aten.embedding.default",
          {table, indices, EValue(int64_t{-1}), EValue(false), EValue(false)},
          {table.dtype}};
}

TEST(IndexTest, EmbeddingOfEveryWidthAndNumberOfRows) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      for (DType index : {DType::kInt64, DType::kInt32}) {
        ASSERT_TRUE(
            comparison.Compare(Embedding(TestTensorSpec{dtype, {9, n}}, Places({2, 3}, 9, index))));
        ASSERT_TRUE(
            comparison.Compare(Embedding(TestTensorSpec{dtype, {9, 5}}, Places({n}, 9, index))));
      }
    }
  }
}

TEST(IndexTest, EmbeddingOfEveryLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kInt8}) {
    for (Layout layout : kLayouts) {
      for (const Sizes& places : {Sizes{}, Sizes{1}, Sizes{4}, Sizes{3, 5}, Sizes{2, 1, 300}}) {
        KernelCall call = Embedding(TestTensorSpec{dtype, {9, 33}, layout, Values::kNormal, 0},
                                    Places(places, 9, DType::kInt64, layout));
        ASSERT_TRUE(comparison.Compare(call));
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

// Sizes of index tensors into dimensions of {5, 6, 7}.
using IndexSizes = std::vector<std::optional<Sizes>>;
constexpr int64_t kSelf[] = {5, 6, 7};

std::vector<std::optional<TestTensorSpec>> IndicesOf(const IndexSizes& sizes, DType dtype,
                                                     Layout layout) {
  std::vector<std::optional<TestTensorSpec>> indices;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].has_value()) {
      indices.push_back(Places(*sizes[d], -kSelf[d], dtype, layout));
    } else {
      indices.push_back(std::nullopt);
    }
  }
  return indices;
}

std::vector<IndexSizes> IndexCases() {
  const std::nullopt_t none = std::nullopt;
  return {{Sizes{}},
          {Sizes{1}},
          {Sizes{4}},
          {Sizes{3, 2}},
          {Sizes{700}},
          {Sizes{0}},
          {none, Sizes{4}},
          {none, none, Sizes{4}},
          {none, none, Sizes{1}},
          {none, Sizes{3}, Sizes{3}},
          {Sizes{3}, Sizes{3}},
          {Sizes{3}, none, Sizes{3}},
          {Sizes{3, 1}, Sizes{1, 4}},
          {Sizes{3, 1}, none, Sizes{4}},
          {Sizes{2, 3, 5}, Sizes{3, 1}, Sizes{5}},
          {Sizes{}, Sizes{9}, Sizes{2, 9}},
          {Sizes{40, 40}, Sizes{40, 1}, Sizes{40}}};
}

TEST(IndexTest, IndexByEveryCombination) {
  KernelComparison comparison;
  for (const IndexSizes& sizes : IndexCases()) {
    for (DType dtype : kDTypes) {
      for (DType index : {DType::kInt64, DType::kInt32}) {
        for (Layout layout : kLayouts) {
          KernelCall call = {"aten.index.Tensor",
                             {TestTensorSpec{dtype, Sizes(kSelf), layout, Values::kNormal, 0},
                              IndicesOf(sizes, index, layout)},
                             {dtype}};
          ASSERT_TRUE(comparison.Compare(call));
          call.output_layout = layout;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
}

TEST(IndexTest, IndexByMasks) {
  KernelComparison comparison;
  for (const Sizes& sizes : {Sizes{5}, Sizes{5, 6}, Sizes{5, 6, 7}}) {
    for (DType mask : {DType::kBool, DType::kUint8}) {
      ASSERT_TRUE(comparison.Compare(
          {"aten.index.Tensor",
           {TestTensorSpec{DType::kFloat32, Sizes(kSelf)},
            std::vector<TestTensorSpec>{{mask, sizes, Layout::kRowMajor, Values::kFew, 0}}},
           {DType::kFloat32}}));
    }
  }
}

TEST(IndexTest, IndexOfEveryLength) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      ASSERT_TRUE(comparison.Compare(
          {"aten.index.Tensor",
           {TestTensorSpec{dtype, {6, n}}, std::vector<TestTensorSpec>{Places({11}, -6)}},
           {dtype}}));
      ASSERT_TRUE(
          comparison.Compare({"aten.index.Tensor",
                              {TestTensorSpec{dtype, {6, 3}},
                               std::vector<TestTensorSpec>{Places({n}, -6), Places({1}, -3)}},
                              {dtype}}));
    }
  }
}

TEST(IndexTest, PutByEveryCombination) {
  KernelComparison comparison;
  for (const IndexSizes& sizes : IndexCases()) {
    for (DType dtype : kDTypes) {
      for (Layout layout : kLayouts) {
        KernelCall call = {
            "aten.index_put.default",
            {TestTensorSpec{dtype, Sizes(kSelf), layout, Values::kNormal, 0},
             IndicesOf(sizes, DType::kInt64, layout), TestTensorSpec{dtype, {1}}, EValue(false)},
            {dtype}};
        ASSERT_TRUE(comparison.Compare(call));
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

TEST(IndexTest, PutOfRowsOfEveryLayout) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      for (Layout layout : kLayouts) {
        // If two values have the same position, the last one wins.
        ASSERT_TRUE(comparison.Compare(
            {"aten.index_put.default",
             {TestTensorSpec{dtype, {2, 6, n}},
              IndicesOf({std::nullopt, Sizes{9}}, DType::kInt32, Layout::kRowMajor),
              TestTensorSpec{dtype, {2, 9, n}, layout, Values::kNormal, 0}, EValue(false)},
             {dtype}}));
      }
    }
  }
}

TEST(IndexTest, AccumulatesInOrder) {
  KernelComparison comparison;
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kFloat16, DType::kBFloat16}) {
    for (int64_t n : {0, 1, 3, 7, 16, 65, 300}) {
      for (Layout layout : kLayouts) {
        ASSERT_TRUE(comparison.Compare(
            {"aten.index_put.default",
             {TestTensorSpec{dtype, {2, 6, n}},
              IndicesOf({std::nullopt, Sizes{9}}, DType::kInt32, Layout::kRowMajor),
              TestTensorSpec{dtype, {2, 9, n}, layout, Values::kNormal, 0}, EValue(true)},
             {dtype}}));
        ASSERT_TRUE(comparison.Compare(
            {"aten.index_put.default",
             {TestTensorSpec{dtype, {6, n}},
              IndicesOf({Sizes{9}}, DType::kInt64, Layout::kRowMajor),
              TestTensorSpec{dtype, {1}, Layout::kRowMajor, Values::kNormal, 0}, EValue(true)},
             {dtype}}));
      }
    }
  }
}

// Large enough for several threads: positions of several dimensions, and tables with few or many
// blocks.
TEST(IndexTest, DividesPositionsAndTables) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt8}) {
    for (int64_t width : {1, 5, 40}) {
      for (int64_t rows : {1, 2, 700}) {
        for (Layout layout : {Layout::kRowMajor, Layout::kReversed}) {
          const Sizes table = {rows, 3, width};
          const auto indices = std::vector<TestTensorSpec>{
              Places({301, 43}, -rows, DType::kInt64, layout), Places({301, 1}, 3)};
          const TestTensorSpec values = {dtype, {301, 43, width}};
          ASSERT_TRUE(comparison.Compare(
              {"aten.index.Tensor",
               {TestTensorSpec{dtype, table, layout, Values::kNormal, 0}, indices},
               {dtype}}));
          for (bool accumulate : {false, true}) {
            ASSERT_TRUE(comparison.Compare(
                {"aten.index_put.default",
                 {TestTensorSpec{dtype, table}, indices, values, EValue(accumulate)},
                 {dtype}}));
          }
        }
      }
    }
  }
}

TEST(IndexTest, EmbeddingBags) {
  KernelComparison comparison;
  for (int64_t features : {1, 3, 8, 17, 64}) {
    for (int64_t mode : {0, 1, 2}) {
      for (int64_t padding : {-1, 2}) {
        for (Layout out : {Layout::kRowMajor, Layout::kReversed}) {
          for (DType index : {DType::kInt64, DType::kInt32}) {
            KernelCall call = {
                "aten._embedding_bag.default",
                {TestTensorSpec{DType::kFloat32, {10, features}},
                 TestTensorSpec{index, {23}, Layout::kRowMajor, Values::kNormal, 10},
                 TestTensorSpec{index, {1}, Layout::kRowMajor, Values::kNormal, 1}, EValue(false),
                 EValue(mode), EValue(false), EValue(), EValue(false), EValue(padding)},
                {DType::kFloat32, index, index, index},
                1};
            call.output_layout = out;
            ASSERT_TRUE(comparison.Compare(call));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay
