#include "exir/passes/replace_view_ops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

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
    %z: f32[2,3] = custom.op.default(%y)
    return (%z user_output)
  }
})",
                  ReplaceViewOps().run, PassTestOps());
}

TEST(ReplaceViewOpsTest, ListsViewsWithoutCopyVariant) {
  constexpr OpDef kRows[] = {{.schema = "demo::front(Tensor(a) self) -> Tensor(a)"},
                             {.schema = "demo::back(Tensor(a) self) -> Tensor(a)"}};
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  ExpectPassError(
      R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = demo.front.default(%x)
    %b: f32[2] = demo.back.default(%a)
    return (%b user_output)
  }
})",
      ReplaceViewOps().run, absl::StatusCode::kUnimplemented,
      "view operators without a copying variant:\n  %a: f32[2] = demo.front.default(%x)\n"
      "  %b: f32[2] = demo.back.default(%a)",
      *ops);
}

}  // namespace
}  // namespace belay::exir
