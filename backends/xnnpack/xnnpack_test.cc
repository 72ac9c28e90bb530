// End-to-end tests, compared with the interpreter.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/testing/lowered_programs.h"
#include "exir/pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(XnnpackTest, UnaryNodesComputeTheSame) {
  for (const char* call :
       {"relu.default(%x)", "clamp.default(%x, -0.5, 1.0)", "clamp.default(%x, none, 1)",
        "hardtanh.default(%x)", "sigmoid.default(%x)", "abs.default(%x)", "neg.default(%x)",
        "floor.default(%x)", "ceil.default(%x)", "leaky_relu.default(%x, 0.1)",
        "elu.default(%x, 1.5)", "pow.Tensor_Scalar(%x, 2)", "_softmax.default(%x, -1, false)",
        "add.Scalar(%x, 2)", "mul.Scalar(%x, 0.5)", "sub.Scalar(%x, 1)", "div.Scalar(%x, 3)"}) {
    ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                       absl::StrCat("%y: f32[2,3,5] = edge.aten.", call)));
  }
  ExpectSame(Program({}, "%x: f32[2,3] user_input",
                     "%p: f32[2,3] = edge.aten.mul.Tensor(%x, %x)\n"
                     "%y: f32[2,3] = edge.aten.sqrt.default(%p)"));
  ExpectSame(Program({}, "%x: f32[] user_input", "%y: f32[] = edge.aten.add.Scalar(%x, 2)"));
}

TEST_F(XnnpackTest, HardswishComputesTheSame) {
  specials_ = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  const std::string sum =
      "%a: f32[2,3,5] = edge.aten.add.Scalar(%x, 3)\n"
      "%b: f32[2,3,5] = edge.aten.clamp.default(%a, 0, 6)\n";
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                                 sum + "%c: f32[2,3,5] = edge.aten.mul.Tensor(%x, %b)\n"
                                       "%y: f32[2,3,5] = edge.aten.div.Scalar(%c, 6)")),
              ElementsAre("Hardswish"));
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                                 sum + "%c: f32[2,3,5] = edge.aten.div.Scalar(%b, 6)\n"
                                       "%y: f32[2,3,5] = edge.aten.mul.Tensor(%c, %x)")),
              ElementsAre("Hardswish"));
  // The product has another user.
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                                 sum + "%c: f32[2,3,5] = edge.aten.mul.Tensor(%x, %b)\n"
                                       "%y: f32[2,3,5] = edge.aten.div.Scalar(%c, 6)",
                                 "%y user_output, %c user_output")),
              ElementsAre("Add", "Multiply", "Div"));
}

TEST_F(XnnpackTest, SlopesComputeTheSame) {
  specials_ = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  const auto prelu = [](const std::string& type, const std::string& weight) {
    return absl::StrCat("%p: b8", type, " = edge.aten.gt.Scalar(%x, 0)\n%n: f32", type,
                        " = edge.aten.mul.Tensor(%x, ", weight, ")\n%y: f32", type,
                        " = edge.aten.where.self(%p, %x, %n)");
  };
  EXPECT_THAT(ExpectSame(Program({"w: f32[4]"}, "%x: f32[2,4,3,5] user_input",
                                 "%v: f32[1,4,1,1] = edge.aten.view_copy.default(%w, [1,4,1,1])\n" +
                                     prelu("[2,4,3,5]", "%v"))),
              ElementsAre("StaticTranspose", "PReLU", "StaticTranspose"));
  EXPECT_THAT(ExpectSame(Program({"w: f32[1,5]"}, "%x: f32[s0,5] user_input", prelu("[s0,5]", "%w"),
                                 "%y user_output", "s0: [1, 5]")),
              ElementsAre("PReLU"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[1]"}, "%x: f32[2,4,3] user_input", prelu("[2,4,3]", "%w"))),
      ElementsAre("LeakyReLU"));
}

TEST_F(XnnpackTest, MaximaOverRowsAndColumnsComputeTheSame) {
  specials_ = {std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,3,4,5] user_input",
                                 "%y: f32[2,3,1,5], %i: i64[2,3,1,5] = "
                                 "edge.aten.max.dim(%x, 2, true)")),
              ElementsAre("StaticTranspose", "MaxPooling2d", "StaticTranspose"));
  ExpectSame(Program({}, "%x: f32[2,3,4,5] user_input",
                     "%y: f32[2,3,4,1] = edge.aten.amax.default(%x, [-1], true)"));
  ExpectSame(Program({}, "%x: f32[2,3,31,17] user_input",
                     "%y: f32[2,3,1,1] = edge.aten.amax.default(%x, [2,3], true)"));
}

TEST_F(XnnpackTest, FindsDecomposedOperators) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", Parse(R"(program training {
    constants { state "w": f32[4] }
    graph(%w: f32[4] parameter "w", %x: f32[2,4] user_input, %p: b8[] user_input) {
      %a: f32[2,4] = aten.hardswish.default(%x)
      %b: f32[2,4] = aten.hardswish_.default(%a)
      %c: f32[2,4] = aten.prelu.default(%b, %w)
      %d: f32[2,4] = higher_order.cond(%p, graph#1, graph#2, [%c])
      return (%d user_output)
    }
    graph then(%s: f32[2,4]) {
      %t: f32[2,4] = aten.hardswish.default(%s)
      return (%t)
    }
    graph otherwise(%s: f32[2,4]) { return (%s) }
  })",
                                        *ops_));
  const auto partitioner = Aot().create_partitioner({});
  exir::PipelineOptions options;
  options.partitioners.all = {partitioner.get()};
  options.backends = &set_;
  ASSERT_OK_AND_ASSIGN(const exir::MethodPrograms lowered,
                       exir::LowerToStage(std::move(methods), exir::Stage::kLowered, options));
  EXPECT_THAT(NodeTypes(lowered[0].second), ElementsAre("Hardswish", "Hardswish", "PReLU"));
  EXPECT_EQ(lowered[0].second.lowered_modules.size(), 2u);
}

TEST_F(XnnpackTest, BilinearUpsamplingComputesTheSame) {
  for (const char* call :
       {"f32[1,3,8,12] = edge.aten.upsample_bilinear2d.vec(%x, none, false, [2.0,2.0])",
        "f32[1,3,7,9] = edge.aten.upsample_bilinear2d.default(%x, [7,9], false)",
        "f32[1,3,7,9] = edge.aten.upsample_bilinear2d.default(%x, [7,9], true)"}) {
    EXPECT_THAT(ExpectSame(Program({}, "%x: f32[1,3,4,6] user_input", absl::StrCat("%y: ", call))),
                ::testing::Contains("StaticResizeBilinear2D"));
  }
}

TEST_F(XnnpackTest, ComputesNodesMissingFromTheLibrary) {
  for (const char* call :
       {"gelu.default(%p)", "tanh.default(%p)", "exp.default(%p)", "sin.default(%p)",
        "cos.default(%p)", "log.default(%p)", "rsqrt.default(%p)"}) {
    EXPECT_EQ(ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                                 absl::StrCat("%q: f32[2,3,5] = edge.aten.abs.default(%x)\n"
                                              "%p: f32[2,3,5] = edge.aten.add.Scalar(%q, 0.5)\n"
                                              "%y: f32[2,3,5] = edge.aten.",
                                              call)),
                         kClose, {{"target", "executorch-1.5"}})
                  .size(),
              3u);
  }
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,3,5] user_input, %z: f32[2,5,4] user_input",
                                 "%y: f32[2,3,4] = edge.aten.bmm.default(%x, %z)"),
                         kClose, {{"target", "executorch-1.5"}}),
              ElementsAre("BatchMatrixMultiply"));
}

TEST_F(XnnpackTest, BinaryNodesBroadcast) {
  for (const char* op : {"add", "sub", "mul", "div"}) {
    ExpectSame(Program({"w: f32[3,1]"}, "%x: f32[2,1,5] user_input",
                       absl::StrCat("%y: f32[2,3,5] = edge.aten.", op, ".Tensor(%x, %w)")));
  }
  for (const char* op : {"minimum", "maximum"}) {
    ExpectSame(Program({}, "%x: f32[2,1,5] user_input, %z: f32[3,1] user_input",
                       absl::StrCat("%y: f32[2,3,5] = edge.aten.", op, ".default(%x, %z)")));
  }
}

TEST_F(XnnpackTest, NanPropagates) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  specials_ = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0.0f};
  for (const char* call :
       {"relu.default(%x)", "clamp.default(%x, -0.5, 1.0)", "clamp.default(%x, none, 1)",
        "hardtanh.default(%x)", "sigmoid.default(%x)", "abs.default(%x)", "neg.default(%x)",
        "floor.default(%x)", "ceil.default(%x)", "leaky_relu.default(%x, 0.1)",
        "elu.default(%x, 1.5)", "pow.Tensor_Scalar(%x, 2)", "_softmax.default(%x, -1, false)",
        "add.Scalar(%x, 2)", "mul.Scalar(%x, 0)", "sub.Scalar(%x, 1)", "div.Scalar(%x, 0)",
        "sqrt.default(%x)"}) {
    ExpectSame(Program({}, "%x: f32[7,3,5] user_input",
                       absl::StrCat("%y: f32[7,3,5] = edge.aten.", call)));
  }
  for (const char* op : {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "minimum.default",
                         "maximum.default"}) {
    // Each operand broadcasts in some dimensions; with bounds; rank 0.
    ExpectSame(Program({}, "%x: f32[2,1,7,1,5] user_input, %z: f32[3,1,4,1] user_input",
                       absl::StrCat("%y: f32[2,3,7,4,5] = edge.aten.", op, "(%x, %z)")));
    ExpectSame(Program({}, "%x: f32[9,5] user_input, %z: f32[9,5] user_input",
                       absl::StrCat("%p: f32[9,5] = edge.aten.", op,
                                    "(%x, %z)\n%y: f32[9,5] = edge.aten.relu.default(%p)")));
    ExpectSame(Program({}, "%x: f32[] user_input, %z: f32[6] user_input",
                       absl::StrCat("%y: f32[6] = edge.aten.", op, "(%z, %x)")));
  }
}

TEST_F(XnnpackTest, NanPropagatesThroughWeightsAndWindows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  specials_ = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  for (const char* bounds : {"-0.5, 0.5", "0, 6", "-inf, inf"}) {
    const std::string clamp = absl::StrCat(" = edge.aten.hardtanh.default(%c, ", bounds, ")");
    ExpectSame(
        Program({"b: f32[7]", "w: f32[5,7]"}, "%x: f32[16,5] user_input",
                "%c: f32[16,7] = edge.aten.addmm.default(%b, %x, %w)\n%y: f32[16,7]" + clamp));
    ExpectSame(Program({"w: f32[7,5]"}, "%x: f32[16,5] user_input",
                       "%t: f32[5,7] = edge.aten.permute_copy.default(%w, [1,0])\n"
                       "%c: f32[16,7] = edge.aten.mm.default(%x, %t)\n%y: f32[16,7]" +
                           clamp));
    ExpectSame(Program({"w: f32[8,3,3,2]", "b: f32[8]"}, "%x: f32[2,3,19,18] user_input",
                       "%c: f32[2,8,9,17] = edge.aten.convolution.default(%x, %w, %b, [2,1], "
                       "[0,1], [1,3], false, [0,0], 1)\n%y: f32[2,8,9,17]" +
                           clamp));
    ExpectSame(Program({"w: f32[6,2,3,3]"}, "%x: f32[1,4,9,9] user_input",
                       "%c: f32[1,6,9,9] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                       "[1,1], [1,1], false, [0,0], 2)\n%y: f32[1,6,9,9]" +
                           clamp));
    ExpectSame(Program({"w: f32[8,1,3,3]", "b: f32[8]"}, "%x: f32[1,4,9,9] user_input",
                       "%c: f32[1,8,9,9] = edge.aten.convolution.default(%x, %w, %b, [1], [1], "
                       "[1], false, [0], 4)\n%y: f32[1,8,9,9]" +
                           clamp));
    ExpectSame(Program({"w: f32[4,6,3,3]", "b: f32[6]"}, "%x: f32[1,4,9,9] user_input",
                       "%c: f32[1,6,18,18] = edge.aten.convolution.default(%x, %w, %b, [2,2], "
                       "[1,1], [1,1], true, [1,1], 1)\n%y: f32[1,6,18,18]" +
                           clamp));
  }
  ExpectSame(Program({}, "%x: f32[1,3,17,18] user_input",
                     "%y: f32[1,3,9,9], %i: i64[1,3,9,9] = "
                     "edge.aten.max_pool2d_with_indices.default(%x, [3,3], [2,2], [1,1])"));
  ExpectSame(Program({}, "%x: f32[1,3,17,18] user_input",
                     "%y: f32[1,3,9,9] = edge.aten.avg_pool2d.default(%x, [3,3], [2,2], [1,1], "
                     "false, false)"));
  ExpectSame(Program({}, "%x: f32[9,3,3,2] user_input",
                     "%y: f32[9,3,1,1] = edge.aten.mean.dim(%x, [-1,-2], true)"));
}

TEST_F(XnnpackTest, LinearLayersComputeTheSame) {
  EXPECT_THAT(ExpectSame(Program({"b: f32[7]", "w: f32[5,7]"}, "%x: f32[3,5] user_input",
                                 "%l: f32[3,7] = edge.aten.addmm.default(%b, %x, %w)\n"
                                 "%y: f32[3,7] = edge.aten.relu.default(%l)")),
              ElementsAre("FullyConnected"));
  ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input",
                     "%y: f32[3,7] = edge.aten.mm.default(%x, %w)"));
}

TEST_F(XnnpackTest, PermutedWeightsBecomeConstants) {
  EXPECT_THAT(ExpectSame(Program({"b: f32[7]", "w: f32[7,5]"}, "%x: f32[3,5] user_input",
                                 "%t: f32[5,7] = edge.aten.permute_copy.default(%w, [1,0])\n"
                                 "%y: f32[3,7] = edge.aten.addmm.default(%b, %x, %t)")),
              ElementsAre("FullyConnected"));
}

TEST_F(XnnpackTest, BatchNormsAreFusedOrBecomeConvolutions) {
  const std::string norm = ", %g, %b, %m, %v, 0.1, 1e-05)";
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,3,1,1]", "g: f32[4]", "b: f32[4]", "m: f32[4]", "v: f32[4]"},
                         "%x: f32[1,3,6,5] user_input",
                         "%c: f32[1,4,6,5] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                         "[0,0], [1,1], false, [0,0], 1)\n"
                         "%n: f32[1,4,6,5], %s: f32[0], %i: f32[0] = "
                         "edge.aten._native_batch_norm_legit_no_training.default(%c" +
                             norm + "\n%y: f32[1,4,6,5] = edge.aten.relu.default(%n)")),
      ElementsAre("StaticTranspose", "Conv2d", "StaticTranspose"));
  EXPECT_THAT(ExpectSame(Program({"g: f32[4]", "b: f32[4]", "m: f32[4]", "v: f32[4]"},
                                 "%x: f32[1,4,6,5] user_input",
                                 "%y: f32[1,4,6,5], %s: f32[0], %i: f32[0] = "
                                 "edge.aten._native_batch_norm_legit_no_training.default(%x" +
                                     norm)),
              ElementsAre("StaticTranspose", "DepthwiseConv2d", "StaticTranspose"));
}

TEST_F(XnnpackTest, ConvolutionsComputeTheSame) {
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[8,3,3,2]", "b: f32[8]"}, "%x: f32[2,3,9,8] user_input",
                         "%y: f32[2,8,4,7] = edge.aten.convolution.default(%x, %w, %b, [2,1], "
                         "[0,1], [1,3], false, [0,0], 1)")),
      ElementsAre("StaticTranspose", "Conv2d", "StaticTranspose"));
  // With groups, without a bias.
  ExpectSame(Program({"w: f32[6,2,3,3]"}, "%x: f32[1,4,5,5] user_input",
                     "%y: f32[1,6,5,5] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                     "[1,1], [1,1], false, [0,0], 2)"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[8,1,3,3]", "b: f32[8]"}, "%x: f32[1,4,5,5] user_input",
                         "%y: f32[1,8,5,5] = edge.aten.convolution.default(%x, %w, %b, [1], [1], "
                         "[1], false, [0], 4)")),
      ElementsAre("StaticTranspose", "DepthwiseConv2d", "StaticTranspose"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,6,3,3]", "b: f32[6]"}, "%x: f32[1,4,5,5] user_input",
                         "%y: f32[1,6,10,10] = edge.aten.convolution.default(%x, %w, %b, [2,2], "
                         "[1,1], [1,1], true, [1,1], 1)")),
      ElementsAre("StaticTranspose", "ConvTranspose2d", "StaticTranspose"));
}

TEST_F(XnnpackTest, PoolsComputeTheSame) {
  ExpectSame(Program({}, "%x: f32[1,3,7,8] user_input",
                     "%y: f32[1,3,4,4], %i: i64[1,3,4,4] = "
                     "edge.aten.max_pool2d_with_indices.default(%x, [3,3], [2,2], [1,1])"));
  ExpectSame(Program({}, "%x: f32[1,3,8,10] user_input",
                     "%y: f32[1,3,4,5], %i: i64[1,3,4,5] = "
                     "edge.aten.max_pool2d_with_indices.default(%x, [3,3], [2,2], [0,0], [1,1], "
                     "true)"));
  ExpectSame(Program({}, "%x: f32[1,3,7,8] user_input",
                     "%y: f32[1,3,4,4] = edge.aten.avg_pool2d.default(%x, [3,3], [2,2], [1,1], "
                     "false, false)"));
  ExpectSame(Program({}, "%x: f32[2,3,4,5] user_input",
                     "%y: f32[2,3,1,1] = edge.aten.mean.dim(%x, [-1,-2], true)"));
}

TEST_F(XnnpackTest, DataMovementComputesTheSame) {
  const auto with = [](const std::string& body) {
    return Program({}, "%x: f32[2,3,4] user_input",
                   absl::StrCat("%a: f32[2,3,4] = edge.aten.abs.default(%x)\n", body));
  };
  ExpectSame(with("%y: f32[4,2,3] = edge.aten.permute_copy.default(%a, [2,0,-2])"));
  ExpectSame(with("%y: f32[2,4,3] = edge.aten.transpose_copy.int(%a, 1, -1)"));
  ExpectSame(with("%y: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])"));
  ExpectSame(with("%y: f32[2,3,4,1] = edge.aten.unsqueeze_copy.default(%a, -1)"));
  ExpectSame(with("%y: f32[2,3,2] = edge.aten.slice_copy.Tensor(%a, 2, -3, 3)"));
  ExpectSame(with("%y: f32[2,4,7] = edge.aten.constant_pad_nd.default(%a, [1,2,0,1], 3.5)"));
  ExpectSame(with("%y: f32[2,9,4] = edge.aten.cat.default([%a,%x,%a], 1)"));
}

TEST_F(XnnpackTest, ImagesKeepTheirOrderThroughElementwiseNodes) {
  // One transpose at each boundary; dimension attributes refer to NHWC.
  EXPECT_THAT(
      ExpectSame(Program(
          {"w: f32[4,3,1,1]", "v: f32[1,4,1,1]", "u: f32[6,8,1,1]"}, "%x: f32[1,3,6,5] user_input",
          "%c: f32[1,4,6,5] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], "
          "false, [0,0], 1)\n"
          "%r: f32[1,4,6,5] = edge.aten.relu.default(%c)\n"
          "%a: f32[1,4,6,5] = edge.aten.add.Tensor(%r, %v)\n"
          "%s: f32[1,4,5,5] = edge.aten.slice_copy.Tensor(%a, 2, 1)\n"
          "%p: f32[1,4,6,5] = edge.aten.constant_pad_nd.default(%s, [0,0,0,1])\n"
          "%j: f32[1,8,6,5] = edge.aten.cat.default([%p,%a], 1)\n"
          "%y: f32[1,6,6,5] = edge.aten.convolution.default(%j, %u, none, [1,1], [0,0], [1,1], "
          "false, [0,0], 1)")),
      ElementsAre("StaticTranspose", "Conv2d", "Add", "StaticSlice", "StaticConstantPad",
                  "Concatenate2", "Conv2d", "StaticTranspose"));
}

TEST_F(XnnpackTest, ChannelsLastImagesNeedNoTransposes) {
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,3,1,1]"}, "%x: f32[s0,3,6,5]{strides=[90,1,15,3]} user_input",
                         "%y: f32[s0,4,6,5]{strides=[120,1,20,4]} = "
                         "edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], "
                         "false, [0,0], 1)",
                         "%y user_output", "s0: [1, 5]")),
      ElementsAre("Conv2d"));
  // One value in both orders.
  EXPECT_THAT(
      ExpectSame(Program({}, "%x: f32[1,3,6,5]{strides=[90,1,15,3]} user_input",
                         "%a: f32[1,3,6,5]{strides=[90,1,15,3]} = edge.aten.abs.default(%x)\n"
                         "%c: f32[1,3,6,5] = edge.dim_order_ops._to_dim_order_copy.default(%a, "
                         "dim_order=[0,1,2,3])\n"
                         "%y: f32[3,30] = edge.aten.view_copy.default(%a, [3,30])",
                         "%y user_output, %a user_output, %c user_output")),
      ElementsAre("Abs", "StaticTranspose", "StaticReshape", "StaticTranspose"));
}

TEST_F(XnnpackTest, FusesActivationsAsBounds) {
  const std::string linear =
      "%l: f32[3,7] = edge.aten.mm.default(%x, %w)\n"
      "%y: f32[3,7] = edge.aten.hardtanh.default(%l, 0, 6)";
  EXPECT_THAT(ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input", linear)),
              ElementsAre("FullyConnected"));
  EXPECT_THAT(ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input", linear,
                                 "%y user_output, %l user_output")),
              ElementsAre("FullyConnected", "Clamp"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input",
                         absl::StrCat(linear, "\n%z: f32[3,7] = edge.aten.relu.default(%y)"),
                         "%z user_output")),
      ElementsAre("FullyConnected", "Clamp"));
}

// --- Dynamic sizes ---

TEST_F(XnnpackTest, BatchSizesMayChange) {
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,3,3,3]", "u: f32[6,16]"}, "%x: f32[s0,3,4,4] user_input",
                         "%n: symint(s0) = aten.sym_size.int(%x, 0)\n"
                         "%c: f32[s0,4,4,4] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                         "[1,1], [1,1], false, [0,0], 1)\n"
                         "%p: f32[s0,4,2,2], %i: i64[s0,4,2,2] = "
                         "edge.aten.max_pool2d_with_indices.default(%c, [2,2], [2,2])\n"
                         "%v: f32[s0,16] = edge.aten.view_copy.default(%p, [%n,16])\n"
                         "%t: f32[16,6] = edge.aten.permute_copy.default(%u, [1,0])\n"
                         "%y: f32[s0,6] = edge.aten.mm.default(%v, %t)",
                         "%y user_output", "s0: [1, 5]")),
      ElementsAre("StaticTranspose", "Conv2d", "MaxPooling2d", "StaticTranspose", "StaticReshape",
                  "FullyConnected"));
}

TEST_F(XnnpackTest, SequenceLengthsMayChange) {
  ExpectSame(Program({"w: f32[4,4]", "b: f32[4]"}, "%x: f32[2,s0,4] user_input",
                     "%v: f32[2*s0,4] = edge.aten.view_copy.default(%x, [-1,4])\n"
                     "%m: f32[2*s0,4] = edge.aten.addmm.default(%b, %v, %w)\n"
                     "%h: f32[2,s0,4] = edge.aten.view_copy.default(%m, [2,-1,4])\n"
                     "%a: f32[2,s0,4] = edge.aten.add.Tensor(%h, %x)\n"
                     "%s: f32[2,s0,4] = edge.aten._softmax.default(%a, -1, false)\n"
                     "%y: f32[2,2*s0,4] = edge.aten.cat.default([%s,%x], 1)",
                     "%y user_output", "s0: [1, 5]"));
}

TEST_F(XnnpackTest, StepsMapToFusedNodes) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[3,3]"}, "%x: f32[2,3] user_input",
                    "%h: f32[2,3] = edge.aten.mm.default(%x, %w) handle=7\n"
                    "%y: f32[2,3] = edge.aten.relu.default(%h) handle=9"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(program));
  const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
  EXPECT_EQ(module.debug_handle_map, (exir::DebugHandleMap{{7, {7, 9}}}));
}

TEST_F(XnnpackTest, ValuesMayBeReturnedMoreThanOnce) {
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[3] user_input",
                                 "%y: f32[3] = edge.aten.abs.default(%x)\n"
                                 "%z: f32[3] = edge.dim_order_ops._clone_dim_order.default(%y)\n"
                                 "%n: f32[3] = edge.aten.neg.default(%y)",
                                 "%y user_output, %z user_output, %n user_output")),
              ElementsAre("Abs", "Negate", "Copy"));
}

TEST_F(XnnpackTest, ReportsRejections) {
  const std::pair<std::string, std::string> cases[] = {
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.gelu.default(%x)"),
       "this XNNPACK does not support Gelu"},
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.erf.default(%x)"),
       "operator aten.erf.default is not supported"},
      {Program({}, "%x: i64[2,3] user_input", "%y: i64[2,3] = edge.aten.abs.default(%x)"),
       "%y is i64[2,3], expected a tensor of float32"},
      {Program({}, "%x: f32[2,3]{strides=[1,2]} user_input",
               "%y: f32[2,3]{strides=[1,2]} = edge.aten.abs.default(%x)"),
       "%y is f32[2,3]{strides=[1,2]}, it is neither contiguous nor channels last"},
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.pow.Tensor_Scalar(%x, 3)"),
       "the exponent is not 2"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: f32[2,3] = edge.aten._softmax.default(%x, 0, false)"),
       "not over the last dimension"},
      {Program({}, "%x: f32[2,3] user_input, %z: f32[3,4] user_input",
               "%y: f32[2,4] = edge.aten.mm.default(%x, %z)"),
       "mat2 is not a float32 constant"},
      {Program({}, "%x: f32[2,3] user_input, %z: f32[2,3] user_input",
               "%y: f32[2,3] = edge.aten.add.Tensor(%x, %z, alpha=2)"),
       "alpha is not 1"},
      {Program({}, "%x: f32[2*s0,3] user_input, %z: f32[6,3] user_input",
               "%y: f32[6,3] = edge.aten.add.Tensor(%x, %z)", "%y user_output", "s0: [2, 6]"),
       "at their largest, sizes [12,3] and [6,3] do not broadcast"},
      {Program({"w: f32[4,3,3]"}, "%x: f32[1,3,9] user_input",
               "%y: f32[1,4,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], "
               "false, [0], 1)"),
       "the input has rank 3"},
      {Program({}, "%x: f32[1,3,7,8] user_input",
               "%y: f32[1,3,4,4] = edge.aten.avg_pool2d.default(%x, [3,3], [2,2], [1,1])"),
       "padding is counted"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])"),
       "its partition would only move elements"},
      {Program({}, "%x: f32[2,s0] user_input",
               "%y: f32[2,s0] = edge.aten._softmax.default(%x, -1, false)", "%y user_output",
               "s0: [1, 5]"),
       "the size of dimension 1 of %y is not static"},
      {Program({}, "%x: f32[2,s0] user_input", "%y: f32[2,s0] = edge.aten.abs.default(%x)",
               "%y user_output", "s0: [1, inf]"),
       "%y is f32[2,s0], a size has no upper bound"},
      {Program({}, "%x: f32[s1*s0] user_input",
               "%y: f32[s0,s1] = edge.aten.view_copy.default(%x, [-1,-1])", "%y user_output",
               "s0: [1, 5] s1: [1, 5]"),
       "more than one size of the result is dynamic"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.02, 3, "
               "0, 255, dtype:u8)"),
       "%y is u8[2,3], expected a tensor of int8"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: i8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.02, 3, "
               "-127, 127, dtype:i8)"),
       "its range is not -128 to 127"},
      {Program({}, "%x: f32[1,3,5,4] user_input",
               "%y: f32[1,3,2,2] = edge.aten._adaptive_avg_pool2d.default(%x, [2,2])"),
       "its windows differ in size, or have one element"},
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.clamp.default(%x, 2, 1)"),
       "the bounds are not a range"},
  };
  for (const auto& [text, reason] : cases) {
    const exir::ExportedProgram program = Parse(text, *ops_);
    ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                         Aot().create_partitioner({})->Partition(program));
    EXPECT_TRUE(result.nodes.empty()) << text;
    ASSERT_EQ(result.rejections.size(), 1u) << text;
    EXPECT_EQ(result.rejections[0].reason, reason);
  }
}

TEST_F(XnnpackTest, TargetSelectsNodeTypes) {
  const exir::ExportedProgram program = Parse(
      Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.gelu.default(%x)"), *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered,
                       Lower(program, {{"target", "executorch-1.5"}}));
  EXPECT_EQ(lowered.lowered_modules.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram local, Lower(program, {{"target", "local"}}));
  EXPECT_EQ(local.lowered_modules.size(), 0u);
  EXPECT_THAT(Lower(program, {{"target", "x"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target=x, expected local")));
  EXPECT_THAT(Lower(program, {{"level", "3"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown compile spec 'level'; there are target")));
}

TEST_F(XnnpackTest, ConstantsAreSharedNamedData) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[3,3]"}, "%x: f32[2,3] user_input",
                    "%h: f32[2,3] = edge.aten.mm.default(%x, %w)\n"
                    "%y: f32[2,3] = edge.aten.mm.default(%h, %w)"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(program));
  const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
  ASSERT_EQ(module.named_data.program_data.size(), 1u);
  const auto& [key, entry] = *module.named_data.program_data.begin();
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(entry.alignment, 128u);
}

// --- Execution ---

// The intermediate result has 2^30 bytes at its bound.
TEST_F(XnnpackTest, MemoryFollowsTheSizesOfACall) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[1,4096]", "u: f32[4096,4]"}, "%x: f32[s0,1] user_input",
                    "%s: f32[s0,4096] = edge.aten.mm.default(%x, %w)\n"
                    "%y: f32[s0,4] = edge.aten.mm.default(%s, %u)",
                    "%y user_output", "s0: [1, 65536]"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered, Lower(program));
  ASSERT_EQ(lowered.top().num_nodes(), 1u);
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ASSERT_OK_AND_ASSIGN(const belay::Program file, exir::OpenImage(image));
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(file, "forward", kernels_, registry_));
  std::vector<float> x(40'000, 0.5f);
  for (const int64_t size : {3, 40'000, 100, 3}) {
    ASSERT_OK(
        method.SetInput(0, TensorView::Contiguous(DType::kFloat32, Sizes({size, 1}), x.data())));
    const absl::Status status = method.Execute();
    if (size > 10'000) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("exceeds the limit 'delegate_bytes'")));
      continue;
    }
    ASSERT_OK(status);
    EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->sizes[0], size);
  }
}

TEST_F(XnnpackTest, ChargesNodesToTheCallBudget) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[64,64]"}, "%x: f32[8,64] user_input",
                    "%y: f32[8,64] = edge.aten.mm.default(%x, %w)"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered, Lower(program));
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ASSERT_OK_AND_ASSIGN(const belay::Program file, exir::OpenImage(image));
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(file, "forward", kernels_, registry_));
  std::vector<float> x(8 * 64);
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(DType::kFloat32, Sizes({8, 64}), x.data())));
  ExecuteOptions options;
  options.executed_work = 8 * 64 * 64 - 1;
  EXPECT_EQ(method.Execute(options).code(), absl::StatusCode::kResourceExhausted);
  options.executed_work = 1 << 20;
  EXPECT_OK(method.Execute(options));
}

}  // namespace
}  // namespace belay::xnnpack
