#include "exir/emit/remedy.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>

#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RemedyTest, NamesSubstitutesOfThePage) {
  EXPECT_EQ(RemedyFor("aten.linalg_eigvals.default"), "; use torch.linalg.eigh (docs/refused.md)");
  std::ifstream file("docs/refused.md");
  ASSERT_TRUE(file.good());
  const std::regex name("`(aten\\.[A-Za-z0-9_]+\\.[A-Za-z0-9_]+)`");
  int named = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `aten.")) continue;
    const std::string operators = line.substr(0, line.find(" | "));
    std::string page = line.substr(line.rfind(" | "));
    page.erase(std::remove(page.begin(), page.end(), '`'), page.end());
    for (std::sregex_iterator it(operators.begin(), operators.end(), name), end; it != end; ++it) {
      const std::string remedy = RemedyFor((*it)[1].str());
      if (remedy.empty()) continue;  // the page describes it in a sentence
      ++named;
      const std::string use = remedy.substr(6, remedy.find(" (docs") - 6);
      EXPECT_NE(page.find(use), std::string::npos) << (*it)[1] << remedy << page;
    }
  }
  EXPECT_GT(named, 10);
}

TEST(RemedyTest, OperatorsOfOtherLibrariesCanBeDefined) {
  EXPECT_EQ(RemedyFor("zoo.swish.default"), "; define it as examples/custom_operator does");
  EXPECT_EQ(RemedyFor("aten.no_such_operator.default"), "");
  EXPECT_EQ(RemedyFor("higher_order.cond"), "");
}

}  // namespace
}  // namespace belay::exir
