#include "runtime/core/testing.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusMatchersTest, MatchStatusesAndStatusOrs) {
  EXPECT_OK(absl::OkStatus());
  EXPECT_OK(absl::StatusOr<int>(3));
  EXPECT_THAT(absl::InternalError("why"), Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(absl::InternalError("why not")),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not")));
  EXPECT_THAT(absl::InternalError("why"), Not(StatusIs(absl::StatusCode::kInternal, "other")));
  EXPECT_THAT(absl::InternalError("why"), Not(StatusIs(absl::StatusCode::kAborted)));
}

TEST(TestTensorTest, ValuesAreInRowMajorOrderInAnyLayout) {
  const TestTensor contiguous = TestTensor::Of<Half>({2, 2}, {1, 2, 3, 4.5});
  EXPECT_THAT(ToVector<Half>(contiguous), ElementsAre(1, 2, 3, 4.5));
  const TestTensor transposed = TestTensor::Dense<bool>({2, 2}, {1, 0}, {true, false, true, true});
  EXPECT_THAT(ToVector<bool>(transposed), ElementsAre(true, false, true, true));
  EXPECT_FALSE(transposed.view().as<bool>()[2]);
  const TestTensor gaps = TestTensor::Strided<float>({2}, {3}, {1, 2});
  EXPECT_THAT(ToVector<float>(gaps), ElementsAre(1, 2));
  EXPECT_EQ(gaps.view().as<float>()[3], 2);
}

TEST(TestTensorTest, EmptyTensorsHaveNoMemory) {
  EXPECT_EQ(TestTensor::Zeros(DType::kFloat32, {0, 4}).view().data, nullptr);
}

}  // namespace
}  // namespace belay
