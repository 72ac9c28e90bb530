#include "backends/cpu/aot/passes/remove_io_reshapes.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

std::string Program(std::string_view inputs, std::string_view body) {
  return absl::StrCat("program edge { graph(", inputs, ") {\n", body, " } }");
}
void ExpectReshaped(std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(before, RemoveIoReshapes(handles).run, after, CpuPassTestOps());
}
void ExpectLeft(std::string_view program) {
  FusedHandles handles;
  exir::ExpectUnchanged(program, RemoveIoReshapes(handles).run, CpuPassTestOps());
}

TEST(RemoveIoReshapes, ReshapesInputs) {
  ExpectReshaped(Program("%x: f32[6] user_input", R"(
      %a: f32[1,6] = edge.aten.unsqueeze_copy.default(%x, 0)
      %b: f32[1,6] = edge.aten.view_copy.default(%x, [1,6])
      %y: f32[1,6] = edge.aten.add.Tensor(%a, %b)
      return (%y user_output))"),
                 Program("%x: f32[1,6] user_input", R"(
      %y: f32[1,6] = edge.aten.add.Tensor(%x, %x)
      return (%y user_output))"));
}

TEST(RemoveIoReshapes, ReshapesOutputs) {
  ExpectReshaped(Program("%x: f32[1,6] user_input", R"(
      %y: f32[1,6] = edge.aten.relu.default(%x)
      %z: f32[6] = edge.aten.squeeze_copy.dims(%y, [0])
      return (%z user_output))"),
                 Program("%x: f32[1,6] user_input", R"(
      %y: f32[1,6] = edge.aten.relu.default(%x)
      return (%y user_output))"));
}

// ContiguousResults lets a convolution write the copy.
TEST(RemoveIoReshapes, CopiesChannelsLastOutputs) {
  ExpectReshaped(Program("%x: f32[1,8,1,4]{strides=[32,1,32,8]} user_input", R"(
      %y: f32[1,8,1,4]{strides=[32,1,32,8]} = edge.aten.relu.default(%x)
      %z: f32[1,8,4] = edge.aten.squeeze_copy.dim(%y, 2)
      return (%z user_output))"),
                 Program("%x: f32[1,8,1,4]{strides=[32,1,32,8]} user_input", R"(
      %y: f32[1,8,1,4]{strides=[32,1,32,8]} = edge.aten.relu.default(%x)
      %z_1: f32[1,8,1,4] = edge.dim_order_ops._to_dim_order_copy.default(%y, dim_order=[0,1,2,3])
      return (%z_1 user_output))"));
}

// Other users, two kinds of sizes, outputs, inputs that are not the user's, unknown sizes.
TEST(RemoveIoReshapes, LeavesOtherInputs) {
  ExpectLeft(Program("%x: f32[6] user_input", R"(
      %a: f32[1,6] = edge.aten.unsqueeze_copy.default(%x, 0)
      %y: f32[1,6] = edge.aten.add.Tensor(%a, %x)
      return (%y user_output))"));
  ExpectLeft(Program("%x: f32[6] user_input", R"(
      %a: f32[1,6] = edge.aten.unsqueeze_copy.default(%x, 0)
      %b: f32[6,1] = edge.aten.unsqueeze_copy.default(%x, 1)
      %y: f32[6,6] = edge.aten.add.Tensor(%a, %b)
      return (%y user_output))"));
  ExpectLeft(Program("%x: f32[6] user_input", R"(
      %a: f32[1,6] = edge.aten.unsqueeze_copy.default(%x, 0)
      return (%a user_output))"));
  ExpectLeft(Program("%x: f32[6] user_input", R"(
      %a: f32[1,6] = edge.aten.unsqueeze_copy.default(%x, 0)
      %y: f32[1,6] = edge.aten.relu.default(%a)
      return (%y user_output, %x user_output))"));
  ExpectLeft(R"(program edge { constants { constant "c": f32[6] }
    graph(%c: f32[6] tensor_constant "c") {
      %a: f32[1,6] = edge.aten.unsqueeze_copy.default(%c, 0)
      %y: f32[1,6] = edge.aten.relu.default(%a)
      return (%y user_output) } })");
  ExpectLeft(R"(program edge { ranges { s0: [2,9] }
    graph(%x: f32[s0] user_input) {
      %a: f32[1,s0] = edge.aten.unsqueeze_copy.default(%x, 0)
      %y: f32[1,s0] = edge.aten.relu.default(%a)
      return (%y user_output) } })");
}

TEST(RemoveIoReshapes, LeavesReinterpretedElements) {
  ExpectLeft(Program("%x: f32[6] user_input", R"(
      %a: i32[6] = edge.aten.view_copy.dtype(%x, dtype:i32)
      %y: i32[6] = edge.aten.add.Tensor(%a, %a)
      %z: f32[6] = edge.aten.view_copy.dtype(%y, dtype:f32)
      return (%z user_output))"));
}

// A reshaped output or input, and a result with users.
TEST(RemoveIoReshapes, LeavesOtherOutputs) {
  ExpectLeft(Program("%x: f32[1,6] user_input", R"(
      %y: f32[1,6] = edge.aten.relu.default(%x)
      %z: f32[6] = edge.aten.view_copy.default(%y, [6])
      return (%z user_output, %y user_output))"));
  ExpectLeft(Program("%x: f32[1,6] user_input", R"(
      %y: f32[1,6] = edge.aten.relu.default(%x)
      %z: f32[6] = edge.aten.view_copy.default(%y, [6])
      %w: f32[6] = edge.aten.relu.default(%z)
      return (%z user_output, %w user_output))"));
}

}  // namespace
}  // namespace belay::cpu
