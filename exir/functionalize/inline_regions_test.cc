#include "exir/functionalize/inline_regions.h"

#include "exir/functionalize/autocast_rules.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

TEST(InlineRegionsTest, GradientModeLeavesItsBody) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)
    %z: f32[2] = aten.neg.default(%y)
    return (%z user_output)
  }
  graph submod_1(%a: f32[2]) {
    %r: f32[2] = aten.relu.default(%a)
    return (%r)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%x: f32[2] user_input) {
    %r: f32[2] = aten.relu.default(%x)
    %z: f32[2] = aten.neg.default(%r)
    return (%z user_output)
  }
})",
                Ops());
}

TEST(InlineRegionsTest, AutocastCastsOperandsOfItsOperators) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2,2] user_input, %d: f64[2] user_input) {
    %y: bf16[2,2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, true, none, graph#1, %x)
    return (%y user_output)
  }
  graph submod_1(%a: f32[2,2]) {
    %r: f32[2,2] = aten.relu.default(%a)
    %m: bf16[2,2] = aten.mm.default(%r, %a)
    return (%m)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%x: f32[2,2] user_input, %d: f64[2] user_input) {
    %r: f32[2,2] = aten.relu.default(%x)
    %_to_copy: bf16[2,2] = aten._to_copy.default(%r, dtype=dtype:bf16)
    %_to_copy_1: bf16[2,2] = aten._to_copy.default(%x, dtype=dtype:bf16)
    %m: bf16[2,2] = aten.mm.default(%_to_copy, %_to_copy_1)
    return (%m user_output)
  }
})",
                Ops());
}

TEST(InlineRegionsTest, AutocastReachesNestedRegionsAndBodies) {
  ExpectRewrite(R"(program training {
  graph(%p: b8[] user_input, %x: f32[2,2] user_input) {
    %y: bf16[2,2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, true, none, graph#1, %p, %x)
    return (%y user_output)
  }
  graph submod_1(%p: b8[], %a: f32[2,2]) {
    %n: f32[2,2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, false, none, graph#2, %a)
    %g: bf16[2,2] = higher_order.wrap_with_set_grad_enabled(true, graph#3, %n)
    %c: bf16[2,2] = higher_order.cond(%p, graph#4, graph#5, [%g])
    return (%c)
  }
  graph off(%a: f32[2,2]) {
    %m: f32[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph grad(%a: f32[2,2]) {
    %m: bf16[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph yes(%a: bf16[2,2]) {
    %m: bf16[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph no(%a: bf16[2,2]) {
    %t: bf16[] = aten.prod.default(%a)
    return (%a)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%p: b8[] user_input, %x: f32[2,2] user_input) {
    %m: f32[2,2] = aten.mm.default(%x, %x)
    %_to_copy: bf16[2,2] = aten._to_copy.default(%m, dtype=dtype:bf16)
    %_to_copy_1: bf16[2,2] = aten._to_copy.default(%m, dtype=dtype:bf16)
    %m_1: bf16[2,2] = aten.mm.default(%_to_copy, %_to_copy_1)
    %c: bf16[2,2] = higher_order.cond(%p, graph#1, graph#2, [%m_1])
    return (%c user_output)
  }
  graph yes(%a: bf16[2,2]) {
    %m: bf16[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph no(%a: bf16[2,2]) {
    %_to_copy: f32[2,2] = aten._to_copy.default(%a, dtype=dtype:f32)
    %t: bf16[] = aten.prod.default(%_to_copy)
    return (%a)
  }
})",
                Ops());
}

TEST(InlineRegionsTest, ProgramsWithoutRegionsStay) {
  ExpectUnchanged(R"(program training {
  graph(%x: f32[2] user_input) {
    %r: f32[2] = aten.relu.default(%x)
    return (%r user_output)
  }
})",
                  InlineRegions().run, Ops());
}

TEST(InlineRegionsTest, RefusesWrongArguments) {
  constexpr char kBody[] = R"(
    return (%y user_output)
  }
  graph submod_1(%a: f32[2], %b: f32[2]) {
    return (%a)
  }
})";
  const std::string head = "program training {\n  graph(%x: f32[2] user_input) {\n";
  ExpectPassError(
      head + "%y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)" + kBody,
      InlineRegions().run, absl::StatusCode::kInvalidArgument,
      "the region's body takes 2 operands, got 1", Ops());
  ExpectPassError(head + "%y: f32[2] = higher_order.wrap_with_autocast(graph#1, %x)" + kBody,
                  InlineRegions().run, absl::StatusCode::kInvalidArgument, "modes", Ops());
}

TEST(AutocastRuleTest, FollowsPyTorchsTable) {
  EXPECT_EQ(AutocastRuleOf("aten.linear.default"), AutocastRule::kLower);
  EXPECT_EQ(AutocastRuleOf("aten.conv2d.padding"), AutocastRule::kLower);
  EXPECT_EQ(AutocastRuleOf("aten.mse_loss.default"), AutocastRule::kFloat32);
  EXPECT_EQ(AutocastRuleOf("aten.cat.default"), AutocastRule::kWidest);
  EXPECT_EQ(AutocastRuleOf("aten.add.Tensor"), AutocastRule::kNone);
}

}  // namespace
}  // namespace belay::exir
