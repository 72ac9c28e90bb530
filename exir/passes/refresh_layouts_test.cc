#include "exir/passes/refresh_layouts.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RefreshLayoutsTest, CopiesOfStridedViewsAreContiguous) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2]{strides=[1,3]} = aten.permute_copy.default(%x, [1,0])
    %y: f32[3,2]{strides=[1,3]} = aten.relu.default(%p)
    return (%y user_output)
  }
})",
                RefreshLayoutsPass().run, R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %p: f32[3,2] = aten.permute_copy.default(%x, [1,0])
    %y: f32[3,2] = aten.relu.default(%p)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(RefreshLayoutsTest, RejectsContradictingDeclaredType) {
  ExpectPassError(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f32[2,4] = aten.relu.default(%x)
    return (%y user_output)
  }
})",
                  RefreshLayoutsPass().run, absl::StatusCode::kInvalidArgument,
                  "declares 'y' as f32[2,4], its operator infers f32[2,3]", PassTestOps());
}

}  // namespace
}  // namespace belay::exir
