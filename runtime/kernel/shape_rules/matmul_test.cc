#include "runtime/kernel/shape_rules/matmul.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

TEST(CheckUnrolledDimTest, IsOneOfTheBroadcastDimensions) {
  EXPECT_OK(CheckUnrolledDim(0, 4));
  EXPECT_OK(CheckUnrolledDim(3, 4));
  EXPECT_THAT(CheckUnrolledDim(4, 4), StatusIs(absl::StatusCode::kInvalidArgument,
                                               "unroll_dim: expected one of 4 dimensions, got 4"));
  EXPECT_THAT(CheckUnrolledDim(-1, 4), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay
