#include "backends/cpu/aot/passes/assign_layouts.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectAssigned(std::string_view before, std::string_view after) {
  exir::ExpectRewrite(before, AssignLayouts().run, after, CpuPassTestOps());
}

TEST(AssignLayouts, ImagesAreChannelsLastUntilTheOutput) {
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

// The permutation moves no data, and the results of the other operators follow.
TEST(AssignLayouts, PermutationsBeforeResizingAndConcatenationShareMemory) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[512] }
    graph(%w: f32[512] tensor_constant "w", %x: f32[1,2,2,8] user_input, %y: f32[1,4,4,8] user_input) {
      %a: f32[1,8,2,2] = edge.aten.permute_copy.default(%x, [0,3,1,2])
      %b: f32[1,8,4,4] = edge.aten.permute_copy.default(%y, [0,3,1,2])
      %u: f32[1,8,4,4] = edge.aten.upsample_bilinear2d.vec(%a, [4,4], false, none)
      %k: f32[1,16,4,4] = edge.aten.cat.default([%u,%b], 1)
      %c: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%k, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %m: f32[1,8,1,1] = edge.aten.mean.dim(%c, [2,3], true)
      return (%m user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[512] }
    graph(%w: f32[512] tensor_constant "w", %x: f32[1,2,2,8] user_input, %y: f32[1,4,4,8] user_input) {
      %a: f32[1,8,2,2]{strides=[32,1,16,8]} = edge.aten.permute_copy.default(%x, [0,3,1,2])
      %b: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.permute_copy.default(%y, [0,3,1,2])
      %u: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.upsample_bilinear2d.vec(%a, [4,4], false, none)
      %k: f32[1,16,4,4]{strides=[256,1,64,16]} = edge.aten.cat.default([%u,%b], 1)
      %c: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%k, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %m: f32[1,8,1,1] = edge.aten.mean.dim(%c, [2,3], true)
      return (%m user_output) } })");
}

TEST(AssignLayouts, PartsOfImagesAreChannelsLastForConvolutions) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[1,16,4,4]{strides=[256,1,64,16]} user_input) {
      [%a: f32[1,8,4,4], %b: f32[1,8,4,4]] = edge.aten.split_with_sizes_copy.default(%x, [8,8], 1)
      %r: f32[1,8,4,4] = edge.aten.abs.default(%a)
      %c: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%r, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %v: f32[1,128] = edge.aten.view_copy.default(%b, [1,128])
      %m: f32[1,8,1,1] = edge.aten.mean.dim(%c, [2,3], true)
      return (%m user_output, %v user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[1,16,4,4]{strides=[256,1,64,16]} user_input) {
      [%a: f32[1,8,4,4]{strides=[128,1,32,8]}, %b: f32[1,8,4,4]] = edge.aten.split_with_sizes_copy.default(%x, [8,8], 1)
      %r: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.abs.default(%a)
      %c: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%r, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %v: f32[1,128] = edge.aten.view_copy.default(%b, [1,128])
      %m: f32[1,8,1,1] = edge.aten.mean.dim(%c, [2,3], true)
      return (%m user_output, %v user_output) } })");
}

TEST(AssignLayouts, RepeatedPixelsAreChannelsLastForConvolutions) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[512] }
    graph(%w: f32[512] tensor_constant "w", %p: f32[1,8,1,1] user_input,
          %x: f32[1,8,4,4]{strides=[128,1,32,8]} user_input) {
      %e: f32[1,8,4,4] = edge.aten.expand_copy.default(%p, [-1,-1,4,4])
      %a: f32[1,16,4,4] = edge.aten.cat.default([%x,%e], 1)
      %c: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%a, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %m: f32[1,8,1,1] = edge.aten.mean.dim(%c, [2,3], true)
      return (%m user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[512] }
    graph(%w: f32[512] tensor_constant "w", %p: f32[1,8,1,1] user_input,
          %x: f32[1,8,4,4]{strides=[128,1,32,8]} user_input) {
      %e: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.aten.expand_copy.default(%p, [-1,-1,4,4])
      %a: f32[1,16,4,4]{strides=[256,1,64,16]} = edge.aten.cat.default([%x,%e], 1)
      %c: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%a, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %m: f32[1,8,1,1] = edge.aten.mean.dim(%c, [2,3], true)
      return (%m user_output) } })");
}

TEST(AssignLayouts, InsertsNoRedundantCopies) {
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

TEST(AssignLayouts, LinearOperandsAreContiguous) {
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

TEST(AssignLayouts, FewChannelsNeedNoCopy) {
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

TEST(AssignLayouts, PermutationsAroundAttentionMoveNoData) {
  ExpectAssigned(R"(program edge {
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input) {
      %q: f32[2,4,5,8] = edge.aten.permute_copy.default(%x, [0,2,1,3])
      %a: f32[2,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, false)
      %p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,1,3])
      return (%p user_output) } })",
                 R"(program edge {
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input) {
      %q: f32[2,4,5,8]{strides=[160,8,32,1]} = edge.aten.permute_copy.default(%x, [0,2,1,3])
      %a: f32[2,4,5,8]{strides=[160,8,32,1]} = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, false)
      %p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,1,3])
      return (%p user_output) } })");
}

TEST(AssignLayouts, LeavesOtherProgramsUnchanged) {
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[3,8]{strides=[1,3]} user_input) {
      %a: f32[3,8]{strides=[1,3]} = edge.aten.abs.default(%x)
      %h: bf16[3,8]{strides=[1,3]} = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=dtype:bf16)
      %n: b8[3,8]{strides=[1,3]} = edge.aten.logical_not.default(%a)
      return (%h user_output, %n user_output) } })",
                        AssignLayouts().run, CpuPassTestOps());
}

// One permutation before or after attention suffices.
TEST(AssignLayouts, RetypesASinglePermutation) {
  ExpectAssigned(R"(program edge {
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input) {
      %q: f32[2,4,5,8] = edge.aten.permute_copy.default(%x, [0,2,1,3])
      %a: f32[2,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, false)
      return (%a user_output) } })",
                 R"(program edge {
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input) {
      %q: f32[2,4,5,8]{strides=[160,8,32,1]} = edge.aten.permute_copy.default(%x, [0,2,1,3])
      %a: f32[2,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, false)
      return (%a user_output) } })");
  ExpectAssigned(R"(program edge {
    graph(%q: f32[2,4,5,8] user_input, %k: f32[2,4,6,8] user_input) {
      %a: f32[2,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, false)
      %p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,1,3])
      return (%p user_output) } })",
                 R"(program edge {
    graph(%q: f32[2,4,5,8] user_input, %k: f32[2,4,6,8] user_input) {
      %a: f32[2,4,5,8]{strides=[160,8,32,1]} = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, false)
      %p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,1,3])
      return (%p user_output) } })");
  // A permutation that moves no data.
  exir::ExpectUnchanged(R"(program edge {
    graph(%q: f32[2,4,6,8] user_input, %k: f32[2,4,6,8] user_input) {
      %p: f32[2,4,6,8] = edge.aten.permute_copy.default(%q, [0,1,2,3])
      %a: f32[2,4,6,8] = backend.belay_cpu.attention.default(%p, %k, %k, none, 1.0, false, false)
      return (%a user_output) } })",
                        AssignLayouts().run, CpuPassTestOps());
}

// Profiles attribute copies to the node that requires them.
TEST(AssignLayouts, CopiesHaveTheHandleOfUserOrSource) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[1,8,4,4] user_input) {
      %a: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf) @"m.py":12 handle=7
      return (%a user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %x: f32[1,8,4,4] user_input) {
      %channels_last: f32[1,8,4,4]{strides=[128,1,32,8]} = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,2,3,1]) @"m.py":12 handle=7
      %a: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%channels_last, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf) @"m.py":12 handle=7
      %contiguous: f32[1,8,4,4] = edge.dim_order_ops._to_dim_order_copy.default(%a, dim_order=[0,1,2,3]) @"m.py":12 handle=7
      return (%contiguous user_output) } })");
}

TEST(AssignLayouts, CopiesUnsupportedAttentionOperands) {
  ExpectAssigned(R"(program edge {
    graph(%x: f32[2,4,5,8]{strides=[160,40,1,5]} user_input, %k: f32[2,4,6,8] user_input,
          %o: f32[2,4,6,1]{strides=[24,6,1,6]} user_input, %m: f32[5,6]{strides=[1,5]} user_input) {
      %a: f32[2,4,5,1] = backend.belay_cpu.attention.default(%x, %k, %o, %m, 1.0, false, false)
      return (%a user_output) } })",
                 R"(program edge {
    graph(%x: f32[2,4,5,8]{strides=[160,40,1,5]} user_input, %k: f32[2,4,6,8] user_input,
          %o: f32[2,4,6,1]{strides=[24,6,1,6]} user_input, %m: f32[5,6]{strides=[1,5]} user_input) {
      %contiguous: f32[2,4,5,8] = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,1,2,3])
      %a: f32[2,4,5,1] = backend.belay_cpu.attention.default(%contiguous, %k, %o, %m, 1.0, false, false)
      return (%a user_output) } })");
}

TEST(AssignLayouts, QuantizedAddIsContiguousAndLookupAcceptsAnyLayout) {
  ExpectAssigned(R"(program edge {
    graph(%x: u8[3,8]{strides=[1,3]} user_input, %t: u8[256] user_input) {
      %l: u8[3,8]{strides=[1,3]} = backend.belay_cpu.lookup.default(%x, %t)
      %b: u8[3,8] = backend.belay_cpu.quantized_add.default(%l, %l, 0.5, 3, 0.5, 3, 0.25, [7,0,255])
      return (%b user_output) } })",
                 R"(program edge {
    graph(%x: u8[3,8]{strides=[1,3]} user_input, %t: u8[256] user_input) {
      %l: u8[3,8]{strides=[1,3]} = backend.belay_cpu.lookup.default(%x, %t)
      %contiguous: u8[3,8] = edge.dim_order_ops._to_dim_order_copy.default(%l, dim_order=[0,1])
      %b: u8[3,8] = backend.belay_cpu.quantized_add.default(%contiguous, %contiguous, 0.5, 3, 0.5, 3, 0.25, [7,0,255])
      return (%b user_output) } })");
}

// Depthwise convolutions read images in place, with any number of channels.
TEST(AssignLayouts, DepthwiseWithFewChannelsIsChannelsLast) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[144] }
    graph(%w: f32[144] tensor_constant "w", %x: f32[1,3,4,4] user_input) {
      %a: f32[1,3,4,4] = backend.belay_cpu.depthwise_conv2d.default(%x, %w, none, none, [3,3], [1,1], [1,1], [1,1], "none", "add", -inf, inf)
      %b: f32[1,3,4,4]{strides=[48,1,12,3]} = edge.aten.abs.default(%a)
      return (%a user_output, %b user_output, 3 user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[144] }
    graph(%w: f32[144] tensor_constant "w", %x: f32[1,3,4,4] user_input) {
      %channels_last: f32[1,3,4,4]{strides=[48,1,12,3]} = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,2,3,1])
      %a: f32[1,3,4,4]{strides=[48,1,12,3]} = backend.belay_cpu.depthwise_conv2d.default(%channels_last, %w, none, none, [3,3], [1,1], [1,1], [1,1], "none", "add", -inf, inf)
      %b: f32[1,3,4,4]{strides=[48,1,12,3]} = edge.aten.abs.default(%a)
      %contiguous: f32[1,3,4,4] = edge.dim_order_ops._to_dim_order_copy.default(%a, dim_order=[0,1,2,3])
      return (%contiguous user_output, %b user_output, 3 user_output) } })");
}

TEST(AssignLayouts, SharedPermutationsKeepTheirLayout) {
  const auto kept = [](std::string_view body, std::string_view outputs) {
    exir::ExportedProgram program =
        exir::ParseOrDie(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    graph(%x: f32[2,5,4,8] user_input, %k: f32[2,4,6,8] user_input, %t: f32[2,4,8,5] user_input,
          %n: symint(s0) user_input) {
      )",
                                      body, " return (", outputs, ") } }"),
                         CpuPassTestOps());
    EXPECT_TRUE(AssignLayouts().run(program).ok());
    std::string text;
    for (exir::NodeId id : program.top().nodes()) {
      const exir::TensorMeta& meta =
          *program.top().value(program.top().node(id).results()[0]).tensor();
      if (!meta.is_contiguous()) absl::StrAppend(&text, program.top().node(id).name, " ");
    }
    return text;
  };
  const std::string q = "%q: f32[2,4,5,8] = edge.aten.permute_copy.default(%x, [0,2,1,3]) ";
  const std::string a =
      "%a: f32[2,4,5,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, false, "
      "false) ";
  const std::string p = "%p: f32[2,5,4,8] = edge.aten.permute_copy.default(%a, [0,2,-3,3]) ";
  EXPECT_EQ(kept(q + a + p, "%p user_output"), "q a ");
  EXPECT_EQ(kept(q + a + p, "%p user_output, %q user_output"), "a ");
  EXPECT_EQ(kept(q + a + p + "%z: f32[2,4,5,8] = edge.aten.abs.default(%q) ",
                 "%p user_output, %z user_output"),
            "a ");
  EXPECT_EQ(kept(q + a + p, "%p user_output, %a user_output"), "q ");
  EXPECT_EQ(kept(q + a + p + "%z: f32[2,4,5,8] = edge.aten.abs.default(%a) ",
                 "%p user_output, %z user_output"),
            "q ");
  EXPECT_EQ(kept(q + a, "%q user_output"), "");
  // The last dimension would not be dense.
  EXPECT_EQ(kept("%q: f32[2,4,5,8] = edge.aten.permute_copy.default(%t, [0,1,3,2]) " + a + p,
                 "%p user_output"),
            "a ");
  EXPECT_EQ(kept(q + a + "%p: f32[2,4,8,5] = edge.aten.permute_copy.default(%a, [0,1,3,2]) ",
                 "%p user_output"),
            "q ");
  // A permutation that moves no data.
  EXPECT_EQ(kept("%q: f32[2,4,6,8] = edge.aten.permute_copy.default(%k, [0,1,2,3]) "
                 "%a: f32[2,4,6,8] = backend.belay_cpu.attention.default(%q, %k, %k, none, 1.0, "
                 "false, false)",
                 "%a user_output"),
            "");
}

// A conversion that keeps the layout also keeps it after layouts change.
TEST(AssignLayouts, ConversionsKeepTheOperandLayout) {
  ExpectAssigned(R"(program edge {
    constants { constant "w": f32[256] constant "v": bf16[256] }
    graph(%w: f32[256] tensor_constant "w", %v: bf16[256] tensor_constant "v",
          %x: f32[1,8,4,4]{strides=[128,1,32,8]} user_input) {
      %a: f32[1,8,4,4] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %h: bf16[1,8,4,4] = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=dtype:bf16, dim_order=[0,1,2,3])
      %b: bf16[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.bfloat16_conv2d.default(%h, %v, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%b user_output) } })",
                 R"(program edge {
    constants { constant "w": f32[256] constant "v": bf16[256] }
    graph(%w: f32[256] tensor_constant "w", %v: bf16[256] tensor_constant "v",
          %x: f32[1,8,4,4]{strides=[128,1,32,8]} user_input) {
      %a: f32[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %h: bf16[1,8,4,4]{strides=[128,1,32,8]} = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=dtype:bf16)
      %b: bf16[1,8,4,4]{strides=[128,1,32,8]} = backend.belay_cpu.bfloat16_conv2d.default(%h, %v, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%b user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
