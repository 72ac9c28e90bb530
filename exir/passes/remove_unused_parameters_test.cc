#include "exir/passes/remove_unused_parameters.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(RemoveUnusedParametersTest, ErasesUnusedParameter) {
  ExpectRewrite(R"(program aten {
  constants { state "a": f32[2]  state "b": f32[2] }
  graph(%a: f32[2] parameter "a", %b: f32[2] parameter "b", %x: f32[2] user_input) {
    %y: f32[2] = aten.mul.Tensor(%x, %b)
    return (%y user_output)
  }
})",
                RemoveUnusedParameters().run, R"(program aten {
  constants { state "b": f32[2] }
  graph(%b: f32[2] parameter "b", %x: f32[2] user_input) {
    %y: f32[2] = aten.mul.Tensor(%x, %b)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(RemoveUnusedParametersTest, KeepsUnusedBuffersAndReturnedParameters) {
  ExpectUnchanged(R"(program aten {
  constants { state "a": f32[2]  state "b": f32[2] }
  graph(%a: f32[2] parameter "a", %b: f32[2] buffer "b", %x: f32[2] user_input) {
    return (%a user_output)
  }
})",
                  RemoveUnusedParameters().run, PassTestOps());
}

}  // namespace
}  // namespace belay::exir
