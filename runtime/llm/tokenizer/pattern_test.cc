#include "runtime/llm/tokenizer/pattern.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The ranges, with matches in brackets.
std::vector<std::string> Split(const absl::StatusOr<Pattern>& pattern, std::string_view text) {
  EXPECT_OK(pattern.status());
  const auto ranges = pattern->Split(text);
  EXPECT_OK(ranges.status());
  std::vector<std::string> parts;
  for (const TextRange& range : *ranges) {
    const std::string part(text.substr(range.begin, range.end - range.begin));
    parts.push_back(range.is_match ? "[" + part + "]" : part);
  }
  return parts;
}

TEST(PatternTest, SplitsAtStrings) {
  EXPECT_THAT(Split(Pattern::String("ab"), "ababcab"), ElementsAre("[ab]", "[ab]", "c", "[ab]"));
  EXPECT_THAT(Split(Pattern::String("."), "a"), ElementsAre("a"));
  EXPECT_THAT(Split(Pattern::String(""), "ab"), ElementsAre("ab"));
  EXPECT_THAT(Split(Pattern::String("a"), ""), ElementsAre());
}

TEST(PatternTest, SplitsAtRegularExpressions) {
  EXPECT_THAT(Split(Pattern::Regex(R"(\p{N}{1,3}|\s+(?!\S))"), "é1234  x"),
              ElementsAre("é", "[123]", "[4]", "[ ]", " x"));
  EXPECT_THAT(Split(Pattern::Regex("(?i:'S)"), "a's"), ElementsAre("a", "['s]"));
}

TEST(PatternTest, SkipsEmptyMatches) {
  EXPECT_THAT(Split(Pattern::Regex("b*"), "aébb"), ElementsAre("aé", "[bb]"));
}

TEST(PatternTest, ReplacesMatches) {
  EXPECT_EQ(*Pattern::Regex(" {2,}")->Replace("a  b c   ", "_"), "a_b c_");
}

TEST(PatternTest, RejectsIllFormedExpressions) {
  EXPECT_THAT(Pattern::Regex("(a"), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("expected a regular expression: ")));
  EXPECT_THAT(Pattern::Regex(std::string(20000, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 16384 bytes")));
}

}  // namespace
}  // namespace belay::llm
