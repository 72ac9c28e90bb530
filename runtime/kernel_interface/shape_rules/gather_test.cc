#include "runtime/kernel_interface/shape_rules/gather.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::Status Search(TestArgument side, bool right) {
  return ReadStatus<SearchCall<K>>("sorted_sequence self out_int32 right side sorter",
                                   {Tensor({5}), Tensor({3}), false, right, side, None()});
}

TEST(SearchTest, SideMustAgreeWithRight) {
  EXPECT_OK(Search("left", false));
  EXPECT_OK(Search("right", false));
  EXPECT_OK(Search("right", true));
  EXPECT_OK(Search(None(), true));
  EXPECT_THAT(Search("left", true), StatusIs(kInvalid, HasSubstr("side 'left' contradicts")));
  EXPECT_THAT(Search("up", false), StatusIs(kInvalid, HasSubstr("side 'up' contradicts")));
  EXPECT_THAT(Search("up", true), StatusIs(kInvalid));
}

TEST(SearchTest, SideOverridesRight) {
  const TestCall call("sorted_sequence self out_int32 right side sorter",
                      {Tensor({5}), Tensor({3}), true, false, "right", None()});
  ASSERT_OK_AND_ASSIGN(const SearchCall<K> read, call.Read<SearchCall<K>>());
  EXPECT_TRUE(read.right);
  EXPECT_EQ(read.dtype, DType::kInt32);
}

TEST(SearchTest, ChecksShapesOfBoundariesAndSorter) {
  EXPECT_THAT(ReadStatus<SearchCall<K>>("self boundaries out_int32 right",
                                        {Tensor({3}), Tensor({2, 5}), false, false}),
              StatusIs(kInvalid, "bucketize: boundaries must be a vector"));
  const auto check = [](const Sizes& boundaries, const Sizes& sorter) {
    return CheckShapesOf<SearchCall<K>>(
        "sorted_sequence self out_int32 right side sorter",
        {Tensor(boundaries), Tensor({2, 3}), false, false, None(), Tensor(sorter, DType::kInt64)});
  };
  EXPECT_OK(check({2, 5}, {2, 5}));
  EXPECT_THAT(check({2, 5}, {5}), StatusIs(kInvalid, "sorter: expected shape [2,5], got [5]"));
  EXPECT_THAT(check({3, 5}, {3, 5}), StatusIs(kInvalid, HasSubstr("do not fit values")));
  EXPECT_THAT(
      ReadStatus<SearchCall<K>>("self boundaries out_int32 right",
                                {Tensor({3}), Tensor({5}, DType::kComplex64), false, false}),
      StatusIs(kInvalid, HasSubstr("boundaries of complex64")));
}

}  // namespace
}  // namespace belay
