#include "backends/cpu/aot/passes/assign_layouts.h"

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectAssigned(std::string_view before, std::string_view after) {
  exir::ExpectRewrite(before, AssignLayouts().run, after, CpuPassTestOps());
}

TEST(AssignLayouts, ImagesAreChannelsLastFromTheFirstConvolutionToTheResult) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[256] constant "v": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %v: f32[256] tensor_constant "v", %x: f32[1,8,4,4] user_input) {
      %a: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %r: f32[1,8,4,4] = edge.aten.abs.default(%a)
      %b: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%r, %v, none, %x, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%b user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[256] constant "v": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %v: f32[256] tensor_constant "v", %x: f32[1,8,4,4] user_input) {
      %channels_last: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,2,3,1])
      %a: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%channels_last, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %r: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.abs.default(%a)
      %b: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%r, %v, none, %channels_last, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %contiguous: f32[1,8,4,4] = edge.dim_order_ops._to_dim_order_copy.default(%b, dim_order=[0,1,2,3])
      return (%contiguous user_output) } })");
}

TEST(AssignLayouts, CopiesNothingThatLiesRight) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[2,8,1,1] user_input,
          %y: f32[1,8,4,4]{strides=[128,1,32,8]} user_input) {
      %a: f32[2,8,1,1] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %b: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%y, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%a user_output, %b user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[2,8,1,1] user_input,
          %y: f32[1,8,4,4]{strides=[128,1,32,8]} user_input) {
      %a: f32[2,8,1,1]{strides=[8,1,8,8]} = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %b: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%y, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%a user_output, %b user_output) } })");
}

TEST(AssignLayouts, ProductsGetRows) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[3,8]{strides=[1,3]} user_input) {
      %a: f32[3,8] = edge.aten.abs.default(%x)
      %b: f32[3,8] = backend.belay_cpu.linear.default(%a, %w, none, none, 8, "none", "add", -inf, inf)
      return (%b user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[3,8]{strides=[1,3]} user_input) {
      %a: f32[3,8]{strides=[1,3]} = edge.aten.abs.default(%x)
      %contiguous: f32[3,8] = edge.dim_order_ops._to_dim_order_copy.default(%a, dim_order=[0,1])
      %b: f32[3,8] = backend.belay_cpu.linear.default(%contiguous, %w, none, none, 8, "none", "add", -inf, inf)
      return (%b user_output) } })");
}

TEST(AssignLayouts, FewChannelsMayLieAnyhow) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[96] }
    graph(%w: f32[96] tensor_constant "w", %x: f32[1,3,4,4] user_input) {
      %a: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %m: f32[1,8] = edge.aten.mean.dim(%a, [2,3])
      return (%m user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[96] }
    graph(%w: f32[96] tensor_constant "w", %x: f32[1,3,4,4] user_input) {
      %a: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %m: f32[1,8] = edge.aten.mean.dim(%a, [2,3])
      return (%m user_output) } })");
}

TEST(AssignLayouts, QuantizedImagesAreChannelsLast) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": i8[128] constant "s": f32[8] constant "n": i32[8] }
    graph(%w: i8[128] tensor_constant "w", %s: f32[8] tensor_constant "s",
          %n: i32[8] tensor_constant "n", %x: u8[1,8,4,4] user_input) {
      %a: u8[1,8,4,4] = backend.belay_cpu.quantized_conv2d.default(%x, %w, %s, %n, none, 8, [1,1], [1,1], [0,0], [1,1], 3, "none", -inf, inf, none, [], 0.5, [3,0,255])
      %b: u8[1,8,4,4] = backend.belay_cpu.quantized_add.default(%x, %a, 0.5, 3, 0.5, 3, 0.25, [7,0,255])
      %m: u8[1,8,2,2] = backend.belay_cpu.max_pool2d.default(%b, [2,2], [2,2], [0,0], [1,1])
      return (%m user_output) } })",
                 R"(program edge {
    constants { constant "w": i8[128] constant "s": f32[8] constant "n": i32[8] }
    graph(%w: i8[128] tensor_constant "w", %s: f32[8] tensor_constant "s",
          %n: i32[8] tensor_constant "n", %x: u8[1,8,4,4] user_input) {
      %channels_last: u8[1,8,4,4]{strides=[128,1,32,8]} = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,2,3,1])
      %a: u8[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.quantized_conv2d.default(%channels_last, %w, %s, %n, none, 8, [1,1], [1,1], [0,0], [1,1], 3, "none", -inf, inf, none, [], 0.5, [3,0,255])
      %b: u8[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.quantized_add.default(%channels_last, %a, 0.5, 3, 0.5, 3, 0.25, [7,0,255])
      %m: u8[1,8,2,2]{strides=[32,1,16,8]} = backend.belay_cpu.max_pool2d.default(%b, [2,2], [2,2], [0,0], [1,1])
      %contiguous: u8[1,8,2,2] = edge.dim_order_ops._to_dim_order_copy.default(%m, dim_order=[0,1,2,3])
      return (%contiguous user_output) } })");
}

TEST(AssignLayouts, PermutationsAroundAttentionMoveNothing) {
  ExpectAssigned(R"(program edge {
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input) {
      %q: f32[2,4,5,8] = edge.aten.permute_copy.default(%x, [0,2,1,3])
      %a: f32[2,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false)
      %p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,1,3])
      return (%p user_output) } })",
                 R"(program edge {
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input) {
      %q: f32[2,4,5,8]{strides=[160,8,32,1]} = edge.aten.permute_copy.default(%x, [0,2,1,3])
      %a: f32[2,4,5,8]{strides=[160,8,32,1]} = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false)
      %p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,1,3])
      return (%p user_output) } })");
}

TEST(AssignLayouts, LeavesProgramsWithoutTheBackendsOperators) {
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[3,8]{strides=[1,3]} user_input) {
      %a: f32[3,8]{strides=[1,3]} = edge.aten.abs.default(%x)
      return (%a user_output) } })",
                        AssignLayouts().run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
