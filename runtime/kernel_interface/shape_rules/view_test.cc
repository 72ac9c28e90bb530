#include "runtime/kernel_interface/shape_rules/view.h"

#include <cstdint>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

StridedDims<D> Strided(const Sizes& sizes, const Sizes& strides, int64_t offset = 0) {
  return {ToDims(sizes), ToDims(strides), D(offset)};
}

TEST(ViewTest, SizesAreInferredFromTheNumberOfElements) {
  const auto infer = [](const Sizes& in, const Sizes& requested) {
    return InferViewSizes<D>(ToDims(in), ToDims(requested));
  };
  EXPECT_EQ(*ToSizes(*infer({2, 3, 4}, {4, -1})), Sizes({4, 6}));
  EXPECT_EQ(*ToSizes(*infer({2, 2, 3}, {2, 2, -1})), Sizes({2, 2, 3}));
  EXPECT_EQ(*ToSizes(*infer({0, 3}, {-1, 3})), Sizes({0, 3}));
  EXPECT_EQ(*ToSizes(*infer({6}, {-1})), Sizes({6}));
  EXPECT_THAT(infer({6}, {-1, -1}), StatusIs(kInvalid, HasSubstr("only one size can be -1")));
  EXPECT_THAT(infer({6}, {-2, 3}), StatusIs(kInvalid, HasSubstr("negative size")));
  EXPECT_THAT(infer({6}, {4}), StatusIs(kInvalid, HasSubstr("numbers of elements differ")));
  EXPECT_THAT(infer({4}, {6}), StatusIs(kInvalid, HasSubstr("numbers of elements differ")));
  EXPECT_THAT(infer({6}, {4, -1}), StatusIs(kInvalid, HasSubstr("sizes do not divide")));
  EXPECT_THAT(infer({0}, {0, -1}), StatusIs(kInvalid, HasSubstr("-1 is ambiguous")));
  EXPECT_THAT(InferViewSizes<D>(ToDims({1}), Dims<D>(kMaxRank, D(1))), IsOk());
}

TEST(ViewTest, ViewsDoNotMoveElements) {
  EXPECT_EQ(Text(ViewDims(Dense({2, 3, 4}), ToDims({6, 4}))), "[6,4] [4,1] 0");
  EXPECT_EQ(Text(ViewDims(Strided({2, 3}, {6, 1}), ToDims({2, 3, 1}))), "[2,3,1] [6,1,1] 0");
  EXPECT_EQ(Text(ViewDims(Strided({2, 4}, {8, 1}), ToDims({2, 2, 2}))), "[2,2,2] [8,2,1] 0");
  EXPECT_EQ(Text(ViewDims(Strided({1, 3}, {7, 2}), ToDims({3}))), "[3] [2] 0");
  EXPECT_EQ(Text(ViewDims(Strided({0, 3}, {9, 9}), ToDims({0, 3}))), "[0,3] [9,9] 0");
  EXPECT_EQ(Text(ViewDims(Strided({0, 3}, {9, 9}), ToDims({3, 0}))), "[3,0] [1,1] 0");
  EXPECT_EQ(Text(ViewDims(Dense({}), ToDims({1, 1}))), "[1,1] [1,1] 0");
  EXPECT_THAT(ViewDims(Strided({3, 2}, {1, 3}), ToDims({6})),
              StatusIs(kInvalid,
                       "cannot view [3,2] with strides [1,3] as [6] without moving "
                       "elements"));
  EXPECT_THAT(ViewDims(Strided({2, 3}, {6, 1}), ToDims({6})), StatusIs(kInvalid));
}

TEST(ViewTest, ContiguityIgnoresStridesOfOnes) {
  EXPECT_TRUE(IsRowMajor(Dense({2, 3})));
  EXPECT_TRUE(IsRowMajor(Strided({2, 1, 3}, {3, 77, 1})));
  EXPECT_FALSE(IsRowMajor(Strided({2, 3}, {1, 2})));
}

TEST(ViewTest, ExpansionsRepeatOnes) {
  const auto expand = [](const Sizes& in, const Sizes& to) {
    return ExpandDims<D>(Dense(in), ToDims(to));
  };
  EXPECT_EQ(Text(expand({3, 1}, {2, 3, 4})), "[2,3,4] [0,1,0] 0");
  EXPECT_EQ(Text(expand({3, 1}, {-1, 4})), "[3,4] [1,0] 0");
  EXPECT_EQ(Text(expand({1}, {0})), "[0] [0] 0");
  EXPECT_THAT(expand({3, 1}, {3}), StatusIs(kInvalid, HasSubstr("to the smaller rank of [3]")));
  EXPECT_THAT(expand({3}, {-1, 3}), StatusIs(kInvalid, HasSubstr("which does not exist yet")));
  EXPECT_THAT(expand({3}, {4}), StatusIs(kInvalid, HasSubstr("dimension 0 has another size")));
  EXPECT_THAT(expand({1}, {-2}), StatusIs(kInvalid, HasSubstr("dimension 0 has another size")));
}

TEST(ViewTest, SqueezeAndUnsqueeze) {
  EXPECT_EQ(Text(SqueezeDims(Dense({1, 3, 1}), 1)), "[3,1] [1,1] 0");
  EXPECT_EQ(Text(SqueezeRule<K>().Apply(Dense({1, 3, 1}))), "[3] [1] 0");
  EXPECT_EQ(Text(SqueezeDimRule<K>{1}.Apply(Dense({1, 3, 1}))), "[1,3,1] [3,1,1] 0");
  EXPECT_EQ(Text(UnsqueezeRule<K>{-1}.Apply(Dense({2, 3}))), "[2,3,1] [3,1,1] 0");
  EXPECT_EQ(Text(UnsqueezeRule<K>{0}.Apply(Dense({2, 3}))), "[1,2,3] [6,3,1] 0");
  EXPECT_THAT(UnsqueezeRule<K>{3}.Apply(Dense({2, 3})), StatusIs(kRange));
  EXPECT_THAT(UnsqueezeRule<K>{0}.Apply(Dense(Sizes(kMaxRank, 1))),
              StatusIs(kInvalid, HasSubstr("rank 17")));
}

TEST(ViewTest, ReinterpretedSizesMustDivide) {
  EXPECT_EQ(Text(ReinterpretDims(Strided({2, 4}, {4, 1}, 4), 4, 4)), "[2,4] [4,1] 4");
  EXPECT_EQ(Text(ReinterpretDims(Strided({2, 4}, {4, 1}, 4), 4, 2)), "[2,8] [8,1] 8");
  EXPECT_EQ(Text(ReinterpretDims(Strided({2, 4}, {4, 1}, 4), 2, 4)), "[2,2] [2,1] 2");
  EXPECT_EQ(Text(ReinterpretDims(Strided({1, 4}, {5, 1}), 2, 4)), "[1,2] [5,1] 0");
  const auto expect_error = [](const StridedDims<D>& in, const char* part) {
    EXPECT_THAT(ReinterpretDims(in, 2, 4), StatusIs(kInvalid, HasSubstr(part)));
  };
  expect_error(Dense({}), "it has no dimensions");
  expect_error(Strided({2, 4}, {1, 2}), "the last stride is not 1");
  expect_error(Strided({2, 3}, {4, 1}), "the last size does not divide");
  expect_error(Strided({2, 4}, {5, 1}), "a stride does not divide");
  expect_error(Strided({2, 4}, {4, 1}, 3), "the offset does not divide");
}

TEST(ViewTest, ComplexViewsHaveTwoParts) {
  const std::pair<DType, DType> types[] = {{DType::kFloat16, DType::kComplex32},
                                           {DType::kFloat32, DType::kComplex64},
                                           {DType::kFloat64, DType::kComplex128}};
  for (const auto& [real, complex] : types) {
    const TestCall of_reals("self", {Tensor({3, 2}, real)});
    EXPECT_EQ(of_reals.Read<ViewAsComplexCall<K>>()->dtype, complex);
    const TestCall of_complex("self", {Tensor({3}, complex)});
    EXPECT_EQ(of_complex.Read<ViewAsRealCall<K>>()->dtype, real);
  }
  EXPECT_EQ(Text(ViewAsComplexCall<K>().Apply(Strided({3, 2}, {4, 1}, 2))), "[3] [2] 1");
  EXPECT_EQ(Text(ViewAsRealCall<K>().Apply(Strided({3}, {2}, 1))), "[3,2] [4,1] 2");
  for (const Sizes& sizes : {Sizes(), Sizes({3})}) {
    EXPECT_THAT(ViewAsComplexCall<K>().Apply(Dense(sizes)),
                StatusIs(kInvalid, HasSubstr("is not 2")));
  }
  EXPECT_THAT(ViewAsComplexCall<K>().Apply(Strided({3, 2}, {3, 1})),
              StatusIs(kInvalid, HasSubstr("a stride does not divide")));
  EXPECT_THAT(ViewAsRealCall<K>().Apply(Dense(Sizes(kMaxRank, 1))), StatusIs(kInvalid));
}

TEST(ViewTest, PermutationsNameEachDimensionOnce) {
  EXPECT_EQ(Text(PermuteRule<K>{{-1, 0}}.Apply(Dense({2, 3}))), "[3,2] [1,3] 0");
  EXPECT_THAT((PermuteRule<K>{{0}}.Apply(Dense({2, 3}))),
              StatusIs(kInvalid, "permute: expected 2 dims, got [0]"));
  EXPECT_THAT((PermuteRule<K>{{0, 0}}.Apply(Dense({2, 3}))), StatusIs(kInvalid));
  EXPECT_EQ(Text(TransposeRule<K>{0, -1}.Apply(Dense({}))), "[] [] 0");
  EXPECT_EQ(Text(MatrixTransposeRule<K>().Apply(Dense({3}))), "[3] [1] 0");
  EXPECT_THAT(MatrixTransposeRule<K>().Apply(Dense({1, 2, 3})),
              StatusIs(kInvalid, "t: expected at most 2 dimensions, got 3"));
}

}  // namespace
}  // namespace belay
