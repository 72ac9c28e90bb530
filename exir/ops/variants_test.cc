// Tests of the standard operators that write, and their functional variants.
#include <string>
#include <vector>

#include "exir/op_definition/op_variants.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// Each variant maps to its functional overload and back, except operators without one.
TEST(VariantsTest, EveryVariantHasAFunctionalOne) {
  const std::unique_ptr<OpRegistry> ops = *CreateStandardOps();
  std::vector<std::string> without, not_back;
  size_t variants = 0;
  for (const OpOverload* op : ops->Known()) {
    const SchemaKind kind = KindOf(*op->schema());
    if (kind != SchemaKind::kInplace && kind != SchemaKind::kOut) continue;
    ++variants;
    const auto functional = ToVariant(*ops, op, SchemaKind::kFunctional);
    if (!functional.ok()) {
      without.push_back(op->name());
      continue;
    }
    const auto back = ToVariant(*ops, *functional, kind);
    if (!back.ok() || *back != op) not_back.push_back(op->name());
  }
  EXPECT_GT(variants, 600u);
  EXPECT_THAT(without, testing::ElementsAre("aten.embedding_renorm_.default",
                                            "aten.fill_diagonal_.default", "aten.normal_.default",
                                            "aten.polygamma_.default", "aten.resize_.default"));
  EXPECT_THAT(not_back, testing::ElementsAre());
}

}  // namespace
}  // namespace belay::exir
