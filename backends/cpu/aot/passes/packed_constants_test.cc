// Derived constants are bounded by the budget and by the range of sizes.
#include "backends/cpu/aot/passes/packed_constants.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "backends/cpu/aot/passes/fuse_epilogues.h"
#include "backends/cpu/aot/passes/lower_conv2d.h"
#include "backends/cpu/aot/passes/lower_linear.h"
#include "backends/cpu/aot/passes/narrow_products.h"
#include "backends/cpu/aot/passes/widen_products.h"
#include "exir/pass_manager/pass.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

absl::Status RunPass(std::string_view text, const exir::Pass& pass, Budget& budget) {
  exir::ExportedProgram program = exir::ParseOrDie(text, CpuPassTestOps());
  Fill(program, {.i8 = 7, .i32 = 0});
  const Budget::Scope scope(&budget);
  const absl::StatusOr<bool> changed = pass.run(program);
  EXPECT_TRUE(!changed.ok() || *changed);
  return changed.status();
}

// Expects that the pass fails with less than the required budget. Returns the number of distinct
// allocations that failed.
size_t ThingsThatAreCounted(std::string_view text, const exir::Pass& pass) {
  Budget all;
  EXPECT_OK(RunPass(text, pass, all));
  std::set<std::string> lacked;
  for (uint64_t allowed = 0; allowed < all.bytes.taken; allowed += 16) {
    Budget budget;
    budget.bytes.allowed = allowed;
    const absl::Status status = RunPass(text, pass, budget);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << allowed << " " << status;
    const std::string message(status.message());
    lacked.insert(message.substr(0, message.find(" bytes")));
  }
  Budget enough;
  enough.bytes.allowed = all.bytes.taken;
  EXPECT_OK(RunPass(text, pass, enough));
  return lacked.size();
}

TEST(PackedConstants, ChargesMatmulWeights) {
  FusedHandles handles;
  const exir::Pass pass = LowerLinear(handles);
  EXPECT_EQ(ThingsThatAreCounted(R"(program edge {
    constants { constant "w": f32[4,8] }
    graph(%w: f32[4,8] tensor_constant "w", %x: f32[2,4] user_input) {
      %y: f32[2,8] = edge.aten.mm.default(%x, %w) return (%y user_output) } })",
                                 pass),
            1u);
  // The weight, scales, column sums, and the bias.
  EXPECT_EQ(ThingsThatAreCounted(exir::WithOperators(R"(program edge {
    constants { constant "w": i8[4,8] constant "b": i32[8] }
    graph(%w: i8[4,8] tensor_constant "w", %b: i32[8] tensor_constant "b", %x: u8[2,4] user_input) {
      %d: f32[2,4] = D(%x, 0.5, 3, 0, 255, dtype:u8)
      %c: f32[4,8] = D(%w, 0.25, 0, -127, 127, dtype:i8)
      %a: f32[8] = D(%b, 0.125, 0, -2147483648, 2147483647, dtype:i32)
      %y: f32[2,8] = edge.aten.addmm.default(%a, %d, %c) return (%y user_output) } })"),
                                 pass),
            5u);
  // The weight, the scales, the zero points.
  EXPECT_EQ(ThingsThatAreCounted(exir::WithOperators(R"(program edge {
    constants { constant "w": i8[8,32] constant "s": f32[8,4] constant "z": f32[8,4] }
    graph(%w: i8[8,32] tensor_constant "w", %s: f32[8,4] tensor_constant "s",
          %z: f32[8,4] tensor_constant "z", %x: f32[2,32] user_input) {
      %d: f32[8,32] = D(%w, 0.5, 3, -128, 127, dtype:i8)
      %t: f32[32,8] = P(%d, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t) return (%y user_output) } })"),
                                 pass),
            3u);
  // The weight, its scales and sums.
  EXPECT_EQ(ThingsThatAreCounted(exir::WithOperators(R"(program edge {
    constants { constant "w": i8[8,32] constant "s": f32[8] }
    graph(%w: i8[8,32] tensor_constant "w", %s: f32[8] tensor_constant "s",
          %q: i8[2,32] user_input, %qs: f32[2,1] user_input, %qz: i64[2,1] user_input) {
      %x: f32[2,32] = R(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %d: f32[8,32] = C(%w, %s, none, 0, -127, 127, dtype:i8)
      %t: f32[32,8] = P(%d, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t) return (%y user_output) } })"),
                                 pass),
            3u);
}

TEST(PackedConstants, ChargesConvolutionWeights) {
  EXPECT_EQ(ThingsThatAreCounted(exir::WithOperators(R"(program edge {
    constants { constant "w": f32[8,3,3,3] constant "d": f32[8,1,3,3] }
    graph(%w: f32[8,3,3,3] tensor_constant "w", %d: f32[8,1,3,3] tensor_constant "d",
          %x: f32[1,3,9,9] user_input) {
      %y: f32[1,8,7,7] = Conv(%x, %w, none, [1], [0], [1], false, [0], 1)
      %z: f32[1,8,5,5] = Conv(%y, %d, none, [1], [0], [1], false, [0], 8)
      return (%z user_output) } })"),
                                 LowerConv2d()),
            3u);  // filters are reordered before packing
  EXPECT_EQ(ThingsThatAreCounted(exir::WithOperators(R"(program edge {
    constants { constant "w": i8[8,1,3,3] }
    graph(%w: i8[8,1,3,3] tensor_constant "w", %x: u8[1,8,9,9] user_input) {
      %i: f32[1,8,9,9] = D(%x, 0.5, 3, 0, 255, dtype:u8)
      %d: f32[8,1,3,3] = D(%w, 0.5, 0, -127, 127, dtype:i8)
      %z: f32[1,8,7,7] = Conv(%i, %d, none, [1], [0], [1], false, [0], 8)
      return (%z user_output) } })"),
                                 LowerConv2d()),
            3u);
}

TEST(PackedConstants, ChargesConstantsOfOtherPasses) {
  EXPECT_EQ(ThingsThatAreCounted(R"(program edge {
    constants { constant "w": f16[3,4] }
    graph(%w: f16[3,4] tensor_constant "w", %x: f16[2,3] user_input) {
      %y: f16[2,4] = edge.aten.mm.default(%x, %w) return (%y user_output) } })",
                                 WidenProducts()),
            1u);
  EXPECT_EQ(ThingsThatAreCounted(R"(program edge {
    constants { constant "w": f32[4,3] constant "b": f32[3] }
    graph(%w: f32[4,3] tensor_constant "w", %b: f32[3] tensor_constant "b", %x: f32[2,4] user_input) {
      %y: f32[2,3] = edge.aten.addmm.default(%b, %x, %w) return (%y user_output) } })",
                                 NarrowProducts()),
            1u);
  FusedHandles handles;
  EXPECT_EQ(ThingsThatAreCounted(R"(program edge {
    constants { constant "w": f32[256] constant "b": f32[8,1,1] }
    graph(%w: f32[256] tensor_constant "w", %b: f32[8,1,1] tensor_constant "b",
          %x: f32[1,8,4,8] user_input) {
      %y: f32[1,8,4,8] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %z: f32[1,8,4,8] = edge.aten.add.Tensor(%y, %b)
      return (%z user_output) } })",
                                 FuseEpilogues(handles)),
            1u);
}

// A column is padded to a panel: 32 times its size in the file.
TEST(PackedConstants, ChargesThePaddedSize) {
  FusedHandles handles;
  Budget budget;
  EXPECT_OK(RunPass(R"(program edge {
    constants { constant "w": f32[1024,1] }
    graph(%w: f32[1024,1] tensor_constant "w", %x: f32[2,1024] user_input) {
      %y: f32[2,1] = edge.aten.mm.default(%x, %w) return (%y user_output) } })",
                    LowerLinear(handles), budget));
  EXPECT_EQ(budget.bytes.taken, 1024 * 32 * sizeof(float));
}

}  // namespace
}  // namespace belay::cpu
