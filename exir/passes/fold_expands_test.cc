#include "exir/passes/fold_expands.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(FoldExpandsTest, FoldsIntoPointwiseOperators) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[2,3] user_input, %n: f32[2,1] user_input) {
    %e: f32[2,3] = edge.aten.expand_copy.default(%n, [2,3])
    %y: f32[2,3] = edge.aten.div.Tensor(%x, %e)
    %z: f32[2,3] = edge.aten.mul.Tensor(%e, %y)
    return (%z user_output)
  }
})",
                FoldExpands().run, R"(program edge {
  graph(%x: f32[2,3] user_input, %n: f32[2,1] user_input) {
    %y: f32[2,3] = edge.aten.div.Tensor(%x, %n)
    %z: f32[2,3] = edge.aten.mul.Tensor(%n, %y)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(FoldExpandsTest, KeepsExpandsWithOtherUsers) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[2,3] user_input, %n: f32[3] user_input) {
    %e: f32[2,3] = edge.aten.expand_copy.default(%n, [2,3])
    %y: f32[2,3] = edge.aten.add.Tensor(%x, %e)
    return (%y user_output, %e user_output)
  }
})",
                FoldExpands().run, R"(program edge {
  graph(%x: f32[2,3] user_input, %n: f32[3] user_input) {
    %e: f32[2,3] = edge.aten.expand_copy.default(%n, [2,3])
    %y: f32[2,3] = edge.aten.add.Tensor(%x, %n)
    return (%y user_output, %e user_output)
  }
})",
                PassTestOps());
}

// No other operand has the result's sizes, or its dtype; the user is not pointwise.
TEST(FoldExpandsTest, LeavesOtherUsers) {
  for (const char* program : {R"(program edge {
  graph(%n: f32[2,1] user_input) {
    %e: f32[2,3] = edge.aten.expand_copy.default(%n, [2,3])
    %y: f32[2,3] = edge.aten.relu.default(%e)
    return (%y user_output)
  }
})",
                              R"(program edge {
  graph(%m: f32[1,3] user_input, %n: f32[2,1] user_input) {
    %e: f32[2,3] = edge.aten.expand_copy.default(%n, [2,3])
    %y: f32[2,3] = edge.aten.add.Tensor(%m, %e)
    return (%y user_output)
  }
})",
                              R"(program edge {
  graph(%x: i64[2,3] user_input, %n: f32[2,1] user_input) {
    %e: f32[2,3] = edge.aten.expand_copy.default(%n, [2,3])
    %y: f32[2,3] = edge.aten.mul.Tensor(%x, %e)
    return (%y user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[3,3] user_input, %n: f32[1,3] user_input) {
    %e: f32[3,3] = edge.aten.expand_copy.default(%n, [3,3])
    %y: f32[3,3] = edge.aten.mm.default(%x, %e)
    return (%y user_output)
  }
})"}) {
    ExpectUnchanged(program, FoldExpands().run, PassTestOps());
  }
}

}  // namespace
}  // namespace belay::exir
