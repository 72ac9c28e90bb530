#include "exir/passes/dim_order_ops.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(DimOrderOpsTest, CloneNamesTheInputsOrder) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
    %y: f32[1,2,3,4]{strides=[24,1,8,2]} = aten.clone.default(%x)
    %z: f32[1,2,3,4] = aten.clone.default(%x, memory_format=format:contiguous)
    return (%y user_output, %z user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
    %y: f32[1,2,3,4]{strides=[24,1,8,2]} = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,2,3,1])
    %z: f32[1,2,3,4] = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1,2,3])
    return (%y user_output, %z user_output)
  }
})",
                PassTestOps());
}

TEST(DimOrderOpsTest, AnOrderThatNoFormatHasIsThatOfTheInput) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3]{strides=[1,2]} user_input) {
    %y: f32[2,3]{strides=[1,2]} = aten.clone.default(%x)
    return (%y user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[2,3]{strides=[1,2]} user_input) {
    %y: f32[2,3]{strides=[1,2]} = dim_order_ops._clone_dim_order.default(%x)
    return (%y user_output)
  }
})",
                PassTestOps());
}

// A dimension of one element may have any stride; the order that the operator names has one.
TEST(DimOrderOpsTest, TheResultHasTheStridesOfTheNamedOrder) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,1,4,4]{strides=[16,1,4,1]} user_input) {
    %y: f32[2,1,4,4]{strides=[16,1,4,1],grad} = aten.clone.default(%x, memory_format=format:contiguous)
    %z: f16[2,1,4,4] = aten._to_copy.default(%x, dtype=dtype:f16, memory_format=format:channels_last)
    return (%y user_output, %z user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[2,1,4,4]{strides=[16,1,4,1]} user_input) {
    %y: f32[2,1,4,4]{grad} = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1,2,3])
    %z: f16[2,1,4,4]{strides=[16,1,4,1]} = dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f16, dim_order=[0,2,3,1])
    return (%y user_output, %z user_output)
  }
})",
                PassTestOps());
}

TEST(DimOrderOpsTest, ToCopyKeepsItsDType) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f16[2,3] = aten._to_copy.default(%x, dtype=dtype:f16)
    return (%y user_output)
  }
})",
                ReplaceMemoryFormatOps().run, R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f16[2,3] = dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f16, dim_order=[0,1])
    return (%y user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
