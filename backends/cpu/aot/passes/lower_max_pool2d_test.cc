#include "backends/cpu/aot/passes/lower_max_pool2d.h"

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(LowerMaxPool2d, LowersUint8AndFloatPools) {
  exir::ExpectRewrite(
      R"(program edge { graph(%x: u8[1,8,5,5] user_input, %f: f32[1,8,5,5] user_input,
          %h: bf16[1,8,5,5] user_input) {
      %m: u8[1,8,3,3], %i: i64[1,8,3,3] = edge.aten.max_pool2d_with_indices.default(%x, [3,3], [2,2], [1,1])
      %n: u8[1,8,2,2], %j: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%x, [2])
      %o: f32[1,8,2,2], %k: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%f, [2])
      %q: bf16[1,8,2,2], %l: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%h, [2])
      return (%m user_output, %n user_output, %o user_output, %q user_output) } })",
      LowerMaxPool2d().run,
      R"(program edge { graph(%x: u8[1,8,5,5] user_input, %f: f32[1,8,5,5] user_input,
          %h: bf16[1,8,5,5] user_input) {
      %m_1: u8[1,8,3,3] = backend.belay_cpu.max_pool2d.default(%x, [3,3], [2,2], [1,1], [1,1])
      %n_1: u8[1,8,2,2] = backend.belay_cpu.max_pool2d.default(%x, [2,2], [2,2], [0,0], [1,1])
      %o_1: f32[1,8,2,2] = backend.belay_cpu.max_pool2d.default(%f, [2,2], [2,2], [0,0], [1,1])
      %q_1: bf16[1,8,2,2] = backend.belay_cpu.max_pool2d.default(%h, [2,2], [2,2], [0,0], [1,1])
      return (%m_1 user_output, %n_1 user_output, %o_1 user_output, %q_1 user_output) } })",
      CpuPassTestOps());
}

// Windows that extend beyond the image become padding after it.
TEST(LowerMaxPool2d, LowersCeilMode) {
  exir::ExpectRewrite(
      R"(program edge { graph(%x: u8[1,8,5,6] user_input, %f: f32[1,8,8,7] user_input) {
      %a: u8[1,8,3,3], %i: i64[1,8,3,3] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2], [0,0], [1,1], true)
      %b: f32[1,8,5,4], %j: i64[1,8,5,4] = edge.aten.max_pool2d_with_indices.default(%f, [3,3], [2,2], [1,1], [1,1], true)
      return (%a user_output, %b user_output) } })",
      LowerMaxPool2d().run,
      R"(program edge { graph(%x: u8[1,8,5,6] user_input, %f: f32[1,8,8,7] user_input) {
      %a_1: u8[1,8,3,3] = backend.belay_cpu.max_pool2d.default(%x, [2,2], [2,2], [0,0,1,0], [1,1])
      %b_1: f32[1,8,5,4] = backend.belay_cpu.max_pool2d.default(%f, [3,3], [2,2], [1,1,2,1], [1,1])
      return (%a_1 user_output, %b_1 user_output) } })",
      CpuPassTestOps());
}

// Other dtypes, used indices, dilation, ceil_mode of unknown sizes, an image without batch.
TEST(LowerMaxPool2d, DoesNotLowerOtherPools) {
  exir::ExpectUnchanged(R"(program edge { ranges { s0: [2,9] }
    graph(%x: u8[1,8,5,5] user_input, %f: f64[1,8,5,5] user_input, %o: u8[8,5,5] user_input,
          %s: u8[1,8,s0,5] user_input) {
      %a: f64[1,8,2,2], %ai: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%f, [2,2], [2,2])
      %b: u8[1,8,2,2], %bi: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2])
      %c: u8[1,8,2,2], %ci: i64[1,8,2,2] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2], [0,0], [2,2])
      %d: u8[1,8,(s0 + 1)//2,3], %di: i64[1,8,(s0 + 1)//2,3] = edge.aten.max_pool2d_with_indices.default(%s, [2,2], [2,2], [0,0], [1,1], true)
      %e: u8[8,2,2], %ei: i64[8,2,2] = edge.aten.max_pool2d_with_indices.default(%o, [2,2], [2,2])
      return (%a user_output, %b user_output, %bi user_output, %c user_output, %d user_output,
              %e user_output) } })",
                        LowerMaxPool2d().run, CpuPassTestOps());
}

TEST(LowerMaxPool2d, DoesNotLowerOtherImagesAndParameters) {
  const auto left = [](std::string_view call, std::string_view outputs = "%y user_output",
                       std::string_view types = "%y: f32[1,8,4,4], %i: i64[1,8,4,4]") {
    ExpectLeftAsItIs(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    graph(%x: f32[1,8,8,8] user_input, %x3: f32[8,8,8] user_input, %d: f64[1,8,8,8] user_input,
          %s: f32[1,s0,8,8] user_input, %n: symint(s0) user_input) {
      )",
                                  types, " = edge.aten.max_pool2d_with_indices.default(", call,
                                  ") return (", outputs, ") } }"),
                     LowerMaxPool2d().run);
  };
  for (std::string_view call : {
           "%x3, [2,2], [2,2]",
           "%d, [2,2], [2,2]",
           "%s, [2,2], [2,2]",
           "%n, [2,2], [2,2]",
           "3, [2,2], [2,2]",
           "%x, [2,%n], [2,2]",
           "%x, [2,2], [2,0]",
           "%x, [2,2], [2,2], [-1,0]",
           "%x, [2,2], [2,2], [0,0], [2,1]",
           "%x, [2,2], [2,2], [0,0], [%n]",
       }) {
    left(call);
  }
  left("%x, [2,2], [2,2]", "%y user_output, %i user_output");
}

}  // namespace
}  // namespace belay::cpu
