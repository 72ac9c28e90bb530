#include "runtime/core/one_dtype_copy.h"

#include <cstdint>
#include <vector>

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(OneDTypeCopyTest, CopiesBetweenLayouts) {
  std::vector<float> from = {1, 2, 3, 4, 5, 6}, to(6);
  const TensorView source = TensorView::Contiguous(DType::kFloat32, {2, 3}, from.data());
  TensorView target = TensorView::Contiguous(DType::kFloat32, {2, 3}, to.data());
  target.strides = Strides({1, 2});
  ASSERT_OK(CopyElementsOfOneDType(source, target));
  EXPECT_EQ(to, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(OneDTypeCopyTest, KeepsBytesBetweenElements) {
  std::vector<float> from = {1, 0, 2, 0, 3}, to = {7, 7, 7, 7, 7};
  TensorView source = TensorView::Contiguous(DType::kFloat32, {3}, from.data());
  TensorView target = TensorView::Contiguous(DType::kFloat32, {3}, to.data());
  source.strides = target.strides = Strides({2});
  ASSERT_OK(CopyElementsOfOneDType(source, target));
  EXPECT_EQ(to, (std::vector<float>{1, 7, 2, 7, 3}));
}

TEST(OneDTypeCopyTest, RejectsInvalidDtype) {
  uint8_t bytes[4] = {};
  TensorView source = TensorView::Contiguous(DType(), {2}, bytes);
  TensorView target = TensorView::Contiguous(DType(), {2}, bytes + 2);
  source.strides = Strides({2});
  EXPECT_THAT(CopyElementsOfOneDType(source, target),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an invalid dtype")));
}

TEST(OneDTypeCopyTest, CopiesEveryElementSize) {
  for (const DType dtype :
       {DType::kBool, DType::kFloat16, DType::kInt32, DType::kInt64, DType::kComplex128}) {
    std::vector<uint8_t> from(4 * DTypeSize(dtype)), to(from.size());
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + 1);
    const TensorView source = TensorView::Contiguous(dtype, {2, 2}, from.data());
    const TensorView target = TensorView::Contiguous(dtype, {2, 2}, to.data());
    ASSERT_OK(CopyElementsOfOneDType(source, target));
    EXPECT_EQ(to, from) << DTypeName(dtype);
  }
}

TEST(OneDTypeCopyTest, EmptyTensorsCopyNothing) {
  const TensorView empty = TensorView::Contiguous(DType::kFloat32, {0, 3}, nullptr);
  EXPECT_OK(CopyElementsOfOneDType(empty, empty));
}

TEST(OneDTypeCopyTest, RejectsDifferentDtypesAndSizes) {
  std::vector<float> data(6);
  const TensorView floats = TensorView::Contiguous(DType::kFloat32, {2, 3}, data.data());
  const TensorView ints = TensorView::Contiguous(DType::kInt32, {2, 3}, data.data());
  const TensorView others = TensorView::Contiguous(DType::kFloat32, {3, 2}, data.data());
  for (const TensorView& other : {ints, others}) {
    EXPECT_THAT(CopyElementsOfOneDType(floats, other),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sizes or dtypes differ")));
  }
}

}  // namespace
}  // namespace belay
