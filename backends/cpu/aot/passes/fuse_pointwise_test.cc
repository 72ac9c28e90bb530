#include "backends/cpu/aot/passes/fuse_pointwise.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

std::string Program(std::string_view nodes) {
  return absl::StrCat(
      R"(program edge { graph(%x: f32[2,30,80] user_input, %y: f32[2,30,80] user_input,
      %row: f32[80] user_input, %keep: b8[30,1] user_input, %h: bf16[2,30,80] user_input,
      %f: f16[2,30,80] user_input, %q: u8[2,30,80] user_input) { )",
      nodes, " } }");
}
void ExpectFused(std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(Program(before), FusePointwise(handles).run, Program(after),
                      CpuPassTestOps());
}
void ExpectNotFused(std::string_view nodes) {
  FusedHandles handles;
  exir::ExpectUnchanged(Program(nodes), FusePointwise(handles).run, CpuPassTestOps());
}

TEST(FusePointwise, FusesProducersWithoutOtherUsers) {
  ExpectFused(R"(
      %s: f32[2,30,80] = edge.aten.sigmoid.default(%x)
      %o: f32[2,30,80] = edge.aten.mul.Tensor(%x, %s)
      return (%o user_output))",
              R"(
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%x], "sigmoid mul", [0,0,1], [])
      return (%o user_output))");
}

TEST(FusePointwise, SharesScalarsAndInputs) {
  ExpectFused(R"(
      %a: f32[2,30,80] = edge.aten.mul.Scalar(%x, 0.5)
      %b: f32[2,30,80] = edge.aten.add.Tensor(%a, %y)
      %c: f32[2,30,80] = edge.aten.clamp.default(%b, -1, 1)
      %d: f32[2,30,80] = edge.aten.mul.Scalar(%y, 0.5)
      %o: f32[2,30,80] = edge.aten.sub.Tensor(%c, %d)
      return (%o user_output))",
              R"(
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%x, %y], "mul add clamp mul sub", [0,2,5,1,6,3,4,1,2,7,8], [0.5,-1.0,1.0])
      return (%o user_output))");
}

TEST(FusePointwise, BroadcastOperandsRemainInputs) {
  ExpectFused(R"(
      %r: f32[80] = edge.aten.exp.default(%row)
      %a: f32[2,30,80] = edge.aten.mul.Tensor(%x, %r)
      %o: f32[2,30,80] = edge.aten.where.self(%keep, %a, %y)
      return (%o user_output))",
              R"(
      %r: f32[80] = edge.aten.exp.default(%row)
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%x, %r, %keep, %y], "mul where", [0,1,2,4,3], [])
      return (%o user_output))");
}

TEST(FusePointwise, TruthValuesAreInternal) {
  ExpectFused(R"(
      %p: b8[2,30,80] = edge.aten.gt.Scalar(%x, 0)
      %a: f32[2,30,80] = edge.aten.mul.Tensor(%x, %row)
      %o: f32[2,30,80] = edge.aten.where.self(%p, %x, %a)
      return (%o user_output))",
              R"(
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%x, %row], "gt mul where", [0,2,0,1,3,0,4], [0.0])
      return (%o user_output))");
}

TEST(FusePointwise, KeepsValuesWithOtherUsers) {
  ExpectNotFused(R"(
      %s: f32[2,30,80] = edge.aten.sigmoid.default(%x)
      %o: f32[2,30,80] = edge.aten.mul.Tensor(%x, %s)
      return (%o user_output, %s user_output))");
}

TEST(FusePointwise, RoundsEachResultOfBFloat16) {
  ExpectFused(R"(
      %s: bf16[2,30,80] = edge.aten.sigmoid.default(%h)
      %o: bf16[2,30,80] = edge.aten.mul.Tensor(%h, %s)
      return (%o user_output))",
              R"(
      %o: bf16[2,30,80] = backend.belay_cpu.pointwise.default([%h], "sigmoid bfloat16 mul bfloat16", [0,1,0,2,3], [])
      return (%o user_output))");
}

TEST(FusePointwise, ConvertsInputsAndResults) {
  ExpectFused(R"(
      %w: f32[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%h, dtype=dtype:f32, dim_order=[0,1,2])
      %o: f32[2,30,80] = edge.aten.relu.default(%w)
      return (%o user_output, %w user_output))",
              R"(
      %w: f32[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%h, dtype=dtype:f32, dim_order=[0,1,2])
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%h], "relu", [0], [])
      return (%o user_output, %w user_output))");
  ExpectFused(R"(
      %s: f32[2,30,80] = edge.aten.add.Tensor(%x, %y)
      %n: bf16[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%s, dtype=dtype:bf16, dim_order=[0,1,2])
      %w: f32[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%n, dtype=dtype:f32, dim_order=[0,1,2])
      %o: f32[2,30,80] = edge.aten.mul.Tensor(%w, %x)
      return (%o user_output))",
              R"(
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%x, %y], "add bfloat16 mul", [0,1,2,3,0], [])
      return (%o user_output))");
  ExpectFused(R"(
      %s: f32[2,30,80] = edge.aten.add.Tensor(%x, %y)
      %n: bf16[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%s, dtype=dtype:bf16, dim_order=[0,1,2])
      return (%n user_output))",
              R"(
      %n: bf16[2,30,80] = backend.belay_cpu.pointwise.default([%x, %y], "add bfloat16", [0,1,2], [])
      return (%n user_output))");
}

TEST(FusePointwise, KeepsConversionsWithoutOperators) {
  ExpectNotFused(R"(
      %w: f32[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%h, dtype=dtype:f32, dim_order=[0,1,2])
      %n: bf16[2,30,80] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:bf16, dim_order=[0,1,2])
      return (%n user_output))");
}

TEST(FusePointwise, RejectsOtherTypesAndScalars) {
  ExpectNotFused(R"(
      %s: f16[2,30,80] = edge.aten.sigmoid.default(%f)
      %o: f16[2,30,80] = edge.aten.mul.Tensor(%f, %s)
      return (%o user_output))");
  ExpectNotFused(R"(
      %s: f32[2,30,80] = edge.aten.pow.Tensor_Scalar(%x, 0.3)
      %o: f32[2,30,80] = edge.aten.mul.Tensor(%x, %s)
      return (%o user_output))");
  ExpectNotFused(R"(
      %s: f32[2,30,80] = edge.aten.sigmoid.default(%x)
      %o: f32[2,30,80] = edge.aten.add.Tensor(%x, %s, alpha=2)
      return (%o user_output))");
  ExpectNotFused(R"(
      %o: f32[2,30,80] = edge.aten.sigmoid.default(%x)
      return (%o user_output))");
}

constexpr char kDequantize[] =
    "edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, 0, 255, dtype:u8)";
constexpr char kQuantize[] =
    "edge.quantized_decomposed.quantize_per_tensor.default(%p, 0.25, 7, 0, 255, dtype:u8)";

TEST(FusePointwise, ReadsAndWritesBytes) {
  ExpectFused(absl::StrCat("%d: f32[2,30,80] = ", kDequantize, R"(
      %p: f32[2,30,80] = edge.aten.mul.Tensor(%d, %row)
      %o: u8[2,30,80] = )",
                           kQuantize, "return (%o user_output)"),
              R"(
      %o: u8[2,30,80] = backend.belay_cpu.pointwise.default([%q, %row], "dequantize mul quantize", [0,2,3,8,1,9,4,5,6,7], [3.0,0.5,4.0,7.0,0.0,255.0])
      return (%o user_output))");
}

TEST(FusePointwise, DequantizesAgainForOtherUsers) {
  const std::string dequantize = absl::StrCat("%d: f32[2,30,80] = ", kDequantize);
  ExpectFused(absl::StrCat(dequantize, R"(
      %m: f32[2,30,1] = edge.aten.mean.dim(%d, [2], true)
      %a: f32[2,30,80] = edge.aten.sigmoid.default(%d)
      %o: f32[2,30,80] = edge.aten.mul.Tensor(%a, %row)
      return (%o user_output, %m user_output))"),
              absl::StrCat(dequantize, R"(
      %m: f32[2,30,1] = edge.aten.mean.dim(%d, [2], true)
      %o: f32[2,30,80] = backend.belay_cpu.pointwise.default([%q, %row], "dequantize sigmoid mul", [0,2,3,4,5,1], [3.0,0.5])
      return (%o user_output, %m user_output))"));
}

TEST(FusePointwise, KeepsLoneConversionsOfBytes) {
  ExpectNotFused(absl::StrCat("%o: f32[2,30,80] = ", kDequantize, "return (%o user_output)"));
  ExpectNotFused(absl::StrCat("%p: f32[2,30,80] = edge.aten.softmax.int(%x, -1)",
                              "%o: u8[2,30,80] = ", kQuantize, "return (%o user_output)"));
}

TEST(FusePointwise, KeepsSmallTensors) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge { graph(%x: f32[7,73] user_input) {
      %s: f32[7,73] = edge.aten.sigmoid.default(%x)
      %o: f32[7,73] = edge.aten.mul.Tensor(%x, %s)
      return (%o user_output) } })",
                        FusePointwise(handles).run, CpuPassTestOps());
}

TEST(FusePointwise, LimitsSteps) {
  std::string nodes = "%v0: f32[2,30,80] = edge.aten.exp.default(%x) ";
  for (int i = 1; i <= 16; ++i) {
    absl::StrAppend(&nodes, "%v", i, ": f32[2,30,80] = edge.aten.exp.default(%v", i - 1, ") ");
  }
  std::string names = "exp", operands = "0";
  for (int i = 1; i < 16; ++i) {
    absl::StrAppend(&names, " exp");
    absl::StrAppend(&operands, ",", i);
  }
  ExpectFused(absl::StrCat(nodes, "return (%v16 user_output)"),
              absl::StrCat("%v0: f32[2,30,80] = edge.aten.exp.default(%x) "
                           "%v16: f32[2,30,80] = backend.belay_cpu.pointwise.default([%v0], \"",
                           names, "\", [", operands, "], []) return (%v16 user_output)"));
}

}  // namespace
}  // namespace belay::cpu
