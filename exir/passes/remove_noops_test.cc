#include "exir/passes/remove_noops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RemoveNoopsTest, RemovesCopyToTheSameType) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten._to_copy.default(%x, dtype=dtype:f32)
    %z: f32[2] = aten.relu.default(%y)
    return (%z user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  graph(%x: f32[2] user_input) {
    %z: f32[2] = aten.relu.default(%x)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveNoopsTest, RemovesSliceOfTheWhole) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[4,3] user_input) {
    %y: f32[4,3] = aten.slice_copy.Tensor(%x, 0, 0, 9223372036854775807)
    %z: f32[4,3] = aten.relu.default(%y)
    return (%z user_output)
  }
})",
                RemoveNoops().run, R"(program aten {
  graph(%x: f32[4,3] user_input) {
    %z: f32[4,3] = aten.relu.default(%x)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveNoopsTest, KeepsCopyToAnotherTypeAndReturnedCopies) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f16[2] = aten._to_copy.default(%x, dtype=dtype:f16)
    %z: f32[2] = aten._to_copy.default(%x, dtype=dtype:f32)
    return (%y user_output, %z user_output)
  }
})",
                  RemoveNoops().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
