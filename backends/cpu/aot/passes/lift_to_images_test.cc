#include "backends/cpu/aot/passes/lift_to_images.h"

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectLift(std::string_view before, std::string_view after) {
  exir::ExpectRewrite(before, LiftToImages().run, after, CpuPassTestOps());
}
void ExpectLeft(std::string_view before) {
  exir::ExpectUnchanged(before, LiftToImages().run, CpuPassTestOps());
}

TEST(LiftToImages, ConvolutionsInARowStayImages) {
  ExpectLift(R"(program edge {
    constants { state "w": f32[8,4,3] state "v": f32[5,8,1] }
    graph(%w: f32[8,4,3] parameter "w", %v: f32[5,8,1] parameter "v",
          %x: f32[2,4,s0] user_input) {
      %y: f32[2,8,s0] = edge.aten.convolution.default(%x, %w, none, [1], [2], [2], false, [0], 1)
      %r: f32[2,8,s0] = edge.aten.relu.default(%y)
      %z: f32[2,5,s0] = edge.aten.convolution.default(%r, %v, none, [1], [0], [1], false, [0], 1)
      return (%z user_output) } })",
             R"(program edge {
    constants { state "v": f32[5,8,1] state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %v: f32[5,8,1] parameter "v",
          %x: f32[2,4,s0] user_input) {
      %images: f32[2,4,1,s0] = edge.aten.unsqueeze_copy.default(%x, 2)
      %images_1: f32[8,4,1,3] = edge.aten.unsqueeze_copy.default(%w, 2)
      %y: f32[2,8,1,s0] = edge.aten.convolution.default(%images, %images_1, none, [1,1], [0,2], [1,2], false, [0,0], 1)
      %r: f32[2,8,1,s0] = edge.aten.relu.default(%y)
      %images_2: f32[5,8,1,1] = edge.aten.unsqueeze_copy.default(%v, 2)
      %z: f32[2,5,1,s0] = edge.aten.convolution.default(%r, %images_2, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %squeezed_2: f32[2,5,s0] = edge.aten.squeeze_copy.dim(%z, 2)
      return (%squeezed_2 user_output) } })");
}

TEST(LiftToImages, OperandsOfOtherRanksAreWidened) {
  ExpectLift(R"(program edge {
    constants { state "w": f32[8,4,3] state "s": f32[8,1] }
    graph(%w: f32[8,4,3] parameter "w", %s: f32[8,1] parameter "s", %x: f32[2,4,9] user_input,
          %a: f32[2,8,7] user_input) {
      %y: f32[2,8,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
      %m: f32[2,8,7] = edge.aten.mul.Tensor(%y, %s)
      %p: f32[2,8,7] = edge.aten.add.Tensor(%a, %m)
      %c: f32[2,8,14] = edge.aten.cat.default([%p, %y], -1)
      %d: f32[2,8,5] = edge.aten.slice_copy.Tensor(%c, 2, 1, 6)
      %e: f32[2,8,6] = edge.aten.constant_pad_nd.default(%d, [0,1], 0.0)
      return (%e user_output) } })",
             R"(program edge {
    constants { state "s": f32[8,1] state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %s: f32[8,1] parameter "s", %x: f32[2,4,9] user_input,
          %a: f32[2,8,7] user_input) {
      %images: f32[2,4,1,9] = edge.aten.unsqueeze_copy.default(%x, 2)
      %images_1: f32[8,4,1,3] = edge.aten.unsqueeze_copy.default(%w, 2)
      %y: f32[2,8,1,7] = edge.aten.convolution.default(%images, %images_1, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %images_2: f32[8,1,1] = edge.aten.unsqueeze_copy.default(%s, 1)
      %m: f32[2,8,1,7] = edge.aten.mul.Tensor(%y, %images_2)
      %images_3: f32[2,8,1,7] = edge.aten.unsqueeze_copy.default(%a, 2)
      %p: f32[2,8,1,7] = edge.aten.add.Tensor(%images_3, %m)
      %c: f32[2,8,1,14] = edge.aten.cat.default([%p, %y], 3)
      %d: f32[2,8,1,5] = edge.aten.slice_copy.Tensor(%c, 3, 1, 6)
      %e: f32[2,8,1,6] = edge.aten.constant_pad_nd.default(%d, [0,1], 0.0)
      %squeezed_5: f32[2,8,6] = edge.aten.squeeze_copy.dim(%e, 2)
      return (%squeezed_5 user_output) } })");
}

TEST(LiftToImages, RowsArePermutedAsImages) {
  ExpectLift(R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,9,4] user_input) {
      %t: f32[2,4,9] = edge.aten.permute_copy.default(%x, [0,2,1])
      %y: f32[2,8,7] = edge.aten.convolution.default(%t, %w, none, [1], [0], [1], false, [0], 1)
      %u: f32[2,7,8] = edge.aten.permute_copy.default(%y, [0,-1,1])
      return (%u user_output) } })",
             R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,9,4] user_input) {
      %images: f32[2,1,9,4] = edge.aten.unsqueeze_copy.default(%x, 1)
      %images_1: f32[2,4,1,9] = edge.aten.permute_copy.default(%images, [0,3,1,2])
      %images_2: f32[8,4,1,3] = edge.aten.unsqueeze_copy.default(%w, 2)
      %y: f32[2,8,1,7] = edge.aten.convolution.default(%images_1, %images_2, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %rows: f32[2,1,7,8] = edge.aten.permute_copy.default(%y, [0,2,3,1])
      %squeezed_1: f32[2,7,8] = edge.aten.squeeze_copy.dim(%rows, 1)
      return (%squeezed_1 user_output) } })");
}

TEST(LiftToImages, MeansOverRows) {
  ExpectLift(R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,4,9] user_input) {
      %y: f32[2,8,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
      %m: f32[2,8] = edge.aten.mean.dim(%y, [-1])
      return (%m user_output) } })",
             R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,4,9] user_input) {
      %images: f32[2,4,1,9] = edge.aten.unsqueeze_copy.default(%x, 2)
      %images_1: f32[8,4,1,3] = edge.aten.unsqueeze_copy.default(%w, 2)
      %y: f32[2,8,1,7] = edge.aten.convolution.default(%images, %images_1, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %m: f32[2,8] = edge.aten.mean.dim(%y, [2,3])
      return (%m user_output) } })");
}

TEST(LiftToImages, ExtremesAndExpansionsKeepImages) {
  ExpectLift(R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,4,9] user_input) {
      %y: f32[2,8,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
      %m: f32[2,8,1] = edge.aten.amax.default(%y, [2], true)
      %l: f32[2,8] = edge.aten.amin.default(%y, [-1])
      %e: f32[2,8,5] = edge.aten.expand_copy.default(%m, [-1,8,5])
      return (%e user_output, %l user_output) } })",
             R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,4,9] user_input) {
      %images: f32[2,4,1,9] = edge.aten.unsqueeze_copy.default(%x, 2)
      %images_1: f32[8,4,1,3] = edge.aten.unsqueeze_copy.default(%w, 2)
      %y: f32[2,8,1,7] = edge.aten.convolution.default(%images, %images_1, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %m: f32[2,8,1,1] = edge.aten.amax.default(%y, [3], true)
      %l: f32[2,8] = edge.aten.amin.default(%y, [2,3])
      %e: f32[2,8,1,5] = edge.aten.expand_copy.default(%m, [-1,8,1,5])
      %squeezed_2: f32[2,8,5] = edge.aten.squeeze_copy.dim(%e, 2)
      return (%squeezed_2 user_output, %l user_output) } })");
}

TEST(LiftToImages, SplitsAndGroupNormsKeepImages) {
  ExpectLift(R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,4,9] user_input) {
      %y: f32[2,8,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
      %n: f32[2,8,7], %u: f32[2,2], %v: f32[2,2] =
          edge.aten.native_group_norm.default(%y, none, none, 2, 8, 7, 2, 0.1)
      [%a: f32[2,5,7], %b: f32[2,3,7]] = edge.aten.split_with_sizes_copy.default(%n, [5,3], 1)
      return (%a user_output, %b user_output) } })",
             R"(program edge {
    constants { state "w": f32[8,4,3] }
    graph(%w: f32[8,4,3] parameter "w", %x: f32[2,4,9] user_input) {
      %images: f32[2,4,1,9] = edge.aten.unsqueeze_copy.default(%x, 2)
      %images_1: f32[8,4,1,3] = edge.aten.unsqueeze_copy.default(%w, 2)
      %y: f32[2,8,1,7] = edge.aten.convolution.default(%images, %images_1, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %n: f32[2,8,1,7], %u: f32[2,2], %v: f32[2,2] =
          edge.aten.native_group_norm.default(%y, none, none, 2, 8, 7, 2, 0.1)
      [%a: f32[2,5,1,7], %b: f32[2,3,1,7]] = edge.aten.split_with_sizes_copy.default(%n, [5,3], 1)
      %squeezed_3: f32[2,3,7] = edge.aten.squeeze_copy.dim(%b, 2)
      %squeezed_2: f32[2,5,7] = edge.aten.squeeze_copy.dim(%a, 2)
      return (%squeezed_2 user_output, %squeezed_3 user_output) } })");
}

TEST(LiftToImages, LeavesComputedWeightsAndOtherOperators) {
  ExpectLeft(R"(program edge {
    graph(%w: f32[8,4,3] user_input, %x: f32[2,4,9] user_input) {
      %y: f32[2,8,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
      %r: f32[2,8,7] = edge.aten.relu.default(%y)
      return (%r user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
