#include "runtime/kernel_interface/shape_rules/strided.h"

#include <cstdint>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

TEST(StridedTest, DimMaskRejectsRepeatedDims) {
  EXPECT_EQ(*DimMask({{0, -1}}, 3), 0b101u);
  EXPECT_THAT(DimMask({{0, 0}}, 3), StatusIs(kInvalid, "dim 0 appears more than once"));
  EXPECT_THAT(DimMask(absl::Span<const int64_t>({3}), 3), StatusIs(kRange));
}

TEST(StridedTest, KnownUnequalUsesOrder) {
  EXPECT_TRUE(KnownUnequal(D(2), D(3)));
  EXPECT_TRUE(KnownUnequal(D(3), D(2)));
  EXPECT_FALSE(KnownUnequal(D(3), D(3)));
  EXPECT_FALSE(KnownUnequal(Overflowed(), D(3)));
  EXPECT_EQ(MinOf(D(2), D(3)), D(2));
  EXPECT_EQ(MaxOf(D(2), D(3)), D(3));
  EXPECT_FALSE(MinOf(Overflowed(), D(3)).ok());
  EXPECT_FALSE(MaxOf(Overflowed(), D(3)).ok());
}

TEST(StridedTest, StridesCountEmptyDimensionsAsOnes) {
  EXPECT_EQ(*ToSizes(ContiguousStridesOf<D>(ToDims({2, 0, 3}))), Sizes({3, 3, 1}));
}

}  // namespace
}  // namespace belay
