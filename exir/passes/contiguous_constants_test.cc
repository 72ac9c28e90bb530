#include "exir/passes/contiguous_constants.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ContiguousConstantsTest, TransposedWeightIsCopied) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[2,3]{strides=[1,2]} }
  graph(%w: f32[2,3]{strides=[1,2]} parameter "w", %x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.mul.Tensor(%x, %w)
    return (%y user_output)
  }
})",
                ContiguousConstants().run, R"(program aten {
  constants { state "w": f32[2,3] }
  graph(%w: f32[2,3] parameter "w", %x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.mul.Tensor(%x, %w)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(ContiguousConstantsTest, ChannelsLastWeightStays) {
  ExpectUnchanged(R"(program aten {
  constants { state "w": f32[2,3,4,5]{strides=[60,1,15,3]} }
  graph(%w: f32[2,3,4,5]{strides=[60,1,15,3]} parameter "w") {
    return (%w user_output)
  }
})",
                  ContiguousConstants().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
