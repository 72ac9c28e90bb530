#include "exir/passes/replace_view_ops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ReplaceViewOpsTest, RetargetsViewsToCopies) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2]{strides=[1,3]} = aten.permute.default(%x, [1,0])
    %v: f32[6] = aten.view.default(%x, [6])
    return (%p user_output, %v user_output)
  }
})",
                ReplaceViewOps().run, R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2]{strides=[1,3]} = aten.permute_copy.default(%x, [1,0])
    %v: f32[6] = aten.view_copy.default(%x, [6])
    return (%p user_output, %v user_output)
  }
})",
                PassTestOps());
}

TEST(ReplaceViewOpsTest, KeepsOperatorsThatOwnTheirResult) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.relu.default(%x)
    return (%y user_output)
  }
})",
                  ReplaceViewOps().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
