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

TEST(FoldExpandsTest, MultipliesAllRowsByARepeatedMatrix) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[6,2,4] user_input, %w: f32[1,1,4,5] user_input, %v: f32[4,5] user_input) {
    %e: f32[3,2,4,5] = edge.aten.expand_copy.default(%w, [3,2,4,5])
    %m: f32[6,4,5] = edge.aten.view_copy.default(%e, [6,4,5])
    %y: f32[6,2,5] = edge.aten.bmm.default(%x, %m)
    %f: f32[6,4,5] = edge.aten.expand_copy.default(%v, [6,4,5])
    %z: f32[6,2,5] = edge.aten.bmm.default(%x, %f)
    return (%y user_output, %z user_output)
  }
})",
                FoldExpands().run, R"(program edge {
  graph(%x: f32[6,2,4] user_input, %w: f32[1,1,4,5] user_input, %v: f32[4,5] user_input) {
    %view_copy: f32[12,4] = edge.aten.view_copy.default(%x, [12,4])
    %view_copy_1: f32[4,5] = edge.aten.view_copy.default(%w, [4,5])
    %mm: f32[12,5] = edge.aten.mm.default(%view_copy, %view_copy_1)
    %view_copy_2: f32[6,2,5] = edge.aten.view_copy.default(%mm, [6,2,5])
    %view_copy_3: f32[12,4] = edge.aten.view_copy.default(%x, [12,4])
    %view_copy_4: f32[4,5] = edge.aten.view_copy.default(%v, [4,5])
    %mm_1: f32[12,5] = edge.aten.mm.default(%view_copy_3, %view_copy_4)
    %view_copy_5: f32[6,2,5] = edge.aten.view_copy.default(%mm_1, [6,2,5])
    return (%view_copy_2 user_output, %view_copy_5 user_output)
  }
})",
                PassTestOps());
}

// Batches with different matrices, a view that splits the matrices, one batch, and an unknown size.
TEST(FoldExpandsTest, KeepsProductsOfOtherMatrices) {
  for (const char* program : {R"(program edge {
  graph(%x: f32[6,2,4] user_input, %w: f32[3,1,4,5] user_input) {
    %e: f32[3,2,4,5] = edge.aten.expand_copy.default(%w, [3,2,4,5])
    %m: f32[6,4,5] = edge.aten.view_copy.default(%e, [6,4,5])
    %y: f32[6,2,5] = edge.aten.bmm.default(%x, %m)
    return (%y user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[4,2,5] user_input, %w: f32[1,10,10] user_input) {
    %e: f32[4,10,10] = edge.aten.expand_copy.default(%w, [4,10,10])
    %m: f32[4,5,20] = edge.aten.view_copy.default(%e, [4,5,20])
    %y: f32[4,2,20] = edge.aten.bmm.default(%x, %m)
    return (%y user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[1,2,4] user_input, %w: f32[4,5] user_input) {
    %m: f32[1,4,5] = edge.aten.expand_copy.default(%w, [1,4,5])
    %y: f32[1,2,5] = edge.aten.bmm.default(%x, %m)
    return (%y user_output)
  }
})",
                              R"(program edge {
  ranges { s0: [1, 9] }
  graph(%x: f32[6,s0,4] user_input, %w: f32[1,4,5] user_input) {
    %m: f32[6,4,5] = edge.aten.expand_copy.default(%w, [6,4,5])
    %y: f32[6,s0,5] = edge.aten.bmm.default(%x, %m)
    return (%y user_output)
  }
})"}) {
    ExpectUnchanged(program, FoldExpands().run, PassTestOps());
  }
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
