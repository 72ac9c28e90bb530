#include "backends/cpu/aot/passes/split_products.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectLeft(std::string_view program) {
  FusedHandles handles;
  exir::ExpectUnchanged(program, SplitProducts(handles).run, CpuPassTestOps());
}

TEST(SplitProducts, LinearLayersBehindAReshape) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge {
    constants { constant "w": f32[192] constant "b": f32[40] }
    graph(%w: f32[192] tensor_constant "w", %b: f32[40] tensor_constant "b",
          %x: f32[2,3] user_input) {
      %y: f32[2,40] = backend.belay_cpu.linear.default(%x, %w, %b, none, 40, "none", "add", -inf, inf)
      %v: f32[1,2,40] = edge.aten.view_copy.default(%y, [1,2,40])
      [%a: f32[1,2,32], %c: f32[1,2,8]] = edge.aten.split_with_sizes_copy.default(%v, [32,8], -1)
      return (%a user_output, %c user_output) } })",
                      SplitProducts(handles).run, R"(program edge {
    constants { constant "b_part0": f32[32] constant "b_part1": f32[8]
                constant "w_part0": f32[96] constant "w_part1": f32[96] }
    graph(%w_part0: f32[96] tensor_constant "w_part0", %b_part0: f32[32] tensor_constant "b_part0",
          %w_part1: f32[96] tensor_constant "w_part1", %b_part1: f32[8] tensor_constant "b_part1",
          %x: f32[2,3] user_input) {
      %y_1: f32[2,32] = backend.belay_cpu.linear.default(%x, %w_part0, %b_part0, none, 32, "none", "add", -inf, inf)
      %v_1: f32[1,2,32] = edge.aten.view_copy.default(%y_1, [1,2,32])
      %y_2: f32[2,8] = backend.belay_cpu.linear.default(%x, %w_part1, %b_part1, none, 8, "none", "add", -inf, inf)
      %v_2: f32[1,2,8] = edge.aten.view_copy.default(%y_2, [1,2,8])
      return (%v_1 user_output, %v_2 user_output) } })",
                      CpuPassTestOps());
}

TEST(SplitProducts, Convolutions) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge {
    constants { constant "w": f32[512] }
    graph(%w: f32[512] tensor_constant "w", %x: f32[1,8,5,5] user_input) {
      %y: f32[1,64,5,5] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 64, [1,1], [1,1], [0,0], [1,1], "silu", "add", -inf, inf)
      [%a: f32[1,32,5,5], %c: f32[1,32,5,5]] = edge.aten.split_copy.Tensor(%y, 32, 1)
      return (%a user_output, %c user_output) } })",
                      SplitProducts(handles).run, R"(program edge {
    constants { constant "w_part0": f32[256] constant "w_part1": f32[256] }
    graph(%w_part0: f32[256] tensor_constant "w_part0", %w_part1: f32[256] tensor_constant "w_part1",
          %x: f32[1,8,5,5] user_input) {
      %y_1: f32[1,32,5,5] = backend.belay_cpu.conv2d.default(%x, %w_part0, none, none, 32, [1,1], [1,1], [0,0], [1,1], "silu", "add", -inf, inf)
      %y_2: f32[1,32,5,5] = backend.belay_cpu.conv2d.default(%x, %w_part1, none, none, 32, [1,1], [1,1], [0,0], [1,1], "silu", "add", -inf, inf)
      return (%y_1 user_output, %y_2 user_output) } })",
                      CpuPassTestOps());
}

// A part from feature 8, other users, an addend, and a split of rows.
TEST(SplitProducts, LeavesOtherProducts) {
  const auto program = [](std::string_view addend, std::string_view rest) {
    return absl::StrCat(R"(program edge {
    constants { constant "w": f32[192] }
    graph(%w: f32[192] tensor_constant "w", %x: f32[2,3] user_input, %o: f32[2,40] user_input) {
      %y: f32[2,40] = backend.belay_cpu.linear.default(%x, %w, none, )",
                        addend, ", 40, \"none\", \"add\", -inf, inf)\n", rest, " } }");
  };
  constexpr std::string_view kSplit =
      "[%a: f32[2,32], %c: f32[2,8]] = edge.aten.split_with_sizes_copy.default(%y, [32,8], 1) "
      "return (%a user_output, %c user_output)";
  ExpectLeft(program("%o", kSplit));
  ExpectLeft(program(
      "none",
      "[%a: f32[2,8], %c: f32[2,32]] = edge.aten.split_with_sizes_copy.default(%y, [8,32], 1) "
      "return (%a user_output, %c user_output)"));
  ExpectLeft(program(
      "none",
      "[%a: f32[1,40], %c: f32[1,40]] = edge.aten.split_with_sizes_copy.default(%y, [1,1], 0) "
      "return (%a user_output, %c user_output)"));
  ExpectLeft(program(
      "none",
      "[%a: f32[2,32], %c: f32[2,8]] = edge.aten.split_with_sizes_copy.default(%y, [32,8], 1) "
      "return (%y user_output, %c user_output)"));
}

TEST(SplitProducts, LeavesProductsOfOneRow) {
  ExpectLeft(R"(program edge {
    constants { constant "w": f32[192] }
    graph(%w: f32[192] tensor_constant "w", %x: f32[1,3] user_input) {
      %y: f32[1,64] = backend.belay_cpu.linear.default(%x, %w, none, none, 64, "none", "add", -inf, inf)
      [%a: f32[1,32], %c: f32[1,32]] = edge.aten.split_copy.Tensor(%y, 32, 1)
      return (%a user_output, %c user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
