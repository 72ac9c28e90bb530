#include "tools/belay/nearest_name.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace belay::tools {
namespace {

TEST(NearestNameTest, FindsSimilarName) {
  const std::vector<std::string> names = {"--input", "--output", "--output-dir", "--seed"};
  EXPECT_EQ(NearestName("--inputs", names), "--input");
  EXPECT_EQ(NearestName("--ouptut", names), "--output");
  EXPECT_EQ(NearestName("--outputdir", names), "--output-dir");
  EXPECT_EQ(NearestName("--sede", names), "--seed");
}

TEST(NearestNameTest, NoSuggestionForDissimilarNames) {
  EXPECT_EQ(NearestName("fly", {"lower", "run"}), "");
  EXPECT_EQ(NearestName("", {"lower", "run"}), "");
  EXPECT_EQ(NearestName("ru", {}), "");
  EXPECT_EQ(NearestName(std::string(200, 'a'), {std::string(199, 'a')}), "");
  EXPECT_EQ(NearestName(std::string(200, 'a'), {"b", std::string(200, 'a')}),
            std::string(200, 'a'));
}

TEST(NearestNameTest, ReturnsFirstOfEquallySimilarNames) {
  EXPECT_EQ(NearestName("runs", {"rung", "run", "rune"}), "rung");
}

}  // namespace
}  // namespace belay::tools
