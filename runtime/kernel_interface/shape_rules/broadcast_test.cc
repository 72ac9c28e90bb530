#include "runtime/kernel_interface/shape_rules/broadcast.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Sizes> Broadcast(const Sizes& a, const Sizes& b) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        BroadcastShape<CheckedInt>(ToDims(a), ToDims(b)));
  return ToSizes(shape);
}

TEST(BroadcastShapeTest, AlignsAtTheLastDimension) {
  EXPECT_EQ(*Broadcast({2, 3}, {3}), Sizes({2, 3}));
  EXPECT_EQ(*Broadcast({3}, {2, 3}), Sizes({2, 3}));
  EXPECT_EQ(*Broadcast({}, {2, 3}), Sizes({2, 3}));
  EXPECT_EQ(*Broadcast({}, {}), Sizes());
}

TEST(BroadcastShapeTest, OneExpands) {
  EXPECT_EQ(*Broadcast({2, 1, 4}, {3, 1}), Sizes({2, 3, 4}));
  EXPECT_EQ(*Broadcast({0, 3}, {1, 3}), Sizes({0, 3}));
  EXPECT_EQ(*Broadcast({1}, {0}), Sizes({0}));
}

TEST(BroadcastShapeTest, ErrorsNameShapesAndDimension) {
  EXPECT_THAT(Broadcast({2, 3}, {4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("shapes [2,3] and [4] do not broadcast: sizes 3 and 4 at "
                                 "dimension 1")));
  EXPECT_THAT(Broadcast({0}, {2}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(BroadcastShapeTest, OverflowedSizesDoNotMatch) {
  const CheckedInt overflow = CheckedInt(INT64_MAX) + 1;
  EXPECT_THAT(BroadcastShape<CheckedInt>({overflow}, {overflow}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("overflow")));
}

TEST(BroadcastShapeTest, ToSizesRejectsHugeResults) {
  EXPECT_THAT(Broadcast({int64_t{1} << 40, 1}, {int64_t{1} << 40}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many elements")));
}

}  // namespace
}  // namespace belay
