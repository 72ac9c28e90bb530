#include "runtime/core/tensor_view.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TensorViewTest, ReportsSizeAndLayout) {
  const TestTensor t = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.view().rank(), 2);
  EXPECT_EQ(t.view().numel(), 6);
  EXPECT_EQ(t.view().nbytes(), 24u);
  EXPECT_TRUE(t.view().is_contiguous());
  EXPECT_EQ(t.view().ToString(), "f32[2,3]");
}

TEST(TensorViewTest, PrintsStridesWhenNotContiguous) {
  const TestTensor t = TestTensor::Zeros(DType::kInt64, {2, 3}, {1, 2});
  EXPECT_EQ(t.view().ToString(), "i64[2,3] strides [1,2]");
}

TEST(TensorViewTest, RankZeroHasOneElement) {
  const TestTensor t = TestTensor::Of<int32_t>({}, {7});
  EXPECT_EQ(t.view().numel(), 1);
  EXPECT_THAT(ToVector<int32_t>(t), ElementsAre(7));
}

TEST(StridedIteratorTest, IteratesInRowMajorOrder) {
  const Sizes sizes = {2, 3};
  std::vector<int64_t> a, b;
  for (StridedIterator<2> it(sizes, {Strides({1, 2}), Strides({0, 1})}); !it.done(); it.Next()) {
    a.push_back(it.offset(0));
    b.push_back(it.offset(1));
  }
  EXPECT_THAT(a, ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(b, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(StridedIteratorTest, RankZeroIsOneStepAndEmptyIsNone) {
  int steps = 0;
  for (StridedIterator<1> it(Sizes{}, {Strides{}}); !it.done(); it.Next()) ++steps;
  EXPECT_EQ(steps, 1);
  for (StridedIterator<1> it(Sizes{2, 0}, {Strides{1, 1}}); !it.done(); it.Next()) ++steps;
  EXPECT_EQ(steps, 1);
}

TEST(ElementOffsetTest, AgreesWithTheIterator) {
  const TestTensor t = TestTensor::Zeros(DType::kUint8, {2, 1, 3, 2}, {1, 50, 4, 2});
  int64_t index = 0;
  for (StridedIterator<1> it(t.view().sizes, {t.view().strides}); !it.done(); it.Next()) {
    EXPECT_EQ(ElementOffset(t, index++), it.offset(0));
  }
}

TEST(CopyElementsTest, ChangesLayout) {
  std::vector<float> values(2 * 3 * 2 * 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TestTensor from = TestTensor::Of<float>({2, 3, 2, 2}, values);
  const TestTensor to = TestTensor::Dense<float>({2, 3, 2, 2}, ChannelsLastOrder(4),
                                                 std::vector<float>(values.size()));
  EXPECT_OK(CopyElements(from, to));
  EXPECT_EQ(ToVector<float>(to), values);
  EXPECT_EQ(to.view().as<float>()[1], 4.0f);
}

TEST(CopyElementsTest, RejectsDifferentSizes) {
  const TestTensor from = TestTensor::Zeros(DType::kFloat32, {2, 3});
  EXPECT_THAT(CopyElements(from, TestTensor::Zeros(DType::kFloat32, {3, 2})),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("sizes differ")));
  EXPECT_THAT(CopyElements(from, TestTensor::Zeros(DType::kInt64, {3})),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("sizes differ")));
}

TEST(CopyElementsTest, CopiesEveryElementSizeThroughStrides) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const TestTensor from = TestTensor::Zeros(dtype, {2, 3}, {1, 2});
    for (size_t b = 0; b < from.view().nbytes(); ++b) {
      from.view().as<uint8_t>()[b] = static_cast<uint8_t>(b + 1);
    }
    const TestTensor to = TestTensor::Zeros(dtype, {2, 3});
    ASSERT_OK(CopyElements(from, to));
    const size_t size = DTypeSize(dtype);
    for (int64_t e = 0; e < 6; ++e) {
      EXPECT_EQ(std::memcmp(from.view().as<uint8_t>() + ElementOffset(from, e) * size,
                            to.view().as<uint8_t>() + e * size, size),
                0)
          << DTypeName(dtype) << " " << e;
    }
  }
}

TEST(CopyElementsTest, ExpandedDimensionsRepeat) {
  const TestTensor from = TestTensor::Strided<int16_t>({2, 2}, {0, 1}, {5, 6, 5, 6});
  const TestTensor to = TestTensor::Zeros(DType::kInt16, {2, 2});
  EXPECT_OK(CopyElements(from, to));
  EXPECT_THAT(ToVector<int16_t>(to), ElementsAre(5, 6, 5, 6));
}

TEST(CopyElementsTest, ConvertsBetweenAllTypes) {
  for (int i = 1; i < kNumDTypes; ++i) {
    for (int k = 1; k < kNumDTypes; ++k) {
      const DType a = static_cast<DType>(i), b = static_cast<DType>(k);
      if (a == DType::kComplex32 || b == DType::kComplex32) continue;
      // 1 is representable in every type.
      const TestTensor ones = TestTensor::Of<float>({2}, {1, 1});
      const TestTensor from = TestTensor::Zeros(a, {2});
      const TestTensor to = TestTensor::Zeros(b, {2});
      const TestTensor back = TestTensor::Zeros(DType::kFloat32, {2});
      ASSERT_OK(CopyElements(ones, from));
      ASSERT_OK(CopyElements(from, to));
      ASSERT_OK(CopyElements(to, back));
      EXPECT_THAT(ToVector<float>(back), ElementsAre(1, 1)) << DTypeName(a) << DTypeName(b);
    }
  }
}

TEST(CopyElementsTest, ReadsAnyNonzeroByteAsTrue) {
  uint8_t bytes[] = {0, 1, 2, 255};
  const TestTensor to = TestTensor::Zeros(DType::kInt32, {4});
  EXPECT_OK(CopyElements(TensorView::Contiguous(DType::kBool, {4}, bytes), to));
  EXPECT_THAT(ToVector<int32_t>(to), ElementsAre(0, 1, 1, 1));
}

TEST(CopyElementsTest, RejectsDifferentSizesAndComplex32Conversions) {
  const TestTensor a = TestTensor::Zeros(DType::kFloat32, {2, 3});
  EXPECT_THAT(CopyElements(a, TestTensor::Zeros(DType::kFloat32, {3, 2})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f32[2,3] to f32[3,2]")));
  const TestTensor c = TestTensor::Zeros(DType::kComplex32, {2, 3});
  EXPECT_THAT(CopyElements(a, c), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("no conversion from float32 to complex32")));
  EXPECT_THAT(CopyElements(c, a), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("no conversion from complex32 to float32")));
}

TEST(CopyElementsTest, ConvertsScalars) {
  const TestTensor from = TestTensor::Of<float>({}, {2.5});
  const TestTensor to = TestTensor::Zeros(DType::kInt64, {});
  ASSERT_OK(CopyElements(from, to));
  EXPECT_THAT(ToVector<int64_t>(to), ElementsAre(2));
}

TEST(CopyElementsTest, EmptyAndIdenticalCopiesAreFine) {
  TensorView none = TensorView::Contiguous(DType::kFloat32, {0, 3}, nullptr);
  EXPECT_OK(CopyElements(none, none));
  EXPECT_OK(CopyElements(none, TensorView::Contiguous(DType::kInt8, {0, 3}, nullptr)));
  const TestTensor t = TestTensor::Of<float>({2}, {1, 2});
  EXPECT_OK(CopyElements(t, t));
  EXPECT_THAT(ToVector<float>(t), ElementsAre(1, 2));
}

TEST(MayOverlapTest, ComparesTheSpansOfBytes) {
  uint8_t bytes[64] = {};
  const TensorView a = TensorView::Contiguous(DType::kFloat32, {4}, bytes);
  EXPECT_TRUE(MayOverlap(a, a));
  EXPECT_FALSE(MayOverlap(a, TensorView::Contiguous(DType::kFloat32, {4}, bytes + 16)));
  EXPECT_FALSE(MayOverlap(TensorView::Contiguous(DType::kFloat32, {4}, bytes + 16), a));
  EXPECT_TRUE(MayOverlap(a, TensorView::Contiguous(DType::kInt8, {1}, bytes + 15)));
  EXPECT_FALSE(MayOverlap(a, TensorView::Contiguous(DType::kInt8, {0}, bytes)));
  EXPECT_FALSE(MayOverlap(TensorView::Contiguous(DType::kInt8, {0}, bytes), a));
  TensorView strided = a;
  strided.strides = {3};
  EXPECT_TRUE(MayOverlap(strided, TensorView::Contiguous(DType::kInt8, {1}, bytes + 39)));
  EXPECT_FALSE(MayOverlap(strided, TensorView::Contiguous(DType::kInt8, {1}, bytes + 40)));
}

// The span exceeds 64 bits: in a step, a sum of steps, or its bytes.
TEST(MayOverlapTest, SpansBeyondMemoryMayOverlapAnything) {
  uint8_t bytes[64] = {};
  const TensorView far_away = TensorView::Contiguous(DType::kInt8, {1}, bytes + 63);
  const std::pair<Sizes, Strides> spans[] = {
      {{3}, {INT64_MIN}},
      {{2, 2, 2}, {INT64_MIN, INT64_MIN, 1}},
      {{2, 2}, {INT64_MIN, INT64_MAX}},
      {{2}, {INT64_MAX}},
  };
  for (const auto& [sizes, strides] : spans) {
    TensorView view = TensorView::Contiguous(DType::kFloat32, sizes, bytes);
    view.strides = strides;
    EXPECT_TRUE(MayOverlap(view, far_away)) << view.ToString();
    EXPECT_TRUE(MayOverlap(far_away, view)) << view.ToString();
  }
}

}  // namespace
}  // namespace belay
