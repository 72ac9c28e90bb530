#include "backends/cpu/aot/passes/contiguous_results.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

constexpr std::string_view kLast = "{strides=[160,1,32,8]}";  // channels last [1,8,5,4]

std::string Program(std::string_view body) {
  return absl::StrCat(R"(program edge {
    constants { constant "w": f32[2304] }
    graph(%w: f32[2304] tensor_constant "w", %o: f32[1,8,5,4]{strides=[160,1,32,8]} user_input,
          %x: f32[1,8,5,4]{strides=[160,1,32,8]} user_input) {
      )",
                      body, " } }");
}
std::string Conv(std::string_view layout, std::string_view other = "none") {
  return absl::StrCat("%y: f32[1,8,5,4]", layout,
                      " = backend.belay_cpu.conv2d.default(%x, %w, none, ", other,
                      ", 8, [3,3], [1,1], [1,1], [1,1], \"none\", \"add\", -inf, inf)\n");
}
std::string Depthwise(std::string_view layout) {
  return absl::StrCat("%y: f32[1,8,5,4]", layout,
                      " = backend.belay_cpu.depthwise_conv2d.default(%x, %w, none, none, [3,3], "
                      "[1,1], [1,1], [1,1], \"none\", \"add\", -inf, inf)\n");
}
std::string General(std::string_view layout, std::string_view transposed = "false") {
  return absl::StrCat("%y: f32[1,8,5,4]", layout,
                      " = backend.belay_cpu.convolution.default(%x, %w, none, none, 8, 2, ",
                      transposed,
                      ", [3,3], [1,1], [1,1], [0,0], [1,1], \"none\", \"add\", -inf, inf)\n");
}
constexpr std::string_view kCopy =
    "%z: f32[1,8,5,4] = edge.dim_order_ops._to_dim_order_copy.default(%y, dim_order=[0,1,2,3])\n";

void ExpectFused(std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(Program(before), ContiguousResults(handles).run, Program(after),
                      CpuPassTestOps());
}
void ExpectLeft(std::string_view body) {
  FusedHandles handles;
  exir::ExpectUnchanged(Program(body), ContiguousResults(handles).run, CpuPassTestOps());
}

TEST(ContiguousResults, ReplacesTheConversion) {
  constexpr std::string_view kReturn = "return (%y user_output)";
  for (std::string (*conv)(std::string_view) :
       {+[](std::string_view layout) { return Conv(layout); }, &Depthwise,
        +[](std::string_view layout) { return General(layout); }}) {
    ExpectFused(absl::StrCat(conv(kLast), kCopy, "return (%z user_output)"),
                absl::StrCat(conv(""), kReturn));
  }
}

TEST(ContiguousResults, SharesMemoryWithAReshape) {
  for (std::string_view rest :
       {"%z: f32[1,8,20] = edge.aten.view_copy.default(%y, [1,8,20])\n"
        "%r: f32[1,8,20] = edge.aten.relu.default(%z)\nreturn (%r user_output)",
        "%z: f32[8,5,4] = edge.aten.squeeze_copy.dims(%y, [0])\n"
        "%r: f32[8,5,4] = edge.aten.relu.default(%z)\nreturn (%r user_output)"}) {
    ExpectFused(absl::StrCat(Conv(kLast), rest), absl::StrCat(Conv(""), rest));
  }
}

TEST(ContiguousResults, LeavesReshapesThatAreOutputs) {
  ExpectLeft(absl::StrCat(Conv(kLast),
                          "%z: f32[1,8,20] = edge.aten.view_copy.default(%y, [1,8,20])\n"
                          "return (%z user_output)"));
}

TEST(ContiguousResults, OtherUsersKeepTheLayout) {
  ExpectLeft(absl::StrCat(Conv(kLast), kCopy, "return (%z user_output, %y user_output)"));
  ExpectLeft(absl::StrCat(Conv(kLast), "return (%y user_output)"));
  ExpectLeft(absl::StrCat(Conv(kLast), "%r: f32[1,8,5,4]", kLast,
                          " = edge.aten.relu.default(%y)\nreturn (%r user_output)"));
}

TEST(ContiguousResults, LeavesWhatTheKernelsDoNotWrite) {
  ExpectLeft(absl::StrCat(Conv(kLast, "%o"), kCopy, "return (%z user_output)"));
  ExpectLeft(absl::StrCat(General(kLast, "true"), kCopy, "return (%z user_output)"));
}

TEST(ContiguousResults, KeepsConversionsOfTheDtype) {
  ExpectLeft(absl::StrCat(Conv(kLast),
                          "%z: bf16[1,8,5,4] = edge.dim_order_ops._to_dim_order_copy.default(%y, "
                          "dtype=dtype:bf16, dim_order=[0,1,2,3])\nreturn (%z user_output)"));
}

}  // namespace
}  // namespace belay::cpu
