#include "backends/cpu/aot/passes/widen_products.h"

#include <string_view>

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectWidened(std::string_view before, std::string_view after) {
  exir::ExpectRewrite(before, WidenProducts().run, after, CpuPassTestOps());
}

TEST(WidenProductsTest, ComputesHalfPrecisionInFloat32) {
  ExpectWidened(R"(program edge {
  graph(%x: f16[2,3] user_input, %w: f16[3,4] user_input) {
    %y: f16[2,4] = edge.aten.mm.default(%x, %w)  handle=1
    return (%y user_output)
  }
})",
                R"(program edge {
  graph(%x: f16[2,3] user_input, %w: f16[3,4] user_input) {
    %wide: f32[2,3] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,1])  handle=1
    %wide_1: f32[3,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32, dim_order=[0,1])  handle=1
    %y_1: f32[2,4] = edge.aten.mm.default(%wide, %wide_1)  handle=1
    %y: f16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:f16, dim_order=[0,1])  handle=1
    return (%y user_output)
  }
})");
}

// Conversions return memory formats only.
TEST(WidenProductsTest, InputsWithoutMemoryFormatBecomeContiguous) {
  ExpectWidened(R"(program edge {
  graph(%x: f16[2,3,4]{strides=[1,8,2]} user_input, %w: f16[2,4,5]{strides=[0,5,1]} user_input) {
    %y: f16[2,3,5] = edge.aten.bmm.default(%x, %w)  handle=1
    return (%y user_output)
  }
})",
                R"(program edge {
  graph(%x: f16[2,3,4]{strides=[1,8,2]} user_input, %w: f16[2,4,5]{strides=[0,5,1]} user_input) {
    %wide: f32[2,3,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,1,2])  handle=1
    %wide_1: f32[2,4,5] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32, dim_order=[0,1,2])  handle=1
    %y_1: f32[2,3,5] = edge.aten.bmm.default(%wide, %wide_1)  handle=1
    %y: f16[2,3,5] = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:f16, dim_order=[0,1,2])  handle=1
    return (%y user_output)
  }
})");
}

TEST(WidenProductsTest, KeepsOtherDTypesAndOperators) {
  ExpectLeftAsItIs(R"(program edge {
  graph(%x: f32[2,3] user_input, %w: f32[3,4] user_input, %h: f16[2,3] user_input) {
    %y: f32[2,4] = edge.aten.mm.default(%x, %w)
    %z: f16[2,3] = edge.aten.relu.default(%h)
    return (%y user_output, %z user_output) } })",
                   WidenProducts().run);
}

// A value is widened once; arguments of other dtypes are unchanged.
TEST(WidenProductsTest, ConvertsEachValueOnce) {
  ExpectWidened(R"(program edge {
  graph(%x: bf16[3,3] user_input, %b: bf16[3] user_input) {
    %y: bf16[3,3] = edge.aten.addmm.default(%b, %x, %x)  handle=1
    %z: bf16[3,3] = edge.aten.addmm.default(%b, %y, %x)  handle=2
    return (%z user_output)
  }
})",
                R"(program edge {
  graph(%x: bf16[3,3] user_input, %b: bf16[3] user_input) {
    %wide: f32[3] = edge.dim_order_ops._to_dim_order_copy.default(%b, dtype=dtype:f32, dim_order=[0])  handle=1
    %wide_1: f32[3,3] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,1])  handle=1
    %y_1: f32[3,3] = edge.aten.addmm.default(%wide, %wide_1, %wide_1)  handle=1
    %y: bf16[3,3] = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:bf16, dim_order=[0,1])  handle=1
    %wide_2: f32[3,3] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, dim_order=[0,1])  handle=2
    %z_1: f32[3,3] = edge.aten.addmm.default(%wide, %wide_2, %wide_1)  handle=2
    %z: bf16[3,3] = edge.dim_order_ops._to_dim_order_copy.default(%z_1, dtype=dtype:bf16, dim_order=[0,1])  handle=2
    return (%z user_output)
  }
})");
}

// bfloat16 constants that are not matrices become float32 constants; matrices keep dtype and
// layout.
TEST(WidenProductsTest, ConvolutionConstantsBecomeFloat32) {
  ExpectWidened(R"(program edge {
  constants { constant "w": f16[8,3,1,1] constant "b": f16[8] }
  graph(%w: f16[8,3,1,1] tensor_constant "w", %b: f16[8] tensor_constant "b",
        %x: f16[1,3,4,4]{strides=[48,1,12,3]} user_input) {
    %y: f16[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.convolution.default(%x, %w, %b, [1], [0], [1], false, [0], 1)  handle=1
    return (%y user_output)
  }
})",
                R"(program edge {
  constants { constant "b_f32_0": f32[8] constant "w_f32_0": f32[8,3,1,1] }
  graph(%w_f32_0: f32[8,3,1,1] tensor_constant "w_f32_0", %b_f32_0: f32[8] tensor_constant "b_f32_0",
        %x: f16[1,3,4,4]{strides=[48,1,12,3]} user_input) {
    %wide: f32[1,3,4,4]{strides=[48,1,12,3]} = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,2,3,1])  handle=1
    %y_1: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.convolution.default(%wide, %w_f32_0, %b_f32_0, [1], [0], [1], false, [0], 1)  handle=1
    %y: f16[1,8,4,4]{strides=[128,1,32,8]} = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:f16, dim_order=[0,2,3,1])  handle=1
    return (%y user_output)
  }
})");
}

}  // namespace
}  // namespace belay::cpu
