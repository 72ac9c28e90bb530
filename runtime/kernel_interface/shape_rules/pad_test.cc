#include "runtime/kernel_interface/shape_rules/pad.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(PadTest, CropsAtMostTheSize) {
  const auto padded = [](const Sizes& sizes, const Sizes& before, const Sizes& after) {
    return PaddedShape<D>("pad", ToDims(sizes), {ToDims(before), ToDims(after)});
  };
  EXPECT_EQ(*ToSizes(*padded({3}, {-1}, {-2})), Sizes({0}));
  EXPECT_EQ(*ToSizes(*padded({3}, {2}, {-3})), Sizes({2}));
  EXPECT_THAT(padded({3}, {-2}, {-2}),
              StatusIs(kInvalid, "pad: padding (-2, -2) leaves nothing of size 3"));
  // The result is not empty, but contains nothing of the tensor.
  EXPECT_THAT(padded({3}, {5}, {-4}), StatusIs(kInvalid, HasSubstr("leaves nothing of size 3")));
  EXPECT_THAT(padded({3}, {-4}, {5}), StatusIs(kInvalid, HasSubstr("leaves nothing of size 3")));
}

TEST(PadTest, MirroredPadKeepsElements) {
  const auto mirrored = [](PadMode mode, const Sizes& sizes, const Sizes& before,
                           const Sizes& after) {
    return MirroredShape<D>("pad", mode, ToDims(sizes), 2, {ToDims(before), ToDims(after)});
  };
  constexpr PadMode kReflect = PadMode::kReflect, kReplicate = PadMode::kReplicate;
  EXPECT_EQ(*ToSizes(*mirrored(kReplicate, {2, 3, 4}, {0, 5, 0}, {0, 0, 0})), Sizes({2, 8, 4}));
  EXPECT_THAT(mirrored(kReflect, {2, 3, 4}, {0, 3, 0}, {0, 0, 0}),
              StatusIs(kInvalid, HasSubstr("must be less than size 3 of dimension 1")));
  EXPECT_THAT(mirrored(kReflect, {2, 3, 4}, {0, 0, 0}, {0, 0, 4}),
              StatusIs(kInvalid, HasSubstr("must be less than size 4 of dimension 2")));
  // One size may become zero, but not both, and none negative.
  EXPECT_EQ(*ToSizes(*mirrored(kReplicate, {2, 3, 4}, {0, -3, 0}, {0, 0, 0})), Sizes({2, 0, 4}));
  EXPECT_EQ(*ToSizes(*mirrored(kReplicate, {2, 3, 4}, {0, 0, -4}, {0, 0, 0})), Sizes({2, 3, 0}));
  EXPECT_THAT(mirrored(kReplicate, {2, 3, 4}, {0, -3, -4}, {0, 0, 0}),
              StatusIs(kInvalid, "pad: dimension 2 of size 4 would get size 0"));
  EXPECT_THAT(mirrored(kReplicate, {2, 3, 4}, {0, -4, 0}, {0, 0, 0}),
              StatusIs(kInvalid, "pad: dimension 1 of size 3 would get size -1"));
  EXPECT_THAT(mirrored(kReplicate, {3, 4}, {0, 0}, {0, 0}),
              StatusIs(kInvalid, HasSubstr("expected rank 3 or 4")));
}

}  // namespace
}  // namespace belay
