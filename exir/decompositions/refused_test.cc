// Checks that the operators which docs/refused.md lists as unsupported cannot be lowered.
#include <fstream>
#include <regex>
#include <string>

#include "exir/decompositions/standard_decompositions.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RefusedTest, ListedOperatorsHaveNeitherKernelNorDecomposition) {
  const auto ops = CreateStandardOps().value();
  std::ifstream file("docs/refused.md");
  ASSERT_TRUE(file.good());
  const std::regex name("`(aten\\.[A-Za-z0-9_]+\\.[A-Za-z0-9_]+)`");
  int named = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `aten.")) continue;
    const std::string operators = line.substr(0, line.find(" | "));
    for (std::sregex_iterator it(operators.begin(), operators.end(), name), end; it != end; ++it) {
      ++named;
      const std::string op = (*it)[1];
      const OpOverload* known = ops->Find(op);
      if (known == nullptr) continue;
      EXPECT_FALSE(known->has_meta_kernel()) << op;
      EXPECT_EQ(StandardDecompositions().Find(known), nullptr) << op;
    }
  }
  EXPECT_GT(named, 15);
}

}  // namespace
}  // namespace belay::exir
