#include "runtime/kernels/element_copy/copy_strided.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
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

// Rows with gaps in both tensors; the gaps of the target keep their bytes.
TEST(CopyStridedTest, RowsOfEveryLength) {
  constexpr int64_t kPlanes = 2, kRows = 3;
  std::vector<int64_t> lengths = {1023, 1024, 1025, 3000};
  for (int64_t n = 1; n <= 140; ++n) lengths.push_back(n);
  for (const int64_t length : lengths) {
    const int64_t from_row = length + 5, to_row = length + 3;
    std::vector<uint8_t> source(kPlanes * (kRows * from_row + 1)),
        target(kPlanes * (kRows * to_row + 2), 255);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i % 251);
    TensorView from, to;
    from.dtype = to.dtype = DType::kUint8;
    from.sizes = to.sizes = {kPlanes, kRows, length};
    from.strides = {kRows * from_row + 1, from_row, 1};
    to.strides = {kRows * to_row + 2, to_row, 1};
    from.data = source.data();
    to.data = target.data();
    std::vector<uint8_t> expected = target;
    for (int64_t i = 0; i < kPlanes * kRows * length; ++i) {
      const int64_t plane = i / (kRows * length), row = i / length % kRows, at = i % length;
      expected[plane * to.strides[0] + row * to_row + at] =
          source[plane * from.strides[0] + row * from_row + at];
    }
    ASSERT_OK(CopyStrided(from, to));
    EXPECT_EQ(target, expected) << length;
  }
}

// Two to four planes, and the inverse.
TEST(CopyStridedTest, InterleavedPlanes) {
  for (const DType dtype : {DType::kUint8, DType::kInt16, DType::kFloat32, DType::kFloat64}) {
    for (const int64_t planes : {2, 3, 4}) {
      for (const int64_t count : {1, 2, 7, 16, 33, 64, 131, 200}) {
        const TestTensor apart = TestTensor::Zeros(dtype, {planes, count}),
                         together = TestTensor::Zeros(dtype, {planes, count}, {1, planes}),
                         back = TestTensor::Zeros(dtype, {planes, count});
        auto* const bytes = static_cast<uint8_t*>(apart.view().data);
        for (size_t i = 0; i < apart.view().nbytes(); ++i) bytes[i] = static_cast<uint8_t>(i % 251);
        ASSERT_OK(CopyStrided(apart.view(), together.view()));
        const size_t size = DTypeSize(dtype);
        const auto* const pixels = static_cast<const uint8_t*>(together.view().data);
        for (int64_t i = 0; i < planes * count; ++i) {
          const int64_t plane = i / count, at = i % count * planes + plane;
          ASSERT_EQ(std::memcmp(pixels + static_cast<size_t>(at) * size,
                                bytes + static_cast<size_t>(i) * size, size),
                    0);
        }
        ASSERT_OK(CopyStrided(together.view(), back.view()));
        ASSERT_EQ(std::memcmp(back.view().data, bytes, back.view().nbytes()), 0);
      }
    }
  }
}

// Rows of a transposition that are some of the elements of each group of four. The last group ends
// with the last row, at the end of the memory.
TEST(CopyStridedTest, PlanesOfSomeElementsOfGroups) {
  for (const DType dtype : {DType::kUint8, DType::kInt16, DType::kFloat32, DType::kFloat64}) {
    const size_t size = DTypeSize(dtype);
    for (const int64_t rows : {2, 3}) {
      for (const int64_t count : {1, 2, 16, 17, 64, 65, 131}) {
        std::vector<uint8_t> groups(static_cast<size_t>(4 * (count - 1) + rows) * size);
        for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<uint8_t>(i % 251);
        const TestTensor planes = TestTensor::Zeros(dtype, {rows, count});
        TensorView from = planes.view();
        from.strides = {1, 4};
        from.data = groups.data();
        ASSERT_OK(CopyStrided(from, planes.view()));
        const auto* const copied = static_cast<const uint8_t*>(planes.view().data);
        for (int64_t i = 0; i < rows * count; ++i) {
          const auto at = static_cast<size_t>(i % count * 4 + i / count);
          ASSERT_EQ(std::memcmp(copied + static_cast<size_t>(i) * size, &groups[at * size], size),
                    0);
        }
      }
    }
  }
}

TEST(CopyStridedTest, FloatsToComplex) {
  for (int64_t n : {0, 1, 3, 4, 17, 100}) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>(i) / 3 - 5);
    const TestTensor from = TestTensor::Of<float>({n}, numbers),
                     to = TestTensor::Zeros(DType::kComplex64, {n}),
                     expected = TestTensor::Zeros(DType::kComplex64, {n});
    ASSERT_OK(CopyStrided(from.view(), to.view()));
    ASSERT_OK(CopyElements(from.view(), expected.view()));
    if (n == 0) continue;
    EXPECT_EQ(std::memcmp(to.view().data, expected.view().data, to.view().nbytes()), 0) << n;
  }
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
