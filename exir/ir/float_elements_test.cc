#include "exir/ir/float_elements.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FloatElementsTest, CopiesInRowMajorOrder) {
  const absl::StatusOr<ConstantTensor> rows = FloatConstant({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(rows);
  const absl::StatusOr<ConstantTensor> columns =
      ConstantTensor::Create(DType::kFloat32, {3, 2}, {1, 3}, 0, rows->storage());
  ASSERT_OK(columns);
  EXPECT_THAT(*FloatElements(*rows), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(*FloatElements(*columns), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(FloatElementsTest, EmptyConstantsHaveNone) {
  const absl::StatusOr<ConstantTensor> empty = FloatConstant({0, 3}, {});
  ASSERT_OK(empty);
  EXPECT_THAT(*FloatElements(*empty), IsEmpty());
}

}  // namespace
}  // namespace belay::exir
