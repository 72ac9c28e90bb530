#include "exir/op_definition/op_table.h"

#include <memory>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
    {.schema = "aten::add.Tensor(Tensor self, Tensor other) -> Tensor"},
    {.schema = "aten::relu(Tensor self) -> Tensor"},
};
struct Row {
  std::string_view op;
  int number;
};
constexpr Row kRows[] = {
    {"aten.add.Tensor", 1}, {"aten.missing.default", 2}, {"higher_order.cond", 3}};
constexpr std::string_view kNames[] = {"aten.relu.default"};

TEST(OpTableTest, FindsTheRowOfAnOverloadInAnyDialect) {
  const std::unique_ptr<OpRegistry> ops = *OpRegistry::Create({kOps});
  const OpTable<Row> rows(*ops, kRows);
  const OpOverload* add = ops->Find("aten.add.Tensor");
  ASSERT_NE(rows.Find(add), nullptr);
  EXPECT_EQ(rows.Find(add)->number, 1);
  EXPECT_EQ(rows.Find(ops->ToEdge(add)), rows.Find(add));
  EXPECT_EQ(rows.Find(ops->Find("higher_order.cond"))->number, 3);
  EXPECT_EQ(rows.Find(ops->Find("aten.relu")), nullptr);
  // Opaque operators have no row, even if a row has their name.
  EXPECT_EQ(rows.Find(ops->FindOrOpaque("aten.missing.default")), nullptr);
}

TEST(OpTableTest, TableOfNamesIsASet) {
  const std::unique_ptr<OpRegistry> ops = *OpRegistry::Create({kOps});
  const OpTable<std::string_view> names(*ops, kNames);
  EXPECT_TRUE(names.contains(ops->Find("aten.relu")));
  EXPECT_FALSE(names.contains(ops->Find("aten.add.Tensor")));
}

}  // namespace
}  // namespace belay::exir
