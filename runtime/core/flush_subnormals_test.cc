#include "runtime/core/flush_subnormals.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace belay {
namespace {

constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
constexpr float kLeastNormal = std::numeric_limits<float>::min();

// At run time: the compiler does not know the values.
float Multiply(float a, float b) {
  const volatile float x = a, y = b;
  return x * y;
}

// Whether the CPU is one of those that flush.
#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool kFlushes = true;
#else
constexpr bool kFlushes = false;
#endif

TEST(FlushSubnormalsTest, OperandsAndResultsAreZerosOfTheSameSignInScope) {
  const FlushSubnormals flush;
  if (!kFlushes) GTEST_SKIP() << "this CPU has no control register";
  EXPECT_EQ(Multiply(-kSmallest, 1e30F), 0);
  EXPECT_TRUE(std::signbit(Multiply(-kSmallest, 1e30F)));
  EXPECT_EQ(Multiply(kLeastNormal, 0.5F), 0);
  EXPECT_EQ(Multiply(kLeastNormal, 2), 2 * kLeastNormal);
}

TEST(FlushSubnormalsTest, NestedScopesRestoreTheSetting) {
  {
    const FlushSubnormals outer;
    {
      const FlushSubnormals inner;
    }
    if (kFlushes) EXPECT_EQ(Multiply(kLeastNormal, 0.5F), 0);
  }
  EXPECT_EQ(Multiply(kLeastNormal, 0.5F), kLeastNormal / 2);
}

TEST(FlushSubnormalsTest, FalseLeavesTheSetting) {
  const FlushSubnormals keep(false);
  EXPECT_EQ(Multiply(kLeastNormal, 0.5F), kLeastNormal / 2);
}

}  // namespace
}  // namespace belay
