#include "runtime/core/random.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(RandomTest, NumbersArePortable) {
  Random random(0);
  EXPECT_EQ(random.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(random.Next(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(Random(7, 3).Next(), Random(7, 3).Next());
  EXPECT_NE(Random(7, 3).Next(), Random(7, 4).Next());
}

TEST(RandomTest, ChoicesAreInRange) {
  Random random(1);
  EXPECT_EQ(random.Below(0), 0u);
  EXPECT_EQ(random.Below(1), 0u);
  int yes = 0;
  const std::vector<int> items = {3, 5};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LT(random.Below(7), 7u);
    EXPECT_EQ(random.Pick(items) % 2, 1);
    EXPECT_FALSE(random.Chance(0));
    EXPECT_TRUE(random.Chance(100));
    yes += random.Chance(25) ? 1 : 0;
  }
  EXPECT_GT(yes, 150);
  EXPECT_LT(yes, 350);
}

TEST(RandomTest, BytesAreTheFirstSmallChoices) {
  const std::string bytes = "\x05\xff\x07";
  Random random(bytes);
  EXPECT_EQ(random.Below(10), 5u);
  EXPECT_LT(random.Below(1000), 1000u);  // too large for a byte: consumes none
  EXPECT_EQ(random.Below(256), 255u);
  EXPECT_TRUE(random.Chance(8));
  Random rest(""), other(0);
  EXPECT_EQ(rest.Next(), other.Next());
}

}  // namespace
}  // namespace belay
