#include "executorch/format/portable_operators.h"

#include <string_view>

#include "gtest/gtest.h"

namespace belay::pte {
namespace {

using Result = PortableOperator::Result;

const PortableOperator& Op(std::string_view name) {
  const PortableOperator* op = FindPortable(name);
  EXPECT_NE(op, nullptr) << name;
  static const PortableOperator none;
  return op == nullptr ? none : *op;
}

TEST(PortableOperatorsTest, MatchesRuntimeAndItsLibraries) {
  size_t quantized = 0, llama = 0;
  for (const PortableOperator& op : PortableOperators()) {
    quantized += op.name.starts_with("quantized_decomposed::") ? 1 : 0;
    llama += op.name.starts_with("llama::") ? 1 : 0;
  }
  EXPECT_EQ(quantized, 19u);
  EXPECT_EQ(llama, 6u);
  EXPECT_EQ(PortableOperators().size() - quantized - llama, 240u);
  EXPECT_EQ(FindPortable("aten::prelu.out"), nullptr);
}

TEST(PortableOperatorsTest, NamesAreUniqueAndArgumentsNamed) {
  for (const PortableOperator& op : PortableOperators()) {
    EXPECT_EQ(FindPortable(op.name), &op) << op.name;
    EXPECT_FALSE(op.arguments[0].written && op.result == Result::kOut) << op.name;
    for (const PortableArgument& argument : op.arguments) {
      EXPECT_FALSE(argument.name.empty()) << op.name;
    }
  }
}

TEST(PortableOperatorsTest, FunctionalNamesFollowRuleOrRow) {
  EXPECT_EQ(Op("aten::relu.out").functional, "aten.relu.default");
  EXPECT_EQ(Op("aten::add.Scalar_out").functional, "aten.add.Scalar");
  EXPECT_EQ(Op("aten::add.out").functional, "aten.add.Tensor");
  EXPECT_EQ(Op("aten::copy_").functional, "aten.copy_.default");
  EXPECT_EQ(Op("aten::sum.IntList_out").functional, "aten.sum.dim_IntList");
  EXPECT_EQ(Op("dim_order_ops::_clone_dim_order.out").functional,
            "dim_order_ops._clone_dim_order.default");
  EXPECT_EQ(Op("executorch_prim::sym_max.Scalar").functional, "executorch_prim.sym_max.Scalar");
  EXPECT_EQ(Op("executorch_prim::mod.int").functional, "");
  for (const PortableOperator& op : PortableOperators()) {
    if (!op.functional.empty()) EXPECT_EQ(FindPortableOfFunctional(op.functional), &op) << op.name;
  }
  EXPECT_EQ(FindPortableOfFunctional("aten.prelu.default"), nullptr);
}

TEST(PortableOperatorsTest, ParsesArgumentKinds) {
  const PortableOperator& index = Op("aten::index_put.out");
  ASSERT_EQ(index.arguments.size(), 5u);
  EXPECT_EQ(index.arguments[1].name, "indices");
  EXPECT_TRUE(index.arguments[1].list && index.arguments[1].element_optional);
  EXPECT_FALSE(index.arguments[1].optional);
  EXPECT_EQ(index.arguments[3].kind, ArgumentKind::kBool);
  const PortableOperator& upsample = Op("aten::upsample_nearest2d.vec_out");
  EXPECT_TRUE(upsample.arguments[2].optional && upsample.arguments[2].list);
  EXPECT_EQ(upsample.arguments[2].kind, ArgumentKind::kFloat);
  EXPECT_EQ(Op("aten::gelu.out").arguments[1].kind, ArgumentKind::kString);
  EXPECT_EQ(Op("aten::mean.out").arguments[3].kind, ArgumentKind::kDtype);
  EXPECT_EQ(Op("aten::clone.out").arguments[1].kind, ArgumentKind::kMemoryFormat);
}

TEST(PortableOperatorsTest, ParsesResultKinds) {
  EXPECT_EQ(Op("aten::add.out").result, Result::kOut);
  EXPECT_EQ(Op("aten::add.out").outs, 1u);
  EXPECT_EQ(Op("aten::add.out").call_size(), 5u);
  EXPECT_EQ(Op("aten::max.dim_max").outs, 2u);
  EXPECT_EQ(Op("aten::split_copy.Tensor_out").outs, 1u);
  EXPECT_EQ(Op("aten::_native_batch_norm_legit.out").outs, 3u);
  EXPECT_EQ(Op("aten::copy_").result, Result::kSelf);
  EXPECT_EQ(Op("aten::copy_").call_size(), 4u);
  EXPECT_EQ(Op("aten::sym_size.int").result, Result::kValue);
  EXPECT_EQ(Op("aten::sym_size.int").call_size(), 3u);
  EXPECT_EQ(Op("executorch_prim::et_view.default").call_size(), 3u);
  EXPECT_EQ(Op("executorch_prim::et_copy_index.tensor").result, Result::kNone);
  EXPECT_EQ(Op("executorch_prim::et_copy_index.tensor").call_size(), 3u);
}

}  // namespace
}  // namespace belay::pte
