#include "runtime/kernels/element_copy/copy_strided.h"

#include <cstdint>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/kernels/element_copy/convert_run.h"

namespace belay {
namespace {

using ::testing::ElementsAre;

// Returns the elements of `t` from the k-th on, with these sizes and strides.
TensorView PartOf(const TensorView& t, int64_t k, const Sizes& sizes, const Strides& strides) {
  TensorView part = t;
  part.sizes = sizes;
  part.strides = strides;
  part.data = t.as<float>() + k;
  return part;
}

// If both tensors are contiguous, as with a temporary copy of the source; otherwise as
// CopyElements.
TEST(CopyStridedTest, OverlappingTensors) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const TestTensor up = TestTensor::Of<float>({6}, numbers);
  ASSERT_OK(CopyStrided(PartOf(up, 0, {4}, {1}), PartOf(up, 1, {4}, {1})));
  EXPECT_THAT(ToVector<float>(up.view()), ElementsAre(1, 1, 2, 3, 4, 6));
  const TestTensor apart = TestTensor::Of<float>({6}, numbers),
                   whole = TestTensor::Of<float>({6}, numbers);
  ASSERT_OK(CopyStrided(PartOf(apart, 0, {3}, {2}), PartOf(apart, 1, {3}, {2})));
  ASSERT_OK(CopyElements(PartOf(whole, 0, {3}, {2}), PartOf(whole, 1, {3}, {2})));
  EXPECT_EQ(ToVector<float>(apart.view()), ToVector<float>(whole.view()));
}

TEST(CopyStridedTest, RejectsSizesAndDtypesThatDiffer) {
  const TestTensor a = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                   b = TestTensor::Zeros(DType::kFloat32, {3, 2}),
                   c = TestTensor::Zeros(DType::kComplex32, {2, 3});
  EXPECT_EQ(CopyStrided(a, b).ToString(), CopyElements(a, b).ToString());
  EXPECT_FALSE(CopyStrided(a, b).ok());
  EXPECT_EQ(CopyStrided(a, c).ToString(), CopyElements(a, c).ToString());
  EXPECT_FALSE(CopyStrided(a, c).ok());
}

TEST(ConvertRunTest, InPlaceIdentityKeepsElements) {
  uint8_t bytes[] = {0, 1, 2, 255};
  ConvertRun(DType::kUint8, bytes, DType::kUint8, bytes, 4);
  ConvertRun(DType::kUint8, bytes, DType::kInt8, bytes, 4);
  EXPECT_THAT(bytes, ElementsAre(0, 1, 2, 255));
  ConvertRun(DType::kUint8, bytes, DType::kBool, bytes, 4);
  EXPECT_THAT(bytes, ElementsAre(0, 1, 1, 1));
}

}  // namespace
}  // namespace belay
