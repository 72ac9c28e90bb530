#include "exir/passes/scalar_to_tensor.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ScalarToTensorTest, LiteralsBecomeSharedConstants) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.add.Tensor(%x, 2.5)
    %b: f32[2] = aten.mul.Tensor(%a, 2.5)
    return (%b user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  constants { state "_lifted_tensor_constant0": f32[] }
  graph(%_lifted_tensor_constant0: f32[] buffer "_lifted_tensor_constant0", %x: f32[2] user_input) {
    %a: f32[2] = aten.add.Tensor(%x, %_lifted_tensor_constant0)
    %b: f32[2] = aten.mul.Tensor(%a, %_lifted_tensor_constant0)
    return (%b user_output)
  }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, SymbolicSizesBecomeScalarTensors) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %a: f32[s0] = aten.mul.Tensor(%x, %n)
    return (%a user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %scalar_tensor: i32[] = aten.scalar_tensor.default(%n, dtype=dtype:i32)
    %a: f32[s0] = aten.mul.Tensor(%x, %scalar_tensor)
    return (%a user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
