#include "runtime/schema/in_place_operators.h"

#include <string_view>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(InPlaceOperatorsTest, MutatingOperatorsEndWithOneUnderscore) {
  for (const std::string_view name : {"aten.copy_.default", "copy_", "aten.index_put_.default"}) {
    EXPECT_TRUE(IsInPlaceOperator(name)) << name;
  }
  for (const std::string_view name :
       {"aten.copy.default", "copy", "aten.__and__.Scalar", "__or__", "aten.add.out_", ""}) {
    EXPECT_FALSE(IsInPlaceOperator(name)) << name;
  }
}

TEST(InPlaceOperatorsTest, ListedOperatorsAllowOverlay) {
  for (const std::string_view op : kElementwiseOperators) {
    EXPECT_EQ(OutputOverArgumentOf(op), OutputOverArgument::kElementwise) << op;
  }
  for (const std::string_view op : kSameBytesOperators) {
    EXPECT_EQ(OutputOverArgumentOf(op), OutputOverArgument::kSameBytes) << op;
  }
  for (const std::string_view op :
       {"aten.mm.default", "aten.add", "aten.permute_copy.default", ""}) {
    EXPECT_EQ(OutputOverArgumentOf(op), OutputOverArgument::kNever) << op;
  }
}

}  // namespace
}  // namespace belay
