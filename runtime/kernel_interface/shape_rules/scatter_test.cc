#include "runtime/kernel_interface/shape_rules/scatter.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(ScatterReductionTest, ParsesNamesOfEachOperator) {
  EXPECT_EQ(*ScatterReductionOf("add"), ScatterReduction::kSum);
  EXPECT_EQ(*ScatterReductionOf("multiply"), ScatterReduction::kProduct);
  EXPECT_THAT(ScatterReductionOf("sum"),
              StatusIs(kInvalid, "scatter: reduce must be 'add' or 'multiply', got 'sum'"));
  constexpr DType kF32 = DType::kFloat32;
  EXPECT_EQ(*ScatterReductionOf("sum", kF32), ScatterReduction::kSum);
  EXPECT_EQ(*ScatterReductionOf("prod", kF32), ScatterReduction::kProduct);
  EXPECT_EQ(*ScatterReductionOf("amax", kF32), ScatterReduction::kMaximum);
  EXPECT_EQ(*ScatterReductionOf("amin", kF32), ScatterReduction::kMinimum);
  EXPECT_EQ(*ScatterReductionOf("mean", kF32), ScatterReduction::kMean);
  EXPECT_THAT(ScatterReductionOf("add", kF32), StatusIs(kInvalid, HasSubstr("got 'add'")));
  EXPECT_THAT(ScatterReductionOf("mean", DType::kBool),
              StatusIs(kInvalid, "scatter_reduce: booleans have no mean"));
}

TEST(IndexFillTest, ValueHasRankZero) {
  EXPECT_THAT(
      (ReadStatus<IndexFillCall<K, true>>(
          "self dim index value", {Tensor({3}), 0, Tensor({2}, DType::kInt64), Tensor({1})})),
      StatusIs(kInvalid, "index_fill: value must be a scalar, got one of rank 1"));
}

}  // namespace
}  // namespace belay
