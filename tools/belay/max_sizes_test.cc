#include "tools/belay/max_sizes.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(MaxSizesTest, OneValueIsForAllUnboundedSizes) {
  ASSERT_OK_AND_ASSIGN(const MaxSizes sizes, ParseMaxSizes({"64"}));
  EXPECT_EQ(sizes.unbounded, 64);
  EXPECT_TRUE(sizes.by_symbol.empty());
}

TEST(MaxSizesTest, SymbolsHaveTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const MaxSizes sizes, ParseMaxSizes({"s0=8", "64", "u1=3", "s0=9"}));
  EXPECT_EQ(sizes.unbounded, 64);
  EXPECT_THAT(sizes.by_symbol, ElementsAre(Pair("s0", 9), Pair("u1", 3)));
}

TEST(MaxSizesTest, RejectsOthers) {
  for (const std::string wrong : {"", "0", "-5", "x", "s0=", "s0=0", "=3", "s0=1.5", "s0=1=2"}) {
    EXPECT_THAT(ParseMaxSizes({wrong}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--max-size: expected VALUE or SYMBOL=VALUE")))
        << wrong;
  }
}

}  // namespace
}  // namespace belay::tools
