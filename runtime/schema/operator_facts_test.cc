#include "runtime/schema/operator_facts.h"

#include <string_view>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(OperatorFactsTest, MutatingOperatorsEndWithOneUnderscore) {
  for (const std::string_view name : {"aten.copy_.default", "copy_", "aten.index_put_.default"}) {
    EXPECT_TRUE(IsInPlaceOperator(name)) << name;
  }
  for (const std::string_view name :
       {"aten.copy.default", "copy", "aten.__and__.Scalar", "__or__", "aten.add.out_", ""}) {
    EXPECT_FALSE(IsInPlaceOperator(name)) << name;
  }
}

TEST(OperatorFactsTest, FindsEachRow) {
  for (const OperatorRow& row : OperatorRows()) EXPECT_EQ(&FactsOf(row.op), &row.facts) << row.op;
}

TEST(OperatorFactsTest, UnlistedOperatorHasDefaults) {
  for (const std::string_view op :
       {"aten.mm", "aten.mm.dtype", "aten.permute_copy.default", "my.op.default", "zzz", ""}) {
    const OperatorFacts& facts = FactsOf(op);
    EXPECT_EQ(facts.output_over, OutputOverArgument::kNever) << op;
    EXPECT_EQ(facts.work.kind, WorkRule::Kind::kElements) << op;
    EXPECT_EQ(facts.work.factor, 1) << op;
    EXPECT_EQ(facts.flops.kind, FlopRule::Kind::kNone) << op;
  }
}

}  // namespace
}  // namespace belay
