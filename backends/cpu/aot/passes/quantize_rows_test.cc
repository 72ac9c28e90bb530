#include "backends/cpu/aot/passes/quantize_rows.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

constexpr std::string_view kLinear = "backend.belay_cpu.weight_only_linear.default";

// A linear layer [rows, 64] x [64, 32] of `input` with `scales` scales.
std::string Linear(std::string_view rows, std::string_view input, std::string_view format,
                   std::string_view weight, int scales, int group, bool zeros = false) {
  const std::string type = absl::StrCat("f32[", rows, ",64]");
  return absl::StrCat(
      "program edge {\n constants { constant \"w\": ", weight, " constant \"s\": f32[", scales,
      "] }\n ranges { s0: [1,99] }\n graph(%w: ", weight, " tensor_constant \"w\", %s: f32[",
      scales, "] tensor_constant \"s\", %x: ", type, " user_input) {\n %n: ", type,
      " = backend.belay_cpu.rms_norm.default(%x, none, 0.001)\n %y: f32[", rows, ",32] = ", kLinear,
      "(%", input, ", %w, %s, ", zeros ? "%s" : "none", ", none, none, 32, \"", format, "\", ",
      group, ", \"none\", \"add\", -inf, inf)\n return (%y user_output, %n user_output) } }");
}

void ExpectQuantized(RowQuantization quantization, std::string_view before,
                     std::string_view after) {
  exir::ExpectRewrite(before, QuantizeRows(quantization).run, after, CpuPassTestOps());
}
void ExpectLeft(RowQuantization quantization, std::string_view program) {
  exir::ExpectUnchanged(program, QuantizeRows(quantization).run, CpuPassTestOps());
}

TEST(QuantizeRows, QuantizesAllToInt8) {
  constexpr auto kInt8 = RowQuantization::kInt8;
  for (const std::string_view rows : {"2", "s0"}) {
    for (const std::string_view x : {"x", "n"}) {
      ExpectQuantized(kInt8, Linear(rows, x, "int8", "i8[2048]", 64, 32),
                      Linear(rows, x, "int8_by_int8", "i8[2048]", 64, 32));
      ExpectQuantized(kInt8, Linear(rows, x, "int4", "i32[256]", 32, 64),
                      Linear(rows, x, "int4_by_int8", "i32[256]", 32, 64));
      // One group.
      ExpectQuantized(kInt8, Linear(rows, x, "int8", "i8[2048]", 32, 99),
                      Linear(rows, x, "int8_by_int8", "i8[2048]", 32, 99));
    }
  }
}

TEST(QuantizeRows, QuantizesUnknownNumbersOfRowsToInt8AfterNorms) {
  constexpr auto kManyRows = RowQuantization::kManyRows;
  ExpectQuantized(kManyRows, Linear("s0", "n", "int8", "i8[2048]", 64, 32),
                  Linear("s0", "n", "int8_by_int8", "i8[2048]", 64, 32));
  ExpectQuantized(kManyRows, Linear("s0", "n", "int4", "i32[256]", 32, 64),
                  Linear("s0", "n", "int4_by_int8", "i32[256]", 32, 64));
  ExpectQuantized(kManyRows, Linear("s0", "x", "int8", "i8[2048]", 64, 32),
                  Linear("s0", "x", "int8_by_int16", "i8[2048]", 64, 32));
  ExpectQuantized(kManyRows, Linear("s0", "x", "int4", "i32[256]", 32, 64),
                  Linear("s0", "x", "int4_by_int16", "i32[256]", 32, 64));
}

TEST(QuantizeRows, QuantizesBatches) {
  ExpectQuantized(RowQuantization::kManyRows, Linear("8", "n", "int8", "i8[2048]", 64, 32),
                  Linear("8", "n", "int8_by_int8", "i8[2048]", 64, 32));
}

TEST(QuantizeRows, LeavesFewRows) {
  ExpectLeft(RowQuantization::kManyRows, Linear("7", "n", "int8", "i8[2048]", 64, 32));
}

// Zero points, groups of half a block, and quantized rows.
TEST(QuantizeRows, LeavesOthers) {
  for (const auto quantization : {RowQuantization::kManyRows, RowQuantization::kInt8}) {
    ExpectLeft(quantization, Linear("s0", "x", "int8", "i8[2048]", 64, 32, true));
    ExpectLeft(quantization, Linear("s0", "x", "int8", "i8[2048]", 128, 16));
    ExpectLeft(quantization, Linear("s0", "x", "int8_by_int8", "i8[2048]", 64, 32));
  }
}

}  // namespace
}  // namespace belay::cpu
