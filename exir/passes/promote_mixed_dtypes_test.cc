#include "exir/passes/promote_mixed_dtypes.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(PromoteMixedDtypesTest, CastsTheNarrowerOperand) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %y: f32[2] = aten.add.Tensor(%x, %n)
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %_to_copy: f32[2] = aten._to_copy.default(%n, dtype=dtype:f32)
    %y: f32[2] = aten.add.Tensor(%x, %_to_copy)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, WhatIsJoinedHasTheDtypeOfTheResult) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %y: f32[4] = aten.cat.default([%n,%x])
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %_to_copy: f32[2] = aten._to_copy.default(%n, dtype=dtype:f32)
    %y: f32[4] = aten.cat.default([%_to_copy,%x])
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, IntegersDivideAsFloats) {
  ExpectRewrite(R"(program aten {
  graph(%a: i64[2] user_input, %b: i64[2] user_input) {
    %y: f32[2] = aten.div.Tensor(%a, %b)
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%a: i64[2] user_input, %b: i64[2] user_input) {
    %_to_copy: f32[2] = aten._to_copy.default(%a, dtype=dtype:f32)
    %_to_copy_1: f32[2] = aten._to_copy.default(%b, dtype=dtype:f32)
    %y: f32[2] = aten.div.Tensor(%_to_copy, %_to_copy_1)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, TensorOfRankZeroDoesNotWiden) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %s: f64[] user_input) {
    %y: f32[2] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f32[2] user_input, %s: f64[] user_input) {
    %_to_copy: f32[] = aten._to_copy.default(%s, dtype=dtype:f32)
    %y: f32[2] = aten.mul.Tensor(%x, %_to_copy)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, KeepsEqualDTypes) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.add.Tensor(%x, %x)
    return (%y user_output)
  }
})",
                  PromoteMixedDtypes().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
