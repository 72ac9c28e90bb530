#include "exir/passes/to_edge_ops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ToEdgeOpsTest, RetargetsTensorOperatorsOnly) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %m: symint(2*s0) = _operator.mul(%n, 2)
    %y: f32[s0] = aten.relu.default(%x)
    return (%y user_output, %m user_output)
  }
})",
                ToEdgeOps().run, R"(program edge {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %m: symint(2*s0) = _operator.mul(%n, 2)
    %y: f32[s0] = edge.aten.relu.default(%x)
    return (%y user_output, %m user_output)
  }
})",
                PassTestOps());
}

TEST(ToEdgeOpsTest, KeepsEdgePrograms) {
  ExpectUnchanged(R"(program edge {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = edge.aten.relu.default(%x)
    return (%a user_output)
  }
})",
                  ToEdgeOps().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
