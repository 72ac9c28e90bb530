#include "exir/ir/problem_list.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr absl::StatusCode kCode = absl::StatusCode::kFailedPrecondition;

TEST(ProblemListTest, NoProblemsIsOk) {
  const ProblemList problems;
  EXPECT_EQ(problems.size(), 0);
  EXPECT_OK(problems.ToStatus(kCode, "heading"));
}

TEST(ProblemListTest, ListsTheFirstAndCountsAll) {
  ProblemList problems;
  problems.Add([] { return "input 'x'"; }, "it is 0");
  EXPECT_THAT(problems.ToStatus(kCode), StatusIs(kCode, "input 'x': it is 0"));
  EXPECT_THAT(problems.ToStatus(kCode, "wrong:"), StatusIs(kCode, "wrong:\n  input 'x': it is 0"));
  for (int i = 1; i < 123; ++i) {
    problems.Add([] { return "input 'x'"; }, absl::StrCat("it is ", i));
  }
  EXPECT_EQ(problems.size(), 123);
  const std::string message(problems.ToStatus(kCode).message());
  EXPECT_THAT(message, HasSubstr("it is 0\ninput 'x': it is 1\n"));
  EXPECT_THAT(message, EndsWith("it is 99\nand 23 more"));
  EXPECT_THAT(std::string(problems.ToStatus(kCode, "wrong:").message()),
              EndsWith("it is 99\n  and 23 more"));
}

TEST(ProblemListTest, ComputesSubjectsOnlyIfShown) {
  ProblemList problems;
  int asked = 0;
  for (int i = 0; i < 1000; ++i) problems.Add([&] { return absl::StrCat(++asked); }, "bad");
  EXPECT_EQ(asked, 100);
}

TEST(ProblemListTest, MessageSizeIsBounded) {
  // Gigabytes if they were kept.
  const std::string long_text(10 << 20, '\x1b');
  ProblemList problems;
  for (int i = 0; i < 100'000; ++i) problems.Add([&] { return long_text; }, long_text);
  const std::string message(problems.ToStatus(kCode).message());
  EXPECT_LT(message.size(), size_t{64} << 10);
  EXPECT_THAT(message, StartsWith("\\x1b\\x1b"));
  EXPECT_THAT(message, Not(HasSubstr("\x1b")));
  EXPECT_THAT(message, EndsWith(" more"));
}

TEST(ProblemListTest, ShortensBetweenCharacters) {
  EXPECT_EQ(Shortened("short"), "short");
  EXPECT_EQ(Shortened(std::string(400, 'a')), std::string(400, 'a'));
  EXPECT_EQ(Shortened(std::string(401, 'a')), std::string(400, 'a') + "…");
  std::string text = "a";
  for (int i = 0; i < 300; ++i) text += "ä";
  EXPECT_EQ(Shortened(text), text.substr(0, 399) + "…");
  EXPECT_EQ(Shortened(text, 0), "…");
  // No character has more than four bytes.
  EXPECT_EQ(Shortened(std::string(500, '\x80')), std::string(396, '\x80') + "…");
  EXPECT_EQ(Shortened(std::string(500, '\x80'), 2), "…");
}

TEST(ProblemListTest, UnimplementedErrorsHaveNodes) {
  ProblemList problems;
  problems.Add([] { return "input 'x'"; }, "it is a string");
  problems.Add([] { return "unknown operator zoo.f"; }, "2 times",
               [] {
                 return std::vector<RefusedNode>{{"", "a", "zoo.f", "m.py:3", "unknown"},
                                                 {"", "b", "zoo.f", std::string(5000, 'x'), ""}};
               });
  const std::vector<RefusedNode> nodes =
      RefusedNodesOf(problems.ToStatus(absl::StatusCode::kUnimplemented));
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_EQ(nodes[0], (RefusedNode{"", "input 'x'", "", "", "it is a string"}));
  EXPECT_EQ(nodes[1], (RefusedNode{"", "a", "zoo.f", "m.py:3", "unknown"}));
  EXPECT_EQ(nodes[2].reason, "2 times");
  EXPECT_LT(nodes[2].source.size(), 1010);
  EXPECT_TRUE(RefusedNodesOf(problems.ToStatus(kCode)).empty());
}

}  // namespace
}  // namespace belay::exir
