// End-to-end tests of static quantization, compared with the interpreter.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/testing/lowered_programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;

// Tolerance of one quantization step: XNNPACK of 2022 sometimes rounds differently.
exir::Closeness Within(double step) { return {.atol = step * 1.01, .rtol = 0}; }

std::string Quantized(const std::string& name, const std::string& from, const std::string& sizes,
                      const std::string& scale, int zero_point) {
  const std::string numbers = absl::StrCat(scale, ", ", zero_point, ", -128, 127, dtype:i8)\n");
  return absl::StrCat(
      "%", name, "_q: i8[", sizes, "] = edge.quantized_decomposed.quantize_per_tensor.default(%",
      from, ", ", numbers, "%", name, ": f32[", sizes,
      "] = edge.quantized_decomposed.dequantize_per_tensor.default(%", name, "_q, ", numbers);
}
std::string Channels(const std::string& name, const std::string& sizes) {
  return absl::StrCat("%", name, "_f: f32[", sizes,
                      "] = edge.quantized_decomposed.dequantize_per_channel.default(%", name,
                      ", %s", name, ", %z", name, ", 0, -127, 127, dtype:i8)\n");
}

TEST_F(XnnpackTest, QuantizedNetworksComputeOnInt8) {
  EXPECT_THAT(
      ExpectSame(
          Program(
              {"w: i8[8,3,3,3]", "sw: f32[8]", "zw: i64[8]", "b: f32[8]", "d: i8[8,1,3,3]",
               "sd: f32[8]", "zd: i64[8]", "l: i8[6,8]", "sl: f32[6]", "zl: i64[6]", "c: f32[6]"},
              "%x: f32[s0,3,4,4] user_input",
              absl::StrCat(
                  "%n: symint(s0) = aten.sym_size.int(%x, 0)\n", Channels("w", "8,3,3,3"),
                  Channels("d", "8,1,3,3"), Channels("l", "6,8"),
                  Quantized("q1", "x", "s0,3,4,4", "0.02", 3),
                  "%c1: f32[s0,8,4,4] = edge.aten.convolution.default(%q1, %w_f, %b, [1,1], "
                  "[1,1], [1,1], false, [0,0], 1)\n"
                  "%r1: f32[s0,8,4,4] = edge.aten.relu.default(%c1)\n",
                  Quantized("q2", "r1", "s0,8,4,4", "0.03", -128),
                  "%c2: f32[s0,8,4,4] = edge.aten.convolution.default(%q2, %d_f, none, [1,1], "
                  "[1,1], [1,1], false, [0,0], 8)\n",
                  Quantized("q3", "c2", "s0,8,4,4", "0.05", 0),
                  "%a: f32[s0,8,4,4] = edge.aten.add.Tensor(%q3, %q2)\n",
                  Quantized("q4", "a", "s0,8,4,4", "0.06", 1),
                  "%h: f32[s0,8,4,4] = edge.aten.hardtanh.default(%q4, 0, 6)\n",
                  Quantized("q5", "h", "s0,8,4,4", "0.06", 1),
                  "%p: f32[s0,8,2,2], %i: i64[s0,8,2,2] = "
                  "edge.aten.max_pool2d_with_indices.default(%q5, [2,2], [2,2])\n",
                  Quantized("q6", "p", "s0,8,2,2", "0.06", 1),
                  "%m: f32[s0,8,1,1] = edge.aten.mean.dim(%q6, [-1,-2], true)\n",
                  Quantized("q7", "m", "s0,8,1,1", "0.06", 1),
                  "%v: f32[s0,8] = edge.aten.view_copy.default(%q7, [%n,8])\n",
                  Quantized("q8", "v", "s0,8", "0.06", 1),
                  "%t: f32[8,6] = edge.aten.permute_copy.default(%l_f, [1,0])\n"
                  "%e: f32[s0,6] = edge.aten.addmm.default(%c, %q8, %t)\n",
                  Quantized("y", "e", "s0,6", "0.25", -3)),
              "%y user_output", "s0: [1, 5]"),
          Within(0.25)),
      ElementsAre("Convert", "StaticTranspose", "Conv2d", "DepthwiseConv2d", "Add", "Clamp",
                  "MaxPooling2d", "GlobalAvgPooling2d", "StaticTranspose", "StaticReshape",
                  "FullyConnected", "Convert"));
}

TEST_F(XnnpackTest, OtherNodesAreBetweenConversions) {
  // Average pools; the image keeps its order between them.
  EXPECT_THAT(
      ExpectSame(Program({}, "%x: f32[1,3,4,6] user_input",
                         absl::StrCat(Quantized("q", "x", "1,3,4,6", "0.02", 3),
                                      "%a: f32[1,3,2,3] = edge.aten._adaptive_avg_pool2d.default("
                                      "%q, [2,3])\n",
                                      Quantized("y", "a", "1,3,2,3", "0.02", 3))),
                 Within(0.02)),
      ElementsAre("Convert", "StaticTranspose", "Convert", "AvgPooling2d", "Convert",
                  "StaticTranspose", "Convert"));
  // Another scale after data movement.
  EXPECT_THAT(
      ExpectSame(Program({}, "%x: f32[2,6] user_input",
                         absl::StrCat("%a: f32[2,6] = edge.aten.abs.default(%x)\n",
                                      Quantized("q", "a", "2,6", "0.02", 3),
                                      "%v: f32[3,4] = edge.aten.view_copy.default(%q, [3,4])\n",
                                      Quantized("y", "v", "3,4", "0.03", 3))),
                 Within(0.03)),
      ElementsAre("Abs", "Convert", "Convert", "StaticReshape", "Convert", "Convert"));
}

TEST_F(XnnpackTest, MergesEqualQuantizations) {
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,6] user_input",
                                 absl::StrCat("%a: f32[2,6] = edge.aten.abs.default(%x)\n",
                                              Quantized("q", "a", "2,6", "0.02", 3),
                                              Quantized("r", "q", "2,6", "0.02", 3),
                                              "%y: f32[2,6] = edge.aten.neg.default(%r)")),
                         Within(0.02)),
              ElementsAre("Abs", "Convert", "Convert", "Negate"));
}

TEST_F(XnnpackTest, DoesNotDelegateInt8WeightsWithoutQuantizedInputs) {
  const exir::ExportedProgram program =
      Parse(Program({"w: i8[6,8]", "sw: f32[6]", "zw: i64[6]"}, "%x: f32[2,8] user_input",
                    absl::StrCat(Channels("w", "6,8"),
                                 "%t: f32[8,6] = edge.aten.permute_copy.default(%w_f, [1,0])\n"
                                 "%y: f32[2,6] = edge.aten.mm.default(%x, %t)")),
            *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                       Aot().create_partitioner({})->Partition(program));
  EXPECT_TRUE(result.nodes.empty());
  std::vector<std::string> reasons;
  for (const auto& rejection : result.rejections) reasons.push_back(rejection.reason);
  EXPECT_THAT(reasons,
              ElementsAre("its user does not compute on int8", "its user does not compute on int8",
                          "its weight is int8, but its input or result is not"));
}

TEST_F(XnnpackTest, WeightsMayHaveOneScale) {
  const auto weight = [](const std::string& sizes) {
    return absl::StrCat("%w_f: f32[", sizes,
                        "] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.01, 0, "
                        "-127, 127, dtype:i8)\n");
  };
  EXPECT_THAT(
      ExpectSame(Program({"w: i8[6,8]", "b: f32[6]"}, "%x: f32[3,8] user_input",
                         absl::StrCat(weight("6,8"), Quantized("q", "x", "3,8", "0.02", 3),
                                      "%t: f32[8,6] = edge.aten.permute_copy.default(%w_f, [1,0])\n"
                                      "%e: f32[3,6] = edge.aten.addmm.default(%b, %q, %t)\n",
                                      Quantized("y", "e", "3,6", "0.125", -3))),
                 Within(0.125)),
      ElementsAre("Convert", "FullyConnected", "Convert"));
  EXPECT_THAT(
      ExpectSame(Program({"w: i8[4,3,3,3]", "b: f32[4]"}, "%x: f32[1,3,5,4] user_input",
                         absl::StrCat(weight("4,3,3,3"), Quantized("q", "x", "1,3,5,4", "0.02", 3),
                                      "%e: f32[1,4,5,4] = edge.aten.convolution.default(%q, %w_f, "
                                      "%b, [1,1], [1,1], [1,1], false, [0,0], 1)\n",
                                      Quantized("y", "e", "1,4,5,4", "0.125", -3))),
                 Within(0.125)),
      ElementsAre("Convert", "StaticTranspose", "Conv2d", "StaticTranspose", "Convert"));
}

TEST_F(XnnpackTest, ConvertsBetweenQuantizations) {
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,6] user_input",
                                 absl::StrCat("%a: f32[2,6] = edge.aten.abs.default(%x)\n",
                                              Quantized("q", "a", "2,6", "0.02", 3),
                                              Quantized("r", "q", "2,6", "0.04", 0),
                                              "%y: f32[2,6] = edge.aten.neg.default(%r)")),
                         Within(0.04)),
              ElementsAre("Abs", "Convert", "Convert", "Convert", "Convert", "Negate"));
}

}  // namespace
}  // namespace belay::xnnpack
