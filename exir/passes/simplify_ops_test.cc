#include "exir/passes/simplify_ops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(SimplifyOpsTest, AddsAndGathersSlices) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[5,4] user_input, %y: f32[4,5] user_input, %i: i64[7,1] user_input, %j: i64[1,7] user_input,
        %a: f32[7,4] user_input, %b: f32[4,7] user_input) {
    %e: i64[7,4] = edge.aten.expand_copy.default(%i, [7,4])
    %f: i64[4,7] = edge.aten.expand_copy.default(%j, [4,7])
    %s: f32[5,4] = edge.aten.scatter_add.default(%x, 0, %e, %a)
    %t: f32[4,5] = edge.aten.scatter_add.default(%y, -1, %f, %b)
    %g: f32[7,4] = edge.aten.gather.default(%x, 0, %e)
    %h: f32[4,7] = edge.aten.gather.default(%y, 1, %f)
    return (%s user_output, %t user_output, %g user_output, %h user_output)
  }
})",
                SimplifyOps().run, R"(program edge {
  graph(%x: f32[5,4] user_input, %y: f32[4,5] user_input, %i: i64[7,1] user_input, %j: i64[1,7] user_input,
        %a: f32[7,4] user_input, %b: f32[4,7] user_input) {
    %view_copy: i64[7] = edge.aten.view_copy.default(%i, [7])
    %s: f32[5,4] = edge.aten.index_put.default(%x, [%view_copy], %a, true)
    %view_copy_1: i64[7] = edge.aten.view_copy.default(%j, [7])
    %t: f32[4,5] = edge.aten.index_put.default(%y, [none,%view_copy_1], %b, true)
    %view_copy_2: i64[7] = edge.aten.view_copy.default(%i, [7])
    %g: f32[7,4] = edge.aten.index.Tensor(%x, [%view_copy_2])
    %view_copy_3: i64[7] = edge.aten.view_copy.default(%j, [7])
    %h: f32[4,7] = edge.aten.index.Tensor(%y, [none,%view_copy_3])
    return (%s user_output, %t user_output, %g user_output, %h user_output)
  }
})",
                PassTestOps());
}

// An index per element; fewer columns; more rows of the source; an expansion of `dim`; an unknown
// size; half precision.
TEST(SimplifyOpsTest, KeepsOtherIndices) {
  for (const char* program : {R"(program edge {
  graph(%x: f16[5,4] user_input, %i: i64[7,1] user_input, %a: f16[7,4] user_input) {
    %e: i64[7,4] = edge.aten.expand_copy.default(%i, [7,4])
    %s: f16[5,4] = edge.aten.scatter_add.default(%x, 0, %e, %a)
    return (%s user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[5,4] user_input, %i: i64[7,4] user_input, %a: f32[7,4] user_input) {
    %s: f32[5,4] = edge.aten.scatter_add.default(%x, 0, %i, %a)
    return (%s user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[5,4] user_input, %i: i64[7,1] user_input, %a: f32[7,3] user_input) {
    %e: i64[7,3] = edge.aten.expand_copy.default(%i, [7,3])
    %s: f32[5,4] = edge.aten.scatter_add.default(%x, 0, %e, %a)
    return (%s user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[5,4] user_input, %i: i64[7,1] user_input, %a: f32[8,4] user_input) {
    %e: i64[7,4] = edge.aten.expand_copy.default(%i, [7,4])
    %s: f32[5,4] = edge.aten.scatter_add.default(%x, 0, %e, %a)
    return (%s user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[5,4] user_input, %i: i64[1,4] user_input) {
    %e: i64[7,4] = edge.aten.expand_copy.default(%i, [7,4])
    %g: f32[7,4] = edge.aten.gather.default(%x, 0, %e)
    return (%g user_output)
  }
})",
                              R"(program edge {
  ranges { s0: [1, 9] }
  graph(%x: f32[5,4] user_input, %i: i64[s0,1] user_input) {
    %e: i64[s0,4] = edge.aten.expand_copy.default(%i, [-1,4])
    %g: f32[s0,4] = edge.aten.gather.default(%x, 0, %e)
    return (%g user_output)
  }
})"}) {
    ExpectUnchanged(program, SimplifyOps().run, PassTestOps());
  }
}

TEST(SimplifyOpsTest, TakesTheMaximumOfWholeImages) {
  ExpectRewrite(R"(program edge {
  ranges { s0: [1, 9] }
  graph(%x: f32[2,3,6,s0] user_input) {
    %y: f32[2,3,1,1], %i: i64[2,3,1,1] = edge.aten.adaptive_max_pool2d.default(%x, [1,1])
    return (%y user_output)
  }
})",
                SimplifyOps().run, R"(program edge {
  ranges { s0: [1, 9] }
  graph(%x: f32[2,3,6,s0] user_input) {
    %amax: f32[2,3,1,1] = edge.aten.amax.default(%x, [-1,-2], true)
    return (%amax user_output)
  }
})",
                PassTestOps());
  ExpectUnchanged(R"(program edge {
  graph(%x: f32[2,3,6,8] user_input) {
    %y: f32[2,3,1,1], %i: i64[2,3,1,1] = edge.aten.adaptive_max_pool2d.default(%x, [1,1])
    return (%y user_output, %i user_output)
  }
})",
                  SimplifyOps().run, PassTestOps());
}

TEST(SimplifyOpsTest, TakesExtremesWithoutTheirPositions) {
  ExpectRewrite(R"(program edge {
  ranges { s0: [1, 9] }
  graph(%x: f32[2,3,s0] user_input, %n: i8[4,5] user_input) {
    %y: f32[2,3], %i: i64[2,3] = edge.aten.max.dim(%x, -1, false)
    %z: i8[1,5], %j: i64[1,5] = edge.aten.min.dim(%n, 0, true)
    return (%y user_output, %z user_output)
  }
})",
                SimplifyOps().run, R"(program edge {
  ranges { s0: [1, 9] }
  graph(%x: f32[2,3,s0] user_input, %n: i8[4,5] user_input) {
    %amax: f32[2,3] = edge.aten.amax.default(%x, [-1], false)
    %amin: i8[1,5] = edge.aten.amin.default(%n, [0], true)
    return (%amax user_output, %amin user_output)
  }
})",
                PassTestOps());
  ExpectUnchanged(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %y: f32[2], %i: i64[2] = edge.aten.max.dim(%x, 1, false)
    return (%i user_output)
  }
})",
                  SimplifyOps().run, PassTestOps());
}

TEST(SimplifyOpsTest, PoolsEvenWindows) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[2,3,6,8] user_input, %v: f32[3,4,6,8] user_input) {
    %y: f32[2,3,2,8], %i: i64[2,3,2,8] = edge.aten.adaptive_max_pool2d.default(%x, [2,8])
    %z: f32[3,1,3,2], %j: i64[3,1,3,2] = edge.aten.adaptive_max_pool3d.default(%v, [1,3,2])
    return (%y user_output, %i user_output, %z user_output)
  }
})",
                SimplifyOps().run, R"(program edge {
  graph(%x: f32[2,3,6,8] user_input, %v: f32[3,4,6,8] user_input) {
    %y: f32[2,3,2,8], %i: i64[2,3,2,8] = edge.aten.max_pool2d_with_indices.default(%x, [3,1], [3,1], [0,0], [1,1], false)
    %z: f32[3,1,3,2], %j: i64[3,1,3,2] = edge.aten.max_pool3d_with_indices.default(%v, [4,2,4], [4,2,4], [0,0,0], [1,1,1], false)
    return (%y user_output, %i user_output, %z user_output)
  }
})",
                PassTestOps());
  ExpectUnchanged(R"(program edge {
  graph(%x: f32[2,3,7,8] user_input) {
    %y: f32[2,3,2,8], %i: i64[2,3,2,8] = edge.aten.adaptive_max_pool2d.default(%x, [2,8])
    return (%y user_output)
  }
})",
                  SimplifyOps().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
