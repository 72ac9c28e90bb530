#include "exir/passes/fold_input_views.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(FoldInputViewsTest, FoldsPermutedViewsOfInputs) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[6,4] user_input) {
    %v: f32[2,3,4] = edge.aten.view_copy.default(%x, [2,3,4])
    %p: f32[3,4,2] = edge.aten.permute_copy.default(%v, [1,-1,0])
    return (%p user_output)
  }
})",
                FoldInputViews().run, R"(program edge {
  graph(%x: f32[6,4] user_input) {
    %p: f32[3,4,2] = edge.aten.as_strided_copy.default(%x, [3,4,2], [4,1,12])
    return (%p user_output)
  }
})",
                PassTestOps());
}

TEST(FoldInputViewsTest, KeepsViewsWithOtherUsers) {
  ExpectRewrite(R"(program edge {
  graph(%x: f32[6] user_input) {
    %v: f32[2,3] = edge.aten.view_copy.default(%x, [2,3])
    %p: f32[3,2] = edge.aten.permute_copy.default(%v, [1,0])
    return (%p user_output, %v user_output)
  }
})",
                FoldInputViews().run, R"(program edge {
  graph(%x: f32[6] user_input) {
    %v: f32[2,3] = edge.aten.view_copy.default(%x, [2,3])
    %p: f32[3,2] = edge.aten.as_strided_copy.default(%x, [3,2], [1,3])
    return (%p user_output, %v user_output)
  }
})",
                PassTestOps());
}

TEST(FoldInputViewsTest, KeepsViewsOfOtherValuesAndLayouts) {
  for (const char* program : {R"(program edge {
  graph(%x: f32[6] user_input) {
    %r: f32[6] = edge.aten.relu.default(%x)
    %v: f32[2,3] = edge.aten.view_copy.default(%r, [2,3])
    %p: f32[3,2] = edge.aten.permute_copy.default(%v, [1,0])
    return (%p user_output)
  }
})",
                              R"(program edge {
  graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
    %v: f32[24] = edge.aten.view_copy.default(%x, [24])
    %p: f32[24] = edge.aten.permute_copy.default(%v, [0])
    return (%p user_output)
  }
})"}) {
    ExpectUnchanged(program, FoldInputViews().run, PassTestOps());
  }
}

}  // namespace
}  // namespace belay::exir
