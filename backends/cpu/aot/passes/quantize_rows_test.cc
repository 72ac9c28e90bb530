#include "backends/cpu/aot/passes/quantize_rows.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// A linear layer [2, 64] x [64, 32] with `scales` scales.
std::string Linear(std::string_view format, std::string_view weight, int scales, int group,
                   bool zeros = false) {
  return absl::StrCat(
      "program edge {\n constants { constant \"w\": ", weight, " constant \"s\": f32[", scales,
      "] }\n graph(%w: ", weight, " tensor_constant \"w\", %s: f32[", scales,
      "] tensor_constant \"s\", %x: f32[2,64] user_input) {\n %y: f32[2,32] = "
      "backend.belay_cpu.weight_only_linear.default(%x, %w, ",
      group == 0 ? "none" : "%s", ", ", zeros ? "%s" : "none", ", none, none, 32, \"", format,
      "\", ", group, ", \"none\", \"add\", -inf, inf)\n return (%y user_output) } }");
}

void ExpectQuantized(std::string_view before, std::string_view after) {
  exir::ExpectRewrite(before, QuantizeRows().run, after, CpuPassTestOps());
}
void ExpectLeft(std::string_view program) {
  exir::ExpectUnchanged(program, QuantizeRows().run, CpuPassTestOps());
}

TEST(QuantizeRows, ChangesTheFormat) {
  ExpectQuantized(Linear("int8", "i8[2048]", 64, 32), Linear("int8_by_int8", "i8[2048]", 64, 32));
  ExpectQuantized(Linear("int4", "i32[256]", 32, 64), Linear("int4_by_int8", "i32[256]", 32, 64));
  // One group.
  ExpectQuantized(Linear("int8", "i8[2048]", 32, 99), Linear("int8_by_int8", "i8[2048]", 32, 99));
}

// Zero points, groups of half a block, and what is changed already.
TEST(QuantizeRows, LeavesOthers) {
  ExpectLeft(Linear("int8", "i8[2048]", 64, 32, true));
  ExpectLeft(Linear("int8", "i8[2048]", 128, 16));
  ExpectLeft(Linear("int8_by_int8", "i8[2048]", 64, 32));
}

}  // namespace
}  // namespace belay::cpu
