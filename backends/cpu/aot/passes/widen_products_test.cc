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

// Conversions give memory formats only.
TEST(WidenProductsTest, AnInputInNoMemoryFormatBecomesContiguous) {
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

}  // namespace
}  // namespace belay::cpu
