#include "runtime/kernel_interface/shape_rules/pool.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

PoolParams Kernel(int64_t size) {
  const std::vector<int64_t> kernel = {size}, one = {1}, none = {0};
  return *MakePoolParams(kernel, {}, none, one, false, 1);
}

TEST(PoolTest, WindowsFitTheInput) {
  EXPECT_EQ(*ToSizes(*PoolShape<D>(ToDims({2, 8}), Kernel(4))), Sizes({2, 2}));
  EXPECT_THAT(PoolShape<D>(ToDims({2, 3}), Kernel(4)),
              StatusIs(kInvalid, HasSubstr("is too small for the kernel [4]")));
  EXPECT_FALSE((*PoolShape<D>({D(2), Overflowed()}, Kernel(4)))[1].ok());
}

TEST(PoolTest, RejectsNegativeAdaptiveSizes) {
  EXPECT_EQ(*ToSizes(*AdaptivePoolShape<D>(ToDims({2, 8}), ToDims({3}), 1)), Sizes({2, 3}));
  EXPECT_THAT(AdaptivePoolShape<D>(ToDims({2, 8}), Dims<D>{D(-1)}, 1),
              StatusIs(kInvalid, HasSubstr("expected numbers of at least 0")));
  EXPECT_FALSE((*AdaptivePoolShape<D>(ToDims({2, 8}), Dims<D>{Overflowed()}, 1))[1].ok());
}

TEST(PoolTest, RejectsZeroDivisor) {
  EXPECT_THAT((ReadStatus<AvgPoolCall<K, 2>>(
                  "self kernel_size stride padding ceil_mode count_include_pad divisor_override",
                  {Tensor({1, 8, 8}), Ints({2}), Ints({}), Ints({0}), false, true, 0})),
              StatusIs(kInvalid, "divisor_override: expected a number other than 0"));
}

}  // namespace
}  // namespace belay
