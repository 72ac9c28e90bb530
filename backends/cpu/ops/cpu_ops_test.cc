#include "backends/cpu/ops/cpu_ops.h"

#include <memory>
#include <string>

#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

const exir::OpRegistry& Ops() {
  static const exir::OpRegistry& ops = *[] {
    auto made = exir::CreateStandardOps();
    EXPECT_TRUE(made.ok() && AddCpuOps(**made).ok());
    return made->release();
  }();
  return ops;
}

// A program with one call, whose weight has `weight` floats.
std::string Call(std::string_view call, std::string_view result, std::string_view input,
                 int weight) {
  return absl::StrCat("program edge { constants { constant \"w\": f32[", weight,
                      "] } graph(%w: f32[", weight, "] tensor_constant \"w\", %x: ", input,
                      " user_input) { %y: ", result, " = backend.belay_cpu.", call,
                      " return (%y user_output) } }");
}

// Returns the type that the meta kernel infers, or its error.
std::string Inferred(std::string_view call, std::string_view input, int weight) {
  const exir::ExportedProgram program =
      exir::ParseOrDie(Call(call, "f32[1]", input, weight), Ops());
  const exir::Node& node = program.top().node(program.top().first());
  const auto outputs = exir::InferOutputs(program.top(), node.target, node.arguments, nullptr);
  if (!outputs.ok()) return std::string(outputs.status().message());
  return exir::PrintType(exir::ToValueType((*outputs)[0]));
}

TEST(CpuOps, AreBackendOperatorsInEdgePrograms) {
  const std::string text =
      Call("linear.default(%x, %w, none, none, 8, \"none\", \"add\", -inf, inf)", "f32[2,8]",
           "f32[2,3]", 96);
  const exir::ExportedProgram program = exir::ParseOrDie(text, Ops());
  EXPECT_OK(exir::Verify(program));
  EXPECT_EQ(program.top().node(program.top().first()).target->dialect(), exir::Dialect::kBackend);
  const exir::ExportedProgram again = exir::ParseOrDie(exir::PrintProgram(program), Ops());
  EXPECT_TRUE(exir::Equal(program, again));
  EXPECT_EQ(CpuOp("linear")->text_name(), "backend.belay_cpu.linear.default");
}

TEST(CpuOps, LinearReturnsContiguousRows) {
  EXPECT_EQ(Inferred("linear.default(%x, %w, none, none, 8, \"none\", \"add\", -inf, inf)",
                     "f32[2,5,3]{strides=[15,1,5]}", 96),
            "f32[2,5,8]");
}

// Infers a chain of a depthwise and a 1x1 convolution on images with 16 channels. `lists` are the
// arguments from out_channels to activations.
std::string InferredChain(std::string_view lists, std::string_view bounds = "[-inf,0.0], [inf,6.0]",
                          std::string_view operands = "[%d,%w], [none,none], none",
                          std::string_view input = "f32[2,16,9,8]{strides=[1152,1,128,16]}") {
  const std::string text = absl::StrCat(
      "program edge { constants { constant \"w\": f32[512] constant \"d\": f32[144] } graph(",
      "%w: f32[512] tensor_constant \"w\", %d: f32[144] tensor_constant \"d\", %x: ", input,
      " user_input) { %y: f32[1] = backend.belay_cpu.conv2d_chain.default(%x, ", operands, ", ",
      lists, ", \"add\", ", bounds, ") return (%y user_output) } }");
  const exir::ExportedProgram program = exir::ParseOrDie(text, Ops());
  const exir::Node& node = program.top().node(program.top().first());
  const auto outputs = exir::InferOutputs(program.top(), node.target, node.arguments, nullptr);
  if (!outputs.ok()) return std::string(outputs.status().message());
  return exir::PrintType(exir::ToValueType((*outputs)[0]));
}
constexpr std::string_view kChainLists =
    "[0,20], [3,3,1,1], [2,2,1,1], [1,1,1,1,0,0,0,0], [1,1,1,1], \"silu none\"";

TEST(CpuOps, ChainsReturnTheLastStage) {
  EXPECT_EQ(InferredChain(kChainLists), "f32[2,20,5,4]{strides=[400,1,80,20]}");
}

TEST(CpuOps, ChainsCheckTheirLists) {
  const auto lists = [](std::string_view channels, std::string_view kernel,
                        std::string_view padding, std::string_view activations) {
    return absl::StrCat(channels, ", ", kernel, ", [2,2,1,1], ", padding, ", [1,1,1,1], \"",
                        activations, "\"");
  };
  EXPECT_THAT(InferredChain(lists("[0]", "[3,3,1,1]", "[1,1,1,1,0,0,0,0]", "silu none")),
              HasSubstr("out_channels: expected 2 elements for 2 stages, got 1"));
  EXPECT_THAT(InferredChain(lists("[0,20]", "[3,3,0,1]", "[1,1,1,1,0,0,0,0]", "silu none")),
              HasSubstr("kernel_size: expected 1 to 2^24 as element 2, got 0"));
  EXPECT_THAT(InferredChain(lists("[0,20]", "[3,3,3,3]", "[1,1,1,1,0,0,0,0]", "silu none")),
              HasSubstr("stage 1: expected a depthwise convolution or windows of one pixel, got 20 "
                        "channels of windows of 3 by 3"));
  EXPECT_THAT(InferredChain(lists("[0,20]", "[3,3,1,1]", "[1,1,1,1,0,0,0,0]", "silu")),
              HasSubstr("activations: expected 2 names of none, sigmoid"));
  EXPECT_THAT(InferredChain(lists("[0,20]", "[3,3,1,1]", "[1,1,1,1,0,0,0,0]", "silu none none")),
              HasSubstr("activations: expected 2 names"));
  EXPECT_THAT(InferredChain(lists("[0,20]", "[3,3,1,1]", "[9,9,9,9,0,0,0,0]", "silu none")),
              HasSubstr("expected images of known sizes that no stage makes larger, at least 4 "
                        "wide"));
  EXPECT_THAT(InferredChain(lists("[0,33]", "[3,3,1,1]", "[1,1,1,1,0,0,0,0]", "silu none")),
              HasSubstr("expected the packed shape [1024], got [512]"));
  EXPECT_THAT(InferredChain(kChainLists, "[-inf,2.0], [inf,1.0]"),
              HasSubstr("low: expected at most high, 1, got 2"));
  EXPECT_THAT(InferredChain(kChainLists, "[-inf,0.0], [inf,6.0]", "[], [], none"),
              HasSubstr("weights: expected 1 to 8 stages, got 0"));
  EXPECT_THAT(InferredChain(kChainLists, "[-inf,0.0], [inf,6.0]", "[%d,%w], [none], none"),
              HasSubstr("biases: expected 2 elements for 2 stages, got 1"));
  EXPECT_THAT(InferredChain(kChainLists, "[-inf,0.0], [inf,6.0]", "[%d,%w], [%d,none], none"),
              HasSubstr("bias: expected shape [16], got [144]"));
  EXPECT_THAT(InferredChain(kChainLists, "[-inf,0.0], [inf,6.0]", "[%d,%w], [none,none], %x"),
              HasSubstr("other"));
}

// The work of a chain is bounded before it runs, so all its parameters must be known.
TEST(CpuOps, ChainsRequireKnownParameters) {
  const std::string_view bounds = "[-inf,0.0], [inf,6.0]", operands = "[%d,%w], [none,none], none";
  const std::string_view sizes = "expected images of known sizes that no stage makes larger";
  EXPECT_THAT(InferredChain(kChainLists, bounds, operands, "f32[2,16,s0,8]"), HasSubstr(sizes));
  EXPECT_THAT(InferredChain(kChainLists, bounds, operands, "f32[2,16,9,s0]"), HasSubstr(sizes));
  EXPECT_THAT(InferredChain(kChainLists, bounds, operands, "f32[2,s0,9,8]"),
              HasSubstr("input: expected images [n, c, h, w] of known channels"));
  EXPECT_EQ(InferredChain(kChainLists, bounds, operands, "f32[s0,16,9,8]"),
            "f32[s0,20,5,4]{strides=[400,1,80,20]}");
}

TEST(CpuOps, LinearChecksThePackedSizeAndTheEpilogue) {
  EXPECT_THAT(Inferred("linear.default(%x, %w, none, none, 8, \"none\", \"add\", -inf, inf)",
                       "f32[2,4]", 96),
              HasSubstr("expected the packed shape [128], got [96]"));
  EXPECT_THAT(Inferred("linear.default(%x, %w, none, none, 8, \"round\", \"add\", -inf, inf)",
                       "f32[2,3]", 96),
              HasSubstr("activation: expected one of none, sigmoid"));
  EXPECT_THAT(Inferred("linear.default(%x, %w, none, none, 8, \"none\", \"sub\", -inf, inf)",
                       "f32[2,3]", 96),
              HasSubstr("combine: expected 'add' or 'mul', got 'sub'"));
  EXPECT_THAT(Inferred("linear.default(%x, %w, none, none, 8, \"none\", \"add\", 2.0, 1.0)",
                       "f32[2,3]", 96),
              HasSubstr("low: expected at most high"));
  EXPECT_THAT(
      Inferred("linear.default(%x, %w, none, %x, 8, \"none\", \"add\", -inf, inf)", "f32[2,3]", 96),
      HasSubstr("other"));
  EXPECT_THAT(
      Inferred("linear.default(%x, %w, %w, none, 8, \"none\", \"add\", -inf, inf)", "f32[2,3]", 96),
      HasSubstr("bias: expected shape [8], got [96]"));
}

TEST(CpuOps, ConvolutionsReturnChannelsLast) {
  EXPECT_EQ(Inferred("conv2d.default(%x, %w, none, none, 8, [3,3], [2,2], [1,1], [1,1], \"none\", "
                     "\"add\", -inf, inf)",
                     "f32[1,3,8,8]", 864),
            "f32[1,8,4,4]{strides=[128,1,32,8]}");
  // Also if that is equivalent to contiguous.
  EXPECT_EQ(Inferred("conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], \"none\", "
                     "\"add\", -inf, inf)",
                     "f32[1,3,1,1]", 96),
            "f32[1,8,1,1]{strides=[8,1,8,8]}");
  EXPECT_EQ(Inferred("depthwise_conv2d.default(%x, %w, none, none, [3,3], [1,1], [1,1], [1,1], "
                     "\"none\", \"add\", -inf, inf)",
                     "f32[s0,20,s1,8]", 288),
            "f32[s0,20,s1,8]{strides=[160*s1,1,160,20]}");
  EXPECT_EQ(Inferred("winograd_conv2d.default(%x, %w, none, none, 8, [3,3], [1,1], [1,1], [1,1], "
                     "\"none\", \"add\", -inf, inf)",
                     "f32[s0,10,s1,8]", 36 * 10 * 32),
            "f32[s0,8,s1,8]{strides=[64*s1,1,64,8]}");
}

TEST(CpuOps, GeneralConvolutionsGiveChannelsLast) {
  constexpr std::string_view kRest = ", \"none\", \"add\", -inf, inf)";
  const auto inferred = [&](std::string_view numbers, std::string_view input, int weight) {
    return Inferred(absl::StrCat("convolution.default(%x, %w, none, none, ", numbers, kRest), input,
                    weight);
  };
  EXPECT_EQ(inferred("8, 1, true, [4,3], [2,1], [1,1], [0,0], [1,1]", "f32[1,6,3,s0]", 2304),
            "f32[1,8,6,s0]{strides=[48*s0,1,8*s0,8]}");
  EXPECT_EQ(inferred("48, 3, false, [3,3], [1,1], [1,1], [0,0], [1,1]", "f32[1,48,4,4]", 9216),
            "f32[1,48,4,4]{strides=[768,1,192,48]}");
  EXPECT_EQ(
      inferred("8, 1, false, [1,3,3], [1,1,1], [0,1,1], [0,0,0], [1,1,1]", "f32[1,3,2,4,4]", 864),
      "f32[1,8,2,4,4]{strides=[256,1,128,32,8]}");
  EXPECT_THAT(inferred("8, 3, false, [3,3], [1,1], [1,1], [0,0], [1,1]", "f32[1,48,4,4]", 9216),
              HasSubstr("groups: expected a divisor of out_channels 8, got 3"));
  EXPECT_THAT(
      inferred("9, 3, false, [3,3], [1,1], [1,1], [0,0], [1,1]", "f32[1,8,4,4]", 9216),
      HasSubstr("input: expected [n, c, ...] of rank 4 and known channels, a multiple of 3"));
  EXPECT_THAT(inferred("48, 3, false, [3,3], [1,1], [1,1], [0,0], [1,1]", "f32[1,48,4,4]", 9215),
              HasSubstr("weight: expected the packed shape [9216], got [9215]"));
  EXPECT_THAT(inferred("8, 1, true, [257,3], [2,1], [1,1], [0,0], [1,1]", "f32[1,6,3,4]", 2304),
              HasSubstr("kernel_size: expected numbers from 1 to 256, got [257,3]"));
  EXPECT_THAT(inferred("8, 1, false, [4,3], [2,1], [1,1], [0,1], [1,1]", "f32[1,6,3,4]", 2304),
              HasSubstr("output_padding: expected zeros"));
  EXPECT_THAT(inferred("8, 1, true, [4,3], [2,1], [5,1], [0,0], [1,1]", "f32[1,6,3,4]", 2304),
              HasSubstr("is too small for the window at dimension 2"));
  EXPECT_THAT(inferred("8, 1, true, [4], [2,1], [5,1], [0,0], [1,1]", "f32[1,6,3,4]", 2304),
              HasSubstr("kernel_size: expected 2 or 3 numbers, got [4]"));
}

TEST(CpuOps, ConvolutionsCheckWindows) {
  EXPECT_THAT(
      Inferred("conv2d.default(%x, %w, none, none, 8, [3,3], [2,2], [0,0], [1,1], \"none\", "
               "\"add\", -inf, inf)",
               "f32[1,3,2,8]", 864),
      HasSubstr("too small for a window of 3 by 3"));
  EXPECT_THAT(Inferred("depthwise_conv2d.default(%x, %w, none, none, [3,3], [1,0], [1,1], [1,1], "
                       "\"none\", \"add\", -inf, inf)",
                       "f32[1,20,8,8]", 288),
              HasSubstr("stride: expected numbers of at least 1"));
}

// Returns the result type of attention, or the error.
std::string Attention(std::string_view query, std::string_view key, std::string_view value,
                      std::string_view mask = "f32[1]") {
  const exir::ExportedProgram program = exir::ParseOrDie(
      absl::StrCat(
          "program edge { graph(%q: ", query, " user_input, %k: ", key, " user_input, %v: ", value,
          " user_input, %m: ", mask,
          " user_input) { %y: f32[1] = backend.belay_cpu.attention.default(%q, %k, %v, %m, "
          "0.5, false, false) return (%y user_output) } }"),
      Ops());
  const exir::Node& node = program.top().node(program.top().first());
  const auto outputs = exir::InferOutputs(program.top(), node.target, node.arguments, nullptr);
  if (!outputs.ok()) return std::string(outputs.status().message());
  return exir::PrintType(exir::ToValueType((*outputs)[0]));
}

// Symbolic sizes are accepted; the number of heads must be known.
TEST(CpuOps, AttentionWithUnknownSizes) {
  EXPECT_EQ(Attention("f32[s0,4,s1,8]", "f32[s0,2,s2,8]", "f32[s0,2,s2,6]", "f32[s1,s2]"),
            "f32[s0,4,s1,6]");
  EXPECT_EQ(Attention("f32[4,s1,8]", "f32[2,s2,8]", "f32[2,5,6]"), "f32[4,s1,6]");
  EXPECT_THAT(Attention("f32[s0,3,8]", "f32[2,5,8]", "f32[2,5,6]"),
              HasSubstr("attention: expected query [.., heads, queries, size]"));
  EXPECT_THAT(Attention("f32[4,3,8]", "f32[s0,5,8]", "f32[s0,5,6]"),
              HasSubstr("attention: expected query [.., heads, queries, size]"));
  EXPECT_THAT(Attention("f32[4,3,8]", "f32[2,5,8]", "f32[2,5,6]", "f32[2,3,5]"),
              HasSubstr("mask: expected a shape that broadcasts to [4,3,5], got [2,3,5]"));
}

// Returns the result type of weight_only_linear with 8 features and a weight of `weight` elements.
std::string WeightOnly(std::string_view operands, std::string_view arguments,
                       std::string_view input, std::string_view dtype, int weight) {
  const std::string type = absl::StrCat(dtype, "[", weight, "]");
  const exir::ExportedProgram program = exir::ParseOrDie(
      absl::StrCat(
          "program edge { constants { constant \"w\": ", type,
          " constant \"s\": f32[64] } graph(%w: ", type,
          " tensor_constant \"w\", %s: f32[64] tensor_constant \"s\", %x: ", input,
          " user_input) { %y: f32[1] = backend.belay_cpu.weight_only_linear.default(%x, %w, ",
          operands, ", none, none, 8, ", arguments,
          ", \"none\", \"add\", -inf, inf) return (%y user_output) } }"),
      Ops());
  const exir::Node& node = program.top().node(program.top().first());
  const auto outputs = exir::InferOutputs(program.top(), node.target, node.arguments, nullptr);
  if (!outputs.ok()) return std::string(outputs.status().message());
  return exir::PrintType(exir::ToValueType((*outputs)[0]));
}

TEST(CpuOps, WeightOnlyLinearSupportsThreeFormats) {
  EXPECT_EQ(WeightOnly("%s, none", "\"int8\", 8", "f32[s0,3,12]", "i8", 512), "f32[s0,3,8]");
  EXPECT_EQ(WeightOnly("%s, %s", "\"int4\", 8", "f32[2,16]", "i32", 64), "f32[2,8]");
  EXPECT_EQ(WeightOnly("none, none", "\"bf16\", 0", "f32[2,12]", "bf16", 512), "f32[2,8]");
}

TEST(CpuOps, WeightOnlyLinearChecksItsWeight) {
  const auto error = [](std::string_view operands, std::string_view arguments) {
    return WeightOnly(operands, arguments, "f32[2,12]", "i8", 512);
  };
  EXPECT_THAT(error("%s, none", "\"int2\", 8"),
              HasSubstr("format: expected 'int8', 'int4', 'int8_by_int8', 'int4_by_int8', "
                        "'int8_by_int16', 'int4_by_int16' or 'bf16', "
                        "got 'int2'"));
  EXPECT_THAT(error("%s, none", "\"int4\", 8"), HasSubstr("weight"));  // not int32
  EXPECT_THAT(error("none, none", "\"int8\", 8"), HasSubstr("scales: expected scales of integers"));
  EXPECT_THAT(WeightOnly("%s, none", "\"bf16\", 0", "f32[2,12]", "bf16", 512),
              HasSubstr("neither scales nor zeros of floats"));
  EXPECT_THAT(error("%s, none", "\"int8\", 0"),
              HasSubstr("group: expected at least 1, and 0 of floats, got 0"));
  EXPECT_THAT(error("%s, none", "\"int8\", 9"),
              HasSubstr("group: expected a multiple of 8, or at least 12, got 9"));
  EXPECT_THAT(error("%s, none", "\"int8\", 12"),
              HasSubstr("scales: expected the packed shape [32], got [64]"));
  EXPECT_THAT(WeightOnly("%s, none", "\"int8\", 8", "f32[2,17]", "i8", 512),
              HasSubstr("weight: expected the packed shape [768], got [512]"));
}

// Returns the result type of a call with 8 channels and a weight of `weight` bytes, or the error.
std::string InferredOfBytes(std::string_view call, std::string_view input, int weight) {
  const exir::ExportedProgram program = exir::ParseOrDie(
      absl::StrCat("program edge { constants { constant \"w\": i8[", weight,
                   "] constant \"s\": f32[8] constant \"n\": i32[8] } graph(%w: i8[", weight,
                   "] tensor_constant \"w\", %s: f32[8] tensor_constant \"s\", "
                   "%n: i32[8] tensor_constant \"n\", %x: ",
                   input, " user_input) { %y: u8[1] = backend.belay_cpu.", call,
                   " return (%y user_output) } }"),
      Ops());
  const exir::Node& node = program.top().node(program.top().first());
  const auto outputs = exir::InferOutputs(program.top(), node.target, node.arguments, nullptr);
  if (!outputs.ok()) return std::string(outputs.status().message());
  return exir::PrintType(exir::ToValueType((*outputs)[0]));
}
std::string QuantizedLinear(std::string_view arguments) {
  return absl::StrCat("quantized_linear.default(%x, %w, %s, %n, none, 8, ", arguments, ")");
}

TEST(CpuOps, QuantizedOperatorsReturnBytesOrFloats) {
  EXPECT_EQ(InferredOfBytes(QuantizedLinear("3, \"none\", -inf, inf, none, [], 0.5, [3,0,255]"),
                            "u8[s0,5]", 128),
            "u8[s0,8]");
  EXPECT_EQ(InferredOfBytes(QuantizedLinear("3, \"none\", -inf, inf, 0.5, [3,0,255], none, []"),
                            "u8[s0,5]", 128),
            "f32[s0,8]");
  EXPECT_EQ(InferredOfBytes("quantized_conv2d.default(%x, %w, %s, %n, none, 8, [3,3], [2,2], [1,1],"
                            " [1,1], 3, \"none\", -inf, inf, none, [], 0.5, [3,0,255])",
                            "u8[1,3,8,8]", 576),
            "u8[1,8,4,4]{strides=[128,1,32,8]}");
  EXPECT_EQ(InferredOfBytes("quantized_conv2d.default(%x, %w, %s, %n, none, 8, [3,3], [2,2], [1,1],"
                            " [1,1], 3, \"none\", -inf, inf, none, [], none, [])",
                            "u8[1,9,8,8]", 1728),
            "f32[1,8,4,4]{strides=[128,1,32,8]}");
  EXPECT_EQ(InferredOfBytes("quantized_depthwise_conv2d.default(%x, %w, %s, %n, none, [3,3], [1,1],"
                            " [1,1], [1,1], 3, \"none\", -inf, inf, none, [], 0.5, [3,0,255])",
                            "u8[1,8,s0,8]", 768),
            "u8[1,8,s0,8]{strides=[64*s0,1,64,8]}");
  EXPECT_EQ(InferredOfBytes("quantized_grouped_conv2d.default(%x, %w, %s, %n, none, 8, 2, [3,3],"
                            " [1,1], [1,1], [1,1], 3, \"none\", -inf, inf, none, [], 0.5, "
                            "[3,0,255])",
                            "u8[1,8,s0,8]", 1152),
            "u8[1,8,s0,8]{strides=[64*s0,1,64,8]}");
  EXPECT_EQ(InferredOfBytes("quantized_add.default(%x, %x, 0.5, 3, 0.5, 3, 0.25, [0,0,255])",
                            "u8[1,8,4,4]", 1),
            "u8[1,8,4,4]{strides=[128,1,32,8]}");
  EXPECT_EQ(InferredOfBytes("max_pool2d.default(%x, [3,3], [2,2], [1,1], [1,1])", "u8[1,8,5,5]", 1),
            "u8[1,8,3,3]{strides=[72,1,24,8]}");
  EXPECT_EQ(
      InferredOfBytes("max_pool2d.default(%x, [3,3], [2,2], [1,1], [1,1])", "f32[1,8,5,5]", 1),
      "f32[1,8,3,3]{strides=[72,1,24,8]}");
}

TEST(CpuOps, LookupsKeepTheInputLayout) {
  EXPECT_EQ(InferredOfBytes("lookup.default(%x, %x)", "u8[256]", 1), "u8[256]");
  EXPECT_THAT(InferredOfBytes("lookup.default(%x, %x)", "u8[255]", 1),
              HasSubstr("table: expected shape [256], got [255]"));
}

// Predicates are true only for the backend's own operators.
TEST(CpuOps, HaveProperties) {
  struct {
    std::string_view op;
    bool epilogue, quantized, images;
  } constexpr kRows[] = {{"linear", true, false, false},
                         {"weight_only_linear", true, false, false},
                         {"conv2d", true, false, true},
                         {"conv2d_chain", false, false, true},
                         {"winograd_conv2d", true, false, true},
                         {"max_pool2d", false, false, true},
                         {"winograd_convolution", true, false, true},
                         {"quantized_linear", true, true, false},
                         {"quantized_depthwise_conv2d", true, true, true},
                         {"quantized_grouped_conv2d", true, true, true},
                         {"quantized_add", false, true, false},
                         {"attention", false, false, false},
                         {"lookup", false, false, false}};
  for (const auto& row : kRows) {
    const exir::OpOverload& op = *CpuOp(row.op);
    EXPECT_EQ(HasEpilogue(op), row.epilogue) << row.op;
    EXPECT_EQ(IsQuantized(op), row.quantized) << row.op;
    EXPECT_EQ(IsOverImages(op), row.images) << row.op;
    EXPECT_TRUE(IsCpuOp(op, row.op));
    EXPECT_FALSE(IsCpuOp(op, "gelu"));
  }
  // An argument of that name is not sufficient.
  const exir::OpOverload* pool = Ops().Find("aten.max_pool2d_with_indices.default");
  ASSERT_TRUE(pool != nullptr && pool->ArgumentIndex("kernel_size").has_value());
  EXPECT_FALSE(IsOverImages(*pool));
  EXPECT_FALSE(IsQuantized(*pool));
  EXPECT_FALSE(HasEpilogue(*pool));
  EXPECT_FALSE(IsCpuOp(*Ops().Find("aten.linear.default"), "linear"));
}

TEST(CpuOps, AreDefinedOnce) {
  auto ops = exir::CreateStandardOps();
  ASSERT_OK(ops);
  EXPECT_OK(AddCpuOps(**ops));
  EXPECT_EQ(AddCpuOps(**ops).code(), absl::StatusCode::kAlreadyExists);
}

TEST(CpuOps, QuantizedOperatorsCheckTheirParameters) {
  const auto error = [](std::string_view arguments, std::string_view input = "u8[2,5]") {
    return InferredOfBytes(QuantizedLinear(arguments), input, 128);
  };
  EXPECT_THAT(error("256, \"none\", -inf, inf, none, [], 0.5, [3,0,255]"),
              HasSubstr("input_zero_point: expected a number from 0 to 255, got 256"));
  EXPECT_THAT(error("3, \"none\", -inf, inf, none, [], 0.0, [3,0,255]"),
              HasSubstr("output_scale: expected a positive float32 with an inverse, got 0"));
  EXPECT_THAT(error("3, \"none\", -inf, inf, 1e-45, [3,0,255], 0.5, [3,0,255]"),
              HasSubstr("inner_scale: expected a positive float32"));
  EXPECT_THAT(
      error("3, \"none\", -inf, inf, none, [], 0.5, [3,4,255]"),
      HasSubstr("output_range: expected [zero_point, quant_min, quant_max] with 0 <= quant_min"));
  EXPECT_THAT(error("3, \"none\", -inf, inf, none, [], 0.5, [3,0]"),
              HasSubstr("output_range: expected [zero_point, quant_min, quant_max]"));
  EXPECT_THAT(error("3, \"none\", -inf, inf, none, [], 0.5, [3,0,255]", "u8[2,65537]"),
              HasSubstr("expected at most 65536 products in a sum, got 65537"));
  EXPECT_THAT(error("3, \"none\", -inf, inf, none, [], 0.5, [3,0,255]", "u8[2,9]"),
              HasSubstr("expected the packed shape [192], got [128]"));
  EXPECT_THAT(error("3, \"none\", -inf, inf, none, [], 0.5, [3,0,255]", "u8[2,s0]"),
              HasSubstr("input: expected a last dimension that is known, got [2,s0]"));
  for (std::string_view conv : {"quantized_conv2d.default(%x, %w, %s, %n, none, 8, ",
                                "quantized_depthwise_conv2d.default(%x, %w, %s, %n, none, "}) {
    EXPECT_THAT(InferredOfBytes(absl::StrCat(conv,
                                             "[3,3], [2,2], [1,1], [1,1], 3, \"none\", -inf, inf, "
                                             "none, [], none, [])"),
                                "u8[1,s0,8,8]", 576),
                HasSubstr("expected images [n, c, h, w] of known channels, got [1,s0,8,8]"));
  }
  const auto grouped = [](std::string_view groups, std::string_view input) {
    return InferredOfBytes(
        absl::StrCat("quantized_grouped_conv2d.default(%x, %w, %s, %n, none, 8, ", groups,
                     ", [3,3], [2,2], [1,1], [1,1], 3, \"none\", -inf, inf, none, [], none, [])"),
        input, 1152);
  };
  EXPECT_THAT(grouped("3", "u8[1,9,8,8]"),
              HasSubstr("groups: expected a divisor of out_channels 8, got 3"));
  EXPECT_THAT(grouped("0", "u8[1,8,8,8]"), HasSubstr("groups"));
  EXPECT_THAT(grouped("4", "u8[1,10,8,8]"),
              HasSubstr("input: expected at least 8 channels, a multiple of 4, got 10"));
  EXPECT_THAT(grouped("2", "u8[1,4,8,8]"),
              HasSubstr("input: expected at least 8 channels, a multiple of 2, got 4"));
  EXPECT_THAT(grouped("2", "u8[1,16,8,8]"), HasSubstr("expected the packed shape"));
  EXPECT_THAT(grouped("2", "u8[1,16384,8,8]"), HasSubstr("products in a sum"));
  EXPECT_THAT(InferredOfBytes("quantized_add.default(%x, %n, 0.5, 3, 0.5, 3, 0.25, [0,0,255])",
                              "u8[2,5]", 1),
              HasSubstr("b"));
  EXPECT_THAT(
      InferredOfBytes("max_pool2d.default(%x, [3,3], [2,2], [1,1], [1,1])", "u8[1,s0,5,5]", 1),
      HasSubstr("of known channels"));
  EXPECT_THAT(InferredOfBytes("quantized_add.default(%x, %x, 0.5, 300, 0.5, 3, 0.25, [0,0,255])",
                              "u8[2,5]", 1),
              HasSubstr("a_zero_point: expected a number from 0 to 255, got 300"));
  EXPECT_THAT(
      InferredOfBytes("max_pool2d.default(%x, [3,3], [2,2], [3,2], [1,1])", "u8[1,8,5,5]", 1),
      HasSubstr("padding: expected less than the window"));
}

}  // namespace
}  // namespace belay::cpu
