#include "exir/ir/name_pattern.h"

#include <string>

#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(NamePatternTest, PatternsMatchWholeStrings) {
  EXPECT_TRUE(MatchesPattern("layers.*.mlp", "layers.0.mlp"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(MatchesPattern("?b", "ab"));
  EXPECT_FALSE(MatchesPattern("layers.*.mlp", "layers.0.mlp.up"));
  EXPECT_FALSE(MatchesPattern("?", ""));
  EXPECT_FALSE(MatchesPattern("a*b", "a"));
}

TEST(NamePatternTest, PatternsTakeQuadraticTimeAtMost) {
  const std::string text(4000, 'a');
  EXPECT_FALSE(MatchesPattern(std::string(100, '*') + "b", text));
  EXPECT_FALSE(MatchesPattern("*a*a*a*a*a*a*a*a*a*a*a*ab", text));
}

}  // namespace
}  // namespace belay::exir
