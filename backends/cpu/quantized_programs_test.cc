// Programs with quantized weights or activations, executed on integers or bfloat16, and compared
// with the interpreted original program.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/cpu_testing.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/testing/program_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"

namespace belay::cpu {
namespace {

using exir::OwnedValue;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class QuantizedProgramsTest : public CpuTest {};

// The PT2E form: everything between two operators is quantized. Scales are powers of two, so that
// float32 sums are exact.
TEST_F(QuantizedProgramsTest, QuantizedConvolutionsComputeOnBytes) {
  const std::string text = exir::WithOperators(
      R"(program edge {
    constants { state "stem": i8[24,3,3,3] state "dw": i8[24,1,3,3] state "pw": i8[24,24,1,1]
                state "fc": i8[7,24] state "b": f32[24] state "c": f32[7]
                state "scale": f32[24] state "scale_fc": f32[7] state "zero": i64[24] }
    graph(%stem: i8[24,3,3,3] buffer "stem", %dw: i8[24,1,3,3] buffer "dw",
          %pw: i8[24,24,1,1] buffer "pw", %fc: i8[7,24] buffer "fc", %b: f32[24] parameter "b",
          %c: f32[7] parameter "c", %s: f32[24] buffer "scale", %sf: f32[7] buffer "scale_fc",
          %z: i64[24] buffer "zero", %x: f32[2,3,17,16] user_input) {
      %q0: i8[2,3,17,16] = Q(%x, 0.0078125, 3, -128, 127, dtype:i8)
      %d0: f32[2,3,17,16] = D(%q0, 0.0078125, 3, -128, 127, dtype:i8)
      %w0: f32[24,3,3,3] = C(%stem, %s, %z, 0, -127, 127, dtype:i8)
      %y0: f32[2,24,9,8] = edge.aten.convolution.default(%d0, %w0, %b, [2,2], [1,1], [1,1], false, [0,0], 1)
      %r0: f32[2,24,9,8] = edge.aten.relu.default(%y0)
      %q1: i8[2,24,9,8] = Q(%r0, 0.0625, -128, -128, 127, dtype:i8)
      %d1: f32[2,24,9,8] = D(%q1, 0.0625, -128, -128, 127, dtype:i8)
      %m: f32[2,24,5,4], %i: i64[2,24,5,4] = edge.aten.max_pool2d_with_indices.default(%d1, [3,3], [2,2], [1,1])
      %q2: i8[2,24,5,4] = Q(%m, 0.0625, -128, -128, 127, dtype:i8)
      %d2: f32[2,24,5,4] = D(%q2, 0.0625, -128, -128, 127, dtype:i8)
      %d2b: f32[2,24,5,4] = D(%q2, 0.0625, -128, -128, 127, dtype:i8)
      %p: f32[2,24,7,6] = edge.aten.constant_pad_nd.default(%d2, [1,1,1,1], 0.0)
      %q3: i8[2,24,7,6] = Q(%p, 0.03125, -128, -128, 127, dtype:i8)
      %d3: f32[2,24,7,6] = D(%q3, 0.03125, -128, -128, 127, dtype:i8)
      %w1: f32[24,1,3,3] = C(%dw, %s, %z, 0, -127, 127, dtype:i8)
      %y1: f32[2,24,5,4] = edge.aten.convolution.default(%d3, %w1, none, [1,1], [0,0], [1,1], false, [0,0], 24)
      %q4: i8[2,24,5,4] = Q(%y1, 0.125, -5, -128, 127, dtype:i8)
      %d4: f32[2,24,5,4] = D(%q4, 0.125, -5, -128, 127, dtype:i8)
      %h: f32[2,24,5,4] = edge.aten.hardtanh.default(%d4, 0.0, 6.0)
      %q5: i8[2,24,5,4] = Q(%h, 0.125, -5, -128, 127, dtype:i8)
      %d5: f32[2,24,5,4] = D(%q5, 0.125, -5, -128, 127, dtype:i8)
      %q6: i8[2,24,5,4] = Q(%d5, 0.0234375, -128, -128, 127, dtype:i8)
      %d6: f32[2,24,5,4] = D(%q6, 0.0234375, -128, -128, 127, dtype:i8)
      %w2: f32[24,24,1,1] = C(%pw, %s, %z, 0, -127, 127, dtype:i8)
      %y2: f32[2,24,5,4] = edge.aten.convolution.default(%d6, %w2, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
      %q7: i8[2,24,5,4] = Q(%y2, 0.25, 7, -128, 127, dtype:i8)
      %d7: f32[2,24,5,4] = D(%q7, 0.25, 7, -128, 127, dtype:i8)
      %a: f32[2,24,5,4] = edge.aten.add.Tensor(%d7, %d2b)
      %r: f32[2,24,5,4] = edge.aten.relu.default(%a)
      %q8: i8[2,24,5,4] = Q(%r, 0.125, -128, -128, 127, dtype:i8)
      %d8: f32[2,24,5,4] = D(%q8, 0.125, -128, -128, 127, dtype:i8)
      %v: f32[2,24,1,1] = edge.aten.amax.default(%d8, [2,3], true)
      %q8b: i8[2,24,1,1] = Q(%v, 0.125, -128, -128, 127, dtype:i8)
      %d8b: f32[2,24,1,1] = D(%q8b, 0.125, -128, -128, 127, dtype:i8)
      %n: f32[2,24,1,1] = edge.aten.neg.default(%d8b)
      %o: f32[2,24,1,1] = edge.aten.add.Scalar(%n, 1)
      %q9: i8[2,24,1,1] = Q(%o, 0.125, 120, -128, 127, dtype:i8)
      %d9: f32[2,24,1,1] = D(%q9, 0.125, 120, -128, 127, dtype:i8)
      %f: f32[2,24] = edge.aten.view_copy.default(%d9, [2,24])
      %q10: i8[2,24] = Q(%f, 0.125, 120, -128, 127, dtype:i8)
      %d10: f32[2,24] = D(%q10, 0.125, 120, -128, 127, dtype:i8)
      %w3: f32[7,24] = C(%fc, %sf, none, 0, -127, 127, dtype:i8)
      %t: f32[24,7] = edge.aten.permute_copy.default(%w3, [1,0])
      %y3: f32[2,7] = edge.aten.addmm.default(%c, %d10, %t)
      %q11: i8[2,7] = Q(%y3, 1.5, 7, -128, 127, dtype:i8)
      %d11: f32[2,7] = D(%q11, 1.5, 7, -128, 127, dtype:i8)
      return (%d11 user_output, %d8 user_output) } })");
  std::vector<std::string> operators;
  ExpectSame(text,
             {{RandomTensor({2, 3, 17, 16}, random_)}, {RandomTensor({2, 3, 17, 16}, random_)}}, 3,
             exir::kSameBits, &operators);
  EXPECT_THAT(
      operators,
      ElementsAre("aten.amax.default", "belay_cpu.lookup.default", "belay_cpu.max_pool2d.default",
                  "belay_cpu.pointwise.default", "belay_cpu.quantized_add.default",
                  "belay_cpu.quantized_conv2d.default",
                  "belay_cpu.quantized_depthwise_conv2d.default",
                  "belay_cpu.quantized_linear.default", "dim_order_ops._to_dim_order_copy.default",
                  "quantized_decomposed.dequantize_per_tensor.default",
                  "quantized_decomposed.quantize_per_tensor.default"));
}

// Two layers, per channel and in groups, with 1, 3 and 27 rows, and one bfloat16 layer.
TEST_F(QuantizedProgramsTest, WeightOnlyQuantizationIsPreserved) {
  constexpr std::string_view kProgram = R"(program edge {
    ranges { s0: [1,9] }
    constants { state "eight": i8[32,24] state "b": f32[32] state "scale": f32[32]
                state "zero": i64[32] state "four": i8[30,32] state "scale_four": f32[30,2]
                state "half": bf16[8,30] }
    graph(%w: i8[32,24] buffer "eight", %b: f32[32] parameter "b", %s: f32[32] buffer "scale",
          %z: i64[32] buffer "zero", %v: i8[30,32] buffer "four", %t: f32[30,2] buffer "scale_four",
          %h: bf16[8,30] parameter "half", %x: f32[s0,3,24] user_input, %one: f32[1,24] user_input,
          %u: f32[1,8] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(3*s0) = _operator.mul(%n, 3)
      %rows: f32[3*s0,24] = edge.aten.view_copy.default(%x, [%m,24])
      %wd: f32[32,24] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -127, 127, dtype:i8)
      %wt: f32[24,32] = edge.aten.permute_copy.default(%wd, [1,0])
      %a: f32[3*s0,32] = edge.aten.addmm.default(%b, %rows, %wt)
      %av: f32[s0,3,32] = edge.aten.view_copy.default(%a, [%n,3,32])
      %g: f32[s0,3,32] = edge.aten.gelu.default(%av)
      %gr: f32[3*s0,32] = edge.aten.view_copy.default(%g, [%m,32])
      %vd: f32[30,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%v, %t, none, -8, 7, dtype:i8, 16, dtype:f32)
      %vt: f32[32,30] = edge.aten.permute_copy.default(%vd, [1,0])
      %o: f32[3*s0,30] = edge.aten.mm.default(%gr, %vt)
      %r: f32[3*s0,30] = edge.aten.relu.default(%o)
      %hd: f32[8,30] = edge.dim_order_ops._to_dim_order_copy.default(%h, dtype=dtype:f32)
      %p: f32[1,30] = edge.aten.mm.default(%u, %hd)
      %sum: f32[3*s0,30] = edge.aten.add.Tensor(%p, %r)
      %q: f32[1,32] = edge.aten.mm.default(%one, %wt)
      return (%sum user_output, %q user_output) } })";
  exir::CallSequence calls(2);
  for (size_t i = 0; i < 2; ++i) {
    calls[i] = {RandomTensor({i == 0 ? 1 : 9, 3, 24}, random_), RandomTensor({1, 24}, random_),
                RandomTensor({1, 8}, random_)};
  }
  std::vector<std::string> operators;
  compile_specs_ = {{"precision", "program"}};
  ExpectSame(kProgram, calls, 3, kClose, &operators);
  EXPECT_THAT(operators, Contains("belay_cpu.weight_only_linear.default"));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("dequantize"))));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("gelu"))));
  // 27 rows are quantized to 16 bits, or to 8.
  compile_specs_ = {};
  ExpectSame(kProgram, calls, 3, {.atol = 2e-4, .rtol = 1e-3});
  compile_specs_ = {{"precision", "int8"}};
  ExpectSame(kProgram, calls, 3, {.atol = 0.05, .rtol = 0.05});
}

// Two layers: per-row scales with grouped weights, reshapes and a gate, and one scale per input
// with per-channel weights and a bias.
TEST_F(QuantizedProgramsTest, DynamicQuantizationComputesOnBytes) {
  std::vector<std::string> operators;
  ExpectSame(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "four": i8[30,32] state "scale_four": f32[30,2] state "eight": i8[20,30]
                state "scale": f32[20] state "b": f32[20] }
    graph(%v: i8[30,32] buffer "four", %t: f32[30,2] buffer "scale_four",
          %w: i8[20,30] buffer "eight", %s: f32[20] buffer "scale", %b: f32[20] parameter "b",
          %x: f32[s0,3,32] user_input, %gate: f32[s0,3,30] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(3*s0) = _operator.mul(%n, 3)
      %xs: f64[s0,3,1], %xz: i64[s0,3,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%x, dtype:i8)
      %q: i8[s0,3,32] = edge.quantized_decomposed.quantize_per_token.default(%x, %xs, %xz, -128, 127, dtype:i8)
      %d: f32[s0,3,32] = edge.quantized_decomposed.dequantize_per_token.default(%q, %xs, %xz, -128, 127, dtype:i8, dtype:f32)
      %rows: f32[3*s0,32] = edge.aten.view_copy.default(%d, [%m,32])
      %vd: f32[30,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%v, %t, none, -8, 7, dtype:i8, 16, dtype:f32)
      %vt: f32[32,30] = edge.aten.permute_copy.default(%vd, [1,0])
      %o: f32[3*s0,30] = edge.aten.mm.default(%rows, %vt)
      %ov: f32[s0,3,30] = edge.aten.view_copy.default(%o, [%n,3,30])
      %sig: f32[s0,3,30] = edge.aten.sigmoid.default(%ov)
      %gated: f32[s0,3,30] = edge.aten.mul.Tensor(%sig, %gate)
      %g: f32[3*s0,30] = edge.aten.view_copy.default(%gated, [%m,30])
      %gs: f64[1], %gz: i64[1] = edge.quantized_decomposed.choose_qparams.tensor(%g, 0, 255, 1e-07, dtype:u8)
      %gq: u8[3*s0,30] = edge.quantized_decomposed.quantize_per_tensor.tensor(%g, %gs, %gz, 0, 255, dtype:u8)
      %gd: f32[3*s0,30] = edge.quantized_decomposed.dequantize_per_tensor.tensor(%gq, %gs, %gz, 0, 255, dtype:u8)
      %wd: f32[20,30] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %wt: f32[30,20] = edge.aten.permute_copy.default(%wd, [1,0])
      %y: f32[3*s0,20] = edge.aten.addmm.default(%b, %gd, %wt)
      %r: f32[3*s0,20] = edge.aten.relu.default(%y)
      return (%gated user_output, %r user_output) } })",
             {{RandomTensor({1, 3, 32}, random_), RandomTensor({1, 3, 30}, random_)},
              {RandomTensor({9, 3, 32}, random_), RandomTensor({9, 3, 30}, random_)}},
             3, kClose, &operators);
  EXPECT_THAT(operators, Contains("belay_cpu.dynamic_quantized_linear.default"));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("dequantize"))));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("sigmoid"))));
  EXPECT_THAT(operators, Not(Contains("aten.mm.default")));
}

TEST_F(QuantizedProgramsTest, NamesAZeroPointOutOfRange) {
  const exir::ExportedProgram program = ParseWithNumbers(R"(program edge {
    constants { state "eight": i8[4,8] state "scale": f32[4] }
    graph(%w: i8[4,8] buffer "eight", %s: f32[4] buffer "scale", %q: i8[2,8] user_input,
          %xs: f32[2,1] user_input, %xz: i64[2,1] user_input) {
      %d: f32[2,8] = edge.quantized_decomposed.dequantize_per_token.default(%q, %xs, %xz, -128, 127, dtype:i8, dtype:f32)
      %wd: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %wt: f32[8,4] = edge.aten.permute_copy.default(%wd, [1,0])
      %y: f32[2,4] = edge.aten.mm.default(%d, %wt)
      return (%y user_output) } })",
                                                         *ops_);
  auto lowered = Lower(program);
  ASSERT_OK(lowered.status());
  auto file = Emit(*std::move(lowered));
  ASSERT_OK(file.status());
  auto method = Method::Load(*file, "forward", kernels_, registry_);
  ASSERT_OK(method.status());
  OwnedValue zeros = Tensor(DType::kInt64, {2, 1});
  zeros.tensor()->as<int64_t>()[1] = 128;
  const auto results = exir::RunCalls(
      *method, {{Tensor(DType::kInt8, {2, 8}), RandomTensor({2, 1}, random_), std::move(zeros)}});
  EXPECT_THAT(results.back().status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("input_zeros: expected numbers from -128 to 127, got 128")));
}

TEST_F(QuantizedProgramsTest, ProgramsOfBFloat16AndFloat16SumInFloat32) {
  for (const auto& [dtype, prefix] :
       {std::pair("bf16", "belay_cpu.bfloat16_"), std::pair("f16", "belay_cpu.")}) {
    const std::string text = exir::Replaced(
        R"(program edge {
    constants { state "w": T[16,3,3,3] state "b": T[16] state "v": T[20,16] state "c": T[20] }
    graph(%w: T[16,3,3,3] parameter "w", %b: T[16] parameter "b", %v: T[20,16] parameter "v",
          %c: T[20] parameter "c", %x: T[1,3,9,8] user_input, %k: T[1,20,4] user_input) {
      %f: T[1,16,9,8] = edge.aten.convolution.default(%x, %w, %b, [1,1], [1,1], [1,1], false, [0,0], 1)
      %r: T[1,16,9,8] = edge.aten.relu.default(%f)
      %p: T[1,9,8,16] = edge.aten.permute_copy.default(%r, [0,2,3,1])
      %rows: T[72,16] = edge.aten.view_copy.default(%p, [72,16])
      %t: T[16,20] = edge.aten.permute_copy.default(%v, [1,0])
      %y: T[72,20] = edge.aten.addmm.default(%c, %rows, %t)
      %q: T[1,72,20] = edge.aten.view_copy.default(%y, [1,72,20])
      %z: T[1,72,4] = edge.aten.bmm.default(%q, %k)
      return (%z user_output) } })",
        {{"T[", absl::StrCat(dtype, "[")}});
    exir::CallSequence calls(1);
    if (std::string_view(dtype) == "bf16") {
      calls[0].push_back(RandomTensor<BFloat16>({1, 3, 9, 8}, random_));
      calls[0].push_back(RandomTensor<BFloat16>({1, 20, 4}, random_));
    } else {
      calls[0].push_back(RandomTensor<Half>({1, 3, 9, 8}, random_));
      calls[0].push_back(RandomTensor<Half>({1, 20, 4}, random_));
    }
    std::vector<std::string> operators;
    // Ties may be rounded differently.
    ExpectSame(text, calls, 3, {.atol = 0.05, .rtol = 0.02}, &operators);
    EXPECT_THAT(operators, Contains(absl::StrCat(prefix, "linear.default")));
    EXPECT_THAT(operators, Contains(absl::StrCat(prefix, "conv2d.default")));
    EXPECT_THAT(operators, Not(Contains("aten.convolution.default")));
  }
}

// Operands are exact in bfloat16 and sums in float32: only the rounding of each result differs, by
// 2^-8.
TEST_F(QuantizedProgramsTest, Float32MatmulsComputeInBFloat16OnRequest) {
  constexpr std::string_view kProgram = R"(program edge {
    constants { state "w": f32[16,8,3,3] state "b": f32[16] state "v": f32[20,6] state "c": f32[20] }
    graph(%w: f32[16,8,3,3] parameter "w", %b: f32[16] parameter "b", %v: f32[20,6] parameter "v",
          %c: f32[20] parameter "c", %x: f32[1,8,9,8] user_input, %y: f32[5,6] user_input) {
      %f: f32[1,16,9,8] = edge.aten.convolution.default(%x, %w, %b, [1,1], [1,1], [1,1], false, [0,0], 1)
      %r: f32[1,16,9,8] = edge.aten.relu.default(%f)
      %t: f32[6,20] = edge.aten.permute_copy.default(%v, [1,0])
      %z: f32[5,20] = edge.aten.addmm.default(%c, %y, %t)
      return (%r user_output, %z user_output) } })";
  exir::CallSequence calls(1);
  calls[0].push_back(RandomTensor({1, 8, 9, 8}, random_));
  calls[0].push_back(RandomTensor({5, 6}, random_));
  std::vector<std::string> operators;
  ExpectSame(kProgram, calls, 3, exir::kSameBits, &operators);
  EXPECT_THAT(operators, IsSupersetOf({"belay_cpu.conv2d.default", "belay_cpu.linear.default"}));
  compile_specs_ = {{"precision", "bfloat16"}};
  ExpectSame(kProgram, calls, 3, {.rtol = 1.0 / 256}, &operators);
  EXPECT_THAT(operators, IsSupersetOf({"belay_cpu.bfloat16_conv2d.default",
                                       "belay_cpu.bfloat16_linear.default"}));
  EXPECT_THAT(operators, Not(Contains("belay_cpu.linear.default")));
}

// Images and filters are at most 1: S of winograd.h is at most 64 per channel for tiles of 2x2, and
// 9 * 256 for 4x4.
TEST_F(QuantizedProgramsTest, ConvolutionsUseWinograd) {
  constexpr std::string_view kProgram = R"(program edge {
    constants { state "w": f32[32,32,3,3] state "b": f32[32] }
    graph(%w: f32[32,32,3,3] parameter "w", %b: f32[32] parameter "b",
          %x: f32[1,32,14,17] user_input, %z: f32[1,32,14,17] user_input) {
      %y: f32[1,32,14,17] = edge.aten.convolution.default(%x, %w, %b, [1,1], [1,1], [1,1], false, [0,0], 1)
      %s: f32[1,32,14,17] = edge.aten.add.Tensor(%y, %z)
      %r: f32[1,32,14,17] = edge.aten.relu.default(%s)
      return (%r user_output) } })";
  exir::CallSequence calls(1);
  calls[0].push_back(RandomTensor({1, 32, 14, 17}, random_));
  calls[0].push_back(RandomTensor({1, 32, 14, 17}, random_));
  struct {
    std::string precision;
    double magnitude;
  } const variants[] = {{"program", 32 * 64}, {"winograd", 32 * 9 * 256}};
  for (const auto& variant : variants) {
    std::vector<std::string> operators;
    compile_specs_ = {{"precision", variant.precision}};
    ExpectSame(kProgram, calls, 3, {.atol = (32 + 24) * 0x1p-24 * (variant.magnitude + 2)},
               &operators);
    EXPECT_THAT(operators, Contains("belay_cpu.winograd_conv2d.default"));
    EXPECT_THAT(operators, Not(Contains("aten.relu.default")));
  }
}

}  // namespace
}  // namespace belay::cpu
