#include "backends/xnnpack/aot/operation.h"

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

// Operands of the tests' nodes: constants and inputs of all kinds.
constexpr const char* kConstants[] = {
    "w: f32[3,4]",      "b: f32[4]",        "few: f32[3]",
    "d: f64[3,4]",      "none: f32[0,4]",   "k: f32[4,3,1,1]",
    "kb: f32[4]",       "kt: f32[3,4,2,2]", "tall: f32[4,3,32768,1]",
    "kg: f32[3,1,1,1]", "one: f32[1]",      "m: i8[3,4]",
    "fewi: i8[3]",      "kc: f32[1,3,1,1]", "kw: f32[1,1,1,3]"};
constexpr std::string_view kInputs =
    "%x: f32[2,3] user_input, %i: i64[2,3] user_input, %z: f32[1,3,4,6] user_input, "
    "%zi: i64[1,3,4,6] user_input, %n: symint(s0) user_input, %zs: f32[1,3,s0,6] user_input, "
    "%zw: f32[1,3,4,s0] user_input, %zc: f32[1,s0,4,6] user_input, %xs: f32[s0,3] user_input";

class OperationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  // Reads the node that computes %y.
  absl::StatusOr<Operation> Read(std::string_view body, Target target = Target::kExecuTorch15,
                                 std::string_view result = "%y user_output") {
    std::string text = "program edge {\nranges { s0: [1, 5] }\nconstants {", parameters;
    for (const std::string constant : kConstants) {
      const std::string name = constant.substr(0, constant.find(':'));
      absl::StrAppend(&text, " state \"", name, "\"", constant.substr(name.size()));
      absl::StrAppend(&parameters, "%", constant, " parameter \"", name, "\", ");
    }
    absl::StrAppend(&text, " }\ngraph(", parameters, kInputs, ") {\n", body, "\nreturn (", result,
                    ") } }");
    const exir::ExportedProgram program = exir::ParseOrDie(text, *ops_);
    const exir::NodeId node = program.top().value(exir::FindValue(program.top(), "y")).producer;
    const absl::Status taken = CheckSupported(program, node, target);
    absl::StatusOr<Operation> operation = ReadOperation(program, node, target);
    if (operation.ok() && !taken.ok()) return taken;
    return operation;
  }

  // Returns the error of a call "relu.default(%x)"; the default result type is f32[2,3].
  std::string Refusal(std::string_view call) {
    const std::string body =
        call[0] == '%' ? std::string(call) : absl::StrCat("%y: f32[2,3] = edge.aten.", call);
    const auto operation = Read(body);
    if (operation.ok()) return "it is taken";
    EXPECT_EQ(operation.status().code(), absl::StatusCode::kUnimplemented) << call;
    return std::string(operation.status().message());
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

// --- Operands ---

TEST_F(OperationTest, OperandsMustBeFloat32Tensors) {
  for (const char* call : {"relu.default(%i)",
                           "abs.default(%i)",
                           "add.Tensor(%i, %x)",
                           "add.Tensor(%x, %i)",
                           "clamp.default(%i, 0, 1)",
                           "hardtanh.default(%i)",
                           "leaky_relu.default(%i)",
                           "elu.default(%i)",
                           "hardswish.default(%i)",
                           "prelu.default(%i, %few)",
                           "pow.Tensor_Scalar(%i, 2)",
                           "gelu.default(%i)",
                           "_softmax.default(%i, -1, false)",
                           "mm.default(%i, %w)",
                           "addmm.default(%b, %i, %w)",
                           "bmm.default(%i, %x)",
                           "bmm.default(%x, %i)",
                           "cat.default([%x,%i], 1)",
                           "permute_copy.default(%i, [0,1])",
                           "view_copy.default(%i, [2,3])",
                           "slice_copy.Tensor(%i, 0)",
                           "constant_pad_nd.default(%i, [0,0])",
                           "expand_copy.default(%i, [2,3])"}) {
    EXPECT_EQ(Refusal(call), "%i is i64[2,3], expected a tensor of float32") << call;
  }
  const std::string image = "%y: f32[1,3,4,6] = edge.aten.";
  for (const char* call : {"convolution.default(%zi, %k, none, [1], [0], [1], false, [0], 1)",
                           "avg_pool2d.default(%zi, [2,2])", "mean.dim(%zi, [2,3], true)",
                           "_adaptive_avg_pool2d.default(%zi, [2,2])"}) {
    EXPECT_EQ(Refusal(image + call), "%zi is i64[1,3,4,6], expected a tensor of float32") << call;
  }
  EXPECT_EQ(Refusal("%y: f32[1,3,4,6], %j: i64[1,3,4,6] = "
                    "edge.aten.max_pool2d_with_indices.default(%zi, [2,2])"),
            "%zi is i64[1,3,4,6], expected a tensor of float32");
  EXPECT_EQ(Refusal("%y: f32[1,3,4,6], %s: f32[0], %t: f32[0] = "
                    "edge.aten._native_batch_norm_legit_no_training.default(%zi, %few, %few, %few, "
                    "%few, 0.1, 1e-05)"),
            "%zi is i64[1,3,4,6], expected a tensor of float32");
}

TEST_F(OperationTest, OperandsMustNotBeSymbolic) {
  EXPECT_EQ(Refusal("add.Tensor(%x, %n)"), "%n is symint(s0), expected a tensor of float32");
  EXPECT_EQ(Refusal("mul.Tensor(%n, %x)"), "%n is symint(s0), expected a tensor of float32");
  EXPECT_EQ(Refusal("abs.default(none)"), "an operand is not a tensor");
  EXPECT_EQ(Refusal("cat.default([%x,3], 0)"), "an operand is not a tensor");
}

TEST_F(OperationTest, ChecksSizeLimitsOfPayloads) {
  const auto refusal = [&](const std::string& type) {
    return Refusal("%y: " + type + " = edge.aten.relu.default(%x)");
  };
  EXPECT_EQ(refusal("f32[1,1,1,1,1,1,6]"), "%y is f32[1,1,1,1,1,1,6], at most rank 6");
  EXPECT_EQ(refusal("f32[1,1,1,1,1,6]"), "it is taken");
  EXPECT_EQ(refusal("f32[0,3]"), "%y is f32[0,3], sizes must be from 1 to 2^24");
  EXPECT_EQ(refusal("f32[16777217]"), "%y is f32[16777217], sizes must be from 1 to 2^24");
  EXPECT_EQ(refusal("f32[16777216]"), "it is taken");
  EXPECT_EQ(refusal("symint(s0)"), "%y is symint(s0), expected a tensor of float32");
  // Rank 4 in neither order.
  EXPECT_EQ(refusal("f32[1,3,4,6]{strides=[72,4,1,12]}"),
            "%y is f32[1,3,4,6]{strides=[72,4,1,12]}, it is neither contiguous nor channels last");
  EXPECT_EQ(refusal("f32[1,3,4,6]{strides=[72,1,18,3]}"), "it is taken");
  // Decreases in the symbol.
  EXPECT_EQ(refusal("f32[6-s0]"), "%y is f32[-s0 + 6], a size has no upper bound");
}

// --- Scalars ---

TEST_F(OperationTest, ScalarsMustBeKnown) {
  const std::string unknown = " is not a known scalar";
  EXPECT_EQ(Refusal("clamp.default(%x, %n, none)"), "min" + unknown);
  EXPECT_EQ(Refusal("clamp.default(%x, none, %n)"), "max" + unknown);
  EXPECT_EQ(Refusal("hardtanh.default(%x, %n, 1)"), "min" + unknown);
  EXPECT_EQ(Refusal("leaky_relu.default(%x, %n)"), "negative_slope" + unknown);
  EXPECT_EQ(Refusal("elu.default(%x, %n)"), "alpha" + unknown);
  EXPECT_EQ(Refusal("elu.default(%x, 1, %n)"), "scale" + unknown);
  EXPECT_EQ(Refusal("elu.default(%x, 1, 1, %n)"), "input_scale" + unknown);
  EXPECT_EQ(Refusal("pow.Tensor_Scalar(%x, %n)"), "exponent" + unknown);
  EXPECT_EQ(Refusal("add.Scalar(%x, \"one\")"), "other" + unknown);
  EXPECT_EQ(Refusal("_softmax.default(%x, %n, false)"), "dim" + unknown);
  EXPECT_EQ(Refusal("addmm.default(%b, %x, %w, alpha=%n)"), "alpha" + unknown);
  EXPECT_EQ(Refusal("addmm.default(%b, %x, %w, beta=%n)"), "beta" + unknown);
  EXPECT_EQ(Refusal("cat.default([%x,%x], %n)"), "dim" + unknown);
  EXPECT_EQ(Refusal("slice_copy.Tensor(%x, %n)"), "dim" + unknown);
  EXPECT_EQ(Refusal("slice_copy.Tensor(%x, 0, %n)"), "start" + unknown);
  EXPECT_EQ(Refusal("slice_copy.Tensor(%x, 0, 0, 2, %n)"), "step" + unknown);
  EXPECT_EQ(Refusal("constant_pad_nd.default(%x, [0,0], %n)"), "value" + unknown);
  EXPECT_EQ(Refusal("constant_pad_nd.default(%x, [%n,0])"), "pad has unknown sizes");
  EXPECT_EQ(Refusal("%y: f32[1,3,1,1] = edge.aten.mean.dim(%z, %n, true)"),
            "dim has unknown sizes");
  EXPECT_EQ(Refusal("%y: f32[1,3,1,1] = edge.aten.mean.dim(%z, [2,3], %n)"),
            "keepdim is not known");
}

TEST_F(OperationTest, ScalarsMustBeSupportedByNodes) {
  EXPECT_EQ(Refusal("elu.default(%x, 0)"), "alpha is not positive");
  EXPECT_EQ(Refusal("elu.default(%x, -1.5)"), "alpha is not positive");
  EXPECT_EQ(Refusal("elu.default(%x, 1, 2)"), "scale is not 1");
  EXPECT_EQ(Refusal("elu.default(%x, 1, 1, 2)"), "input_scale is not 1");
  EXPECT_EQ(Refusal("gelu.default(%x, approximate=\"tanh\")"), "it is approximated by tanh");
  EXPECT_EQ(Refusal("gelu.default(%x)"), "it is taken");
  EXPECT_EQ(Refusal("addmm.default(%b, %x, %w, alpha=2)"), "alpha is not 1");
  EXPECT_EQ(Refusal("addmm.default(%b, %x, %w, beta=0)"), "beta is not 1");
  EXPECT_EQ(Refusal("sub.Tensor(%x, %x, alpha=1.0)"), "it is taken");
  EXPECT_EQ(Refusal("sub.Tensor(%x, %x, alpha=1.5)"), "alpha is not 1");
  EXPECT_EQ(Refusal("_softmax.default(%x, 1, false)"), "it is taken");
  EXPECT_EQ(Refusal("_softmax.default(%x, -1, false)"), "it is taken");
  EXPECT_EQ(Refusal("_softmax.default(%x, -2, false)"), "not over the last dimension");
  EXPECT_EQ(Refusal("%s: f32[] = edge.aten.sigmoid.default(%x)\n"
                    "%y: f32[] = edge.aten._softmax.default(%s, -1, false)"),
            "not over the last dimension");
  ASSERT_OK_AND_ASSIGN(const Operation sum, Read("%y: f32[2,3] = edge.aten.add.Scalar(%x, true)"));
  EXPECT_EQ(std::get<float>(sum.operands[1]), 1);
  ASSERT_OK_AND_ASSIGN(const Operation same,
                       Read("%y: f32[2,3] = edge.aten.add.Scalar(%x, false)"));
  EXPECT_EQ(std::get<float>(same.operands[1]), 0);
}

TEST_F(OperationTest, ChecksDimensions) {
  EXPECT_EQ(Refusal("cat.default([%x,%x], 2)"), "dimension 2");
  EXPECT_EQ(Refusal("cat.default([%x,%x], -3)"), "dimension -3");
  EXPECT_EQ(Refusal("slice_copy.Tensor(%x, 2)"), "dimension 2");
  ASSERT_OK_AND_ASSIGN(const Operation cat,
                       Read("%y: f32[2,6] = edge.aten.cat.default([%x,%x], -1)"));
  EXPECT_THAT(cat.numbers, ElementsAre(1));
  for (const char* dims : {"[0]", "[0,1,2]", "[0,2]", "[-3,0]", "[0,%n]", "%n"}) {
    EXPECT_EQ(Refusal(absl::StrCat("permute_copy.default(%x, ", dims, ")")),
              "its dimensions are not those of the input");
  }
  for (const char* dims : {"0, 2", "-3, 0", "%n, 0", "0, %n"}) {
    EXPECT_EQ(Refusal(absl::StrCat("transpose_copy.int(%x, ", dims, ")")),
              "its dimensions are not those of the input");
  }
}

// --- Concatenation, slices, padding, copies ---

TEST_F(OperationTest, ConcatenationsHaveTwoToFiveInputs) {
  EXPECT_EQ(Refusal("cat.default([%x], 0)"), "it does not have 2 to 5 inputs");
  EXPECT_EQ(Refusal("cat.default([%x,%x,%x,%x,%x,%x], 0)"), "it does not have 2 to 5 inputs");
  EXPECT_EQ(Refusal("cat.default(%x, 0)"), "it does not have 2 to 5 inputs");
  const NodeType types[] = {NodeType::Concatenate2, NodeType::Concatenate3, NodeType::Concatenate4,
                            NodeType::Concatenate5};
  std::string inputs = "%x";
  for (NodeType type : types) {
    inputs += ",%x";
    ASSERT_OK_AND_ASSIGN(
        const Operation cat,
        Read(absl::StrCat("%y: f32[2,3] = edge.aten.cat.default([", inputs, "], 0)")));
    EXPECT_EQ(cat.type, type);
  }
}

TEST_F(OperationTest, SlicesNeedStepOneAndStaticSizes) {
  EXPECT_EQ(Refusal("slice_copy.Tensor(%x, 0, 0, 2, 2)"), "the step is not 1");
  EXPECT_EQ(Refusal("%y: f32[s0,3] = edge.aten.slice_copy.Tensor(%xs, 1)"),
            "the size of dimension 0 of %y is not static");
  EXPECT_EQ(Refusal("%y: f32[1,3] = edge.aten.slice_copy.Tensor(%xs, 0, -1)"),
            "the size of dimension 0 of %xs is not static");
  const auto starts = [&](const std::string& arguments) {
    const auto slice = Read("%y: f32[2,2] = edge.aten.slice_copy.Tensor(%x, 1, " + arguments + ")");
    EXPECT_OK(slice.status());
    return slice.ok() ? slice->numbers : Sizes();
  };
  EXPECT_THAT(starts("none, 2"), ElementsAre(0, 0));
  EXPECT_THAT(starts("1, 3"), ElementsAre(0, 1));
  EXPECT_THAT(starts("-2, 3"), ElementsAre(0, 1));
  EXPECT_THAT(starts("-9, 2"), ElementsAre(0, 0));
  EXPECT_THAT(starts("9, 9"), ElementsAre(0, 3));
}

TEST_F(OperationTest, PaddingIsNotNegative) {
  for (const char* pad : {"[-1,0]", "[0,-1]", "[16777217,0]", "[0,0,0,0,0,1]", "3,-1"}) {
    EXPECT_EQ(Refusal(absl::StrCat("constant_pad_nd.default(%x, ", pad, ")")),
              absl::StartsWith(pad, "3") ? "it is taken" : "padding is negative")
        << pad;
  }
  ASSERT_OK_AND_ASSIGN(const Operation pad,
                       Read("%y: f32[2,3] = edge.aten.constant_pad_nd.default(%x, [1,2,3], none)"));
  EXPECT_THAT(pad.numbers, ElementsAre(3, 1));
  EXPECT_THAT(pad.more_numbers, ElementsAre(0, 2));
  EXPECT_EQ(pad.number, 0);
}

TEST_F(OperationTest, CopiesDoNotExpand) {
  EXPECT_EQ(Refusal("%y: f32[4,2,3] = edge.aten.expand_copy.default(%x, [4,2,3])"),
            "it expands its input");
  ASSERT_OK_AND_ASSIGN(const Operation same,
                       Read("%y: f32[2,3] = edge.aten.expand_copy.default(%x, [2,3])"));
  EXPECT_EQ(same.type, NodeType::NONE);
}

// --- Constants ---

TEST_F(OperationTest, WeightsMustBeFloat32Constants) {
  const std::string not_constant = "mat2 is not a float32 constant";
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.mm.default(%x, none)"), not_constant);
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.mm.default(%x, %d)"), not_constant);
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.mm.default(%x, %m)"), not_constant);
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.mm.default(%x, %b)"), "mat2 is [4], expected rank 2");
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.mm.default(%x, %none)"),
            "mat2 is [0,4], expected rank 2");
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.addmm.default(%one, %x, %w)"),
            "the bias is broadcast");
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.addmm.default(%w, %x, %w)"),
            "self is [3,4], expected rank 1");
  EXPECT_EQ(Refusal("%y: f32[2,4] = edge.aten.addmm.default(%b, %x, %w)"), "it is taken");
}

// --- Convolutions ---

TEST_F(OperationTest, ChecksConvolutionParameters) {
  const auto refusal = [&](const std::string& arguments, const std::string& sizes = "1,4,4,6") {
    return Refusal(
        absl::StrCat("%y: f32[", sizes, "] = edge.aten.convolution.default(", arguments, ")"));
  };
  const std::string usual = ", [1,1], [0,0], [1,1], false, [0,0], 1";
  EXPECT_EQ(refusal("%z, %k, %kb" + usual), "it is taken");
  EXPECT_EQ(refusal("%z, %w, none" + usual), "weight is [3,4], expected rank 4");
  EXPECT_EQ(refusal("%z, %zs, none" + usual), "weight is not a float32 constant");
  EXPECT_EQ(refusal("%z, %k, %x" + usual), "bias is not a float32 constant");
  EXPECT_EQ(refusal("%z, %k, %k" + usual), "bias is [4,3,1,1], expected rank 1");
  EXPECT_EQ(refusal("%z, %tall, none" + usual), "the kernel is too large");
  EXPECT_EQ(refusal("%zc, %k, none" + usual), "the size of dimension 1 of %zc is not static");
  EXPECT_EQ(refusal("%z, %k, none, [0,1], [0,0], [1,1], false, [0,0], 1"), "stride is 0");
  EXPECT_EQ(refusal("%z, %k, none, [1,32768], [0,0], [1,1], false, [0,0], 1"), "stride is 32768");
  EXPECT_EQ(refusal("%z, %k, none, [1,1,1], [0,0], [1,1], false, [0,0], 1"),
            "stride has 3 numbers");
  EXPECT_EQ(refusal("%z, %k, none, [1,1], [-1,0], [1,1], false, [0,0], 1"), "padding is -1");
  EXPECT_EQ(refusal("%z, %k, none, [1,1], [0,0], [0], false, [0,0], 1"), "dilation is 0");
  EXPECT_EQ(refusal("%z, %k, none, [1,1], [0,0], [1], %n, [0,0], 1"), "transposed is not known");
  EXPECT_EQ(refusal("%z, %k, none, [1,1], [0,0], [1], false, [-1], 1"), "output_padding is -1");
  EXPECT_EQ(refusal("%z, %k, none, [1,1], [0,0], [1], false, [0], %n"),
            "groups is not a known scalar");
  for (const char* groups : {"0", "-1"}) {
    EXPECT_EQ(refusal(absl::StrCat("%z, %k, none, [1,1], [0,0], [1], false, [0], ", groups)),
              absl::StrCat("groups is ", groups));
  }
  EXPECT_EQ(refusal("%z, %kt, none, [2,2], [0,0], [1], true, [0], 3", "1,12,8,12"),
            "it is transposed and has groups");
  // Omitted values have their defaults; a single value is used twice.
  ASSERT_OK_AND_ASSIGN(const Operation left_out,
                       Read("%y: f32[1,4,4,6] = edge.aten.convolution.default(%z, %k, none, [], "
                            "[], [], false, [], 1)"));
  EXPECT_EQ(left_out.window.stride_width, 1);
  EXPECT_EQ(left_out.window.dilation_height, 1);
  EXPECT_EQ(left_out.window.left, 0);
  ASSERT_OK_AND_ASSIGN(const Operation both,
                       Read("%y: f32[1,4,2,3] = edge.aten.convolution.default(%z, %k, none, 2, "
                            "3, [1], false, [0], 1)"));
  EXPECT_EQ(both.window.stride_height, 2);
  EXPECT_EQ(both.window.stride_width, 2);
  EXPECT_EQ(both.window.bottom, 3);
}

TEST_F(OperationTest, OneChannelPerGroupIsDepthwise) {
  const auto type = [&](const std::string& weight, int groups) {
    const auto read =
        Read(absl::StrCat("%y: f32[1,3,4,6] = edge.aten.convolution.default(%z, %", weight,
                          ", none, [1], [0], [1], false, [0], ", groups, ")"));
    EXPECT_OK(read.status());
    return read.ok() ? read->type : NodeType::NONE;
  };
  EXPECT_EQ(type("kg", 3), NodeType::DepthwiseConv2d);
  EXPECT_EQ(type("kg", 1), NodeType::Conv2d);
  EXPECT_EQ(type("k", 1), NodeType::Conv2d);
}

TEST_F(OperationTest, BatchNormNeedsConstantsAndOneResult) {
  const auto refusal = [&](const std::string& operands, std::string_view eps = "1e-05") {
    return Refusal(
        absl::StrCat("%y: f32[1,3,4,6], %s: f32[0], %t: f32[0] = "
                     "edge.aten._native_batch_norm_legit_no_training.default(",
                     operands, ", 0.1, ", eps, ")"));
  };
  EXPECT_EQ(refusal("%z, %few, %few, %few, %few"), "it is taken");
  EXPECT_EQ(refusal("%z, none, none, %few, %few"), "it is taken");
  EXPECT_EQ(refusal("%z, %b, none, %few, %few"), "weight has other channels, or is quantized");
  const std::string dequantized =
      "%v: f32[3] = edge.quantized_decomposed.dequantize_per_tensor.default(%fewi, 0.5, 0, -128, "
      "127, dtype:i8)\n";
  EXPECT_EQ(Refusal(dequantized +
                    "%y: f32[1,3,4,6], %s: f32[0], %t: f32[0] = "
                    "edge.aten._native_batch_norm_legit_no_training.default(%z, %v, none, %few, "
                    "%few, 0.1, 1e-05)"),
            "weight has other channels, or is quantized");
  EXPECT_EQ(refusal("%z, none, %b, %few, %few"), "bias has other channels, or is quantized");
  EXPECT_EQ(refusal("%z, none, none, %b, %few"),
            "running_mean has other channels, or is quantized");
  EXPECT_EQ(refusal("%z, none, none, %few, %x"), "running_var is not a float32 constant");
  EXPECT_EQ(refusal("%z, none, none, %few, %few", "%n"), "eps is not a known scalar");
  // Without weight and bias: 1 and 0, and a variance of 0.
  ASSERT_OK_AND_ASSIGN(
      const Operation norm,
      Read("%y: f32[1,3,4,6], %s: f32[0], %t: f32[0] = "
           "edge.aten._native_batch_norm_legit_no_training.default(%z, none, none, %few, %few, "
           "0.1, 0.25)"));
  EXPECT_THAT(norm.scales, ElementsAre(2, 2, 2));
  EXPECT_THAT(norm.shifts, ElementsAre(0, 0, 0));
  const std::string used =
      "%y: f32[1,3,4,6], %s: f32[3], %t: f32[3] = "
      "edge.aten._native_batch_norm_legit_no_training.default(%z, none, none, %few, %few, 0.1, 1)";
  for (const char* user : {"%u: f32[3] = edge.aten.abs.default(%s)",
                           "%u: f32[3] = "
                           "edge.aten.abs.default(%t)"}) {
    EXPECT_EQ(Refusal(absl::StrCat(used, "\n", user)), "its statistics are used");
  }
  EXPECT_EQ(Read(used, Target::kLocal, "%y user_output, %t user_output").status().message(),
            "its statistics are used");
}

// --- Pools ---

TEST_F(OperationTest, ChecksPoolWindows) {
  const auto refusal = [&](const std::string& arguments) {
    return Refusal(
        absl::StrCat("%y: f32[1,3,2,3] = edge.aten.avg_pool2d.default(", arguments, ")"));
  };
  EXPECT_EQ(refusal("%z, [2,2]"), "it is taken");
  EXPECT_EQ(refusal("%z, [0,2]"), "kernel_size is 0");
  EXPECT_EQ(refusal("%z, [2,2,2]"), "kernel_size has 3 numbers");
  EXPECT_EQ(refusal("%z, [1,1]"), "the window is one element");
  EXPECT_EQ(refusal("%z, []"), "the window is one element");
  EXPECT_EQ(refusal("%z, [2,2], [0,1]"), "stride is 0");
  EXPECT_EQ(refusal("%z, [2,2], [3,2]"), "the stride is larger than the window");
  EXPECT_EQ(refusal("%z, [2,2], [2,3]"), "the stride is larger than the window");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [-1,0]"), "padding is -1");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [0,0], true"), "ceil_mode is set");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [0,0], %n"), "ceil_mode is not known");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [0,0], false, %n"), "count_include_pad is not known");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [0,1], false, true"), "padding is counted");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [1,0], false, true"), "padding is counted");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [1,1], false, false"), "it is taken");
  EXPECT_EQ(refusal("%z, [2,2], [2,2], [0,0], false, true, 3"), "divisor_override is given");
}

TEST_F(OperationTest, MaxPoolIndicesMustBeUnused) {
  const std::string pool =
      "%y: f32[1,3,2,3], %j: i64[1,3,2,3] = edge.aten.max_pool2d_with_indices.default(%z, [2,2]";
  EXPECT_EQ(Refusal(pool + ")"), "it is taken");
  EXPECT_EQ(Refusal(pool + ", [2,2], [0,0], [0,1])"), "dilation is 0");
  EXPECT_EQ(Refusal(pool + ", [2,2], [0,0], [1,1], %n)"), "ceil_mode is not known");
  EXPECT_EQ(Refusal(pool + ")\n%u: i64[1,3,2,3] = edge.aten.abs.default(%j)"),
            "its indices are used");
  EXPECT_EQ(Read(pool + ")", Target::kLocal, "%y user_output, %j user_output").status().message(),
            "its indices are used");
}

TEST_F(OperationTest, MaxPoolsInCeilModePadTheLastWindow) {
  const auto pool = [&](const std::string& sizes, const std::string& arguments) {
    return Read(absl::StrCat("%y: f32[1,3,", sizes, "], %j: i64[1,3,", sizes,
                             "] = edge.aten.max_pool2d_with_indices.default(", arguments,
                             ", true)"));
  };
  // Rows end at 3 + 3 of 4, columns at 3 + 3 of 6.
  ASSERT_OK_AND_ASSIGN(const Operation padded, pool("2,2", "%z, [3,3], [3,3], [0,0], [1,1]"));
  EXPECT_EQ(padded.window.top, 0);
  EXPECT_EQ(padded.window.bottom, 2);
  EXPECT_EQ(padded.window.right, 0);
  // At least the padding of both sides.
  ASSERT_OK_AND_ASSIGN(const Operation both, pool("3,4", "%z, [2,2], [2,2], [1,1], [1,1]"));
  EXPECT_EQ(both.window.bottom, 1);
  EXPECT_EQ(both.window.right, 1);
  // The second row of windows begins at 2, and its last element is at 6 of 4.
  ASSERT_OK_AND_ASSIGN(const Operation dilated, pool("2,5", "%z, [3,2], [2,1], [0,0], [2,1]"));
  EXPECT_EQ(dilated.window.bottom, 3);
  EXPECT_EQ(dilated.window.right, 0);
  EXPECT_EQ(pool("2,2", "%zs, [3,3], [3,3], [0,0], [1,1]").status().message(),
            "the size of dimension 2 of %zs is not static");
}

TEST_F(OperationTest, MeansMustBeOverImageDimensions) {
  const std::string others = "not over the last two dimensions with keepdim";
  for (const char* arguments : {"3, true", "none, true", "[1,3], true", "[2,3], false"}) {
    EXPECT_EQ(Refusal(absl::StrCat("%y: f32[1,3,1,1] = edge.aten.mean.dim(%z, ", arguments, ")")),
              others);
  }
  EXPECT_EQ(Refusal("%y: f32[1,3,1,1] = edge.aten.mean.dim(%z, [3,2], true)"), "it is taken");
  EXPECT_EQ(Refusal("%y: f32[1,3,1,1] = edge.aten.mean.dim(%z, [-1,2], true)"), "it is taken");
  EXPECT_EQ(Refusal("%y: f32[2,1] = edge.aten.mean.dim(%x, [1], true)"), "the input has rank 2");
}

TEST_F(OperationTest, AdaptivePoolsNeedWindowsOfEqualSize) {
  const auto refusal = [&](const std::string& input, const std::string& sizes) {
    return Refusal(absl::StrCat("%y: f32[1,3,", sizes,
                                "] = edge.aten._adaptive_avg_pool2d.default(%", input, ", [", sizes,
                                "])"));
  };
  EXPECT_EQ(refusal("z", "2,3"), "it is taken");
  const std::string unequal = "its windows differ in size, or have one element";
  EXPECT_EQ(refusal("z", "3,3"), unequal);
  EXPECT_EQ(refusal("z", "2,4"), unequal);
  EXPECT_EQ(refusal("z", "4,6"), unequal);
  EXPECT_EQ(refusal("z", "1,6"), "it is taken");
  EXPECT_EQ(refusal("zs", "2,3"), "the size of dimension 2 of %zs is not static");
  EXPECT_EQ(refusal("zw", "2,3"), "the size of dimension 3 of %zw is not static");
  // Global, for any size.
  ASSERT_OK_AND_ASSIGN(
      const Operation all,
      Read("%y: f32[1,3,1,1] = edge.aten._adaptive_avg_pool2d.default(%zs, [1,1])"));
  EXPECT_EQ(all.type, NodeType::GlobalAvgPooling2d);
  EXPECT_EQ(all.flags, 64u);
}

TEST_F(OperationTest, MaximaMustBeOverRowsAndColumns) {
  const std::string others = "not over rows and columns with keepdim";
  const auto maximum = [&](const std::string& arguments) {
    return Refusal(
        absl::StrCat("%y: f32[1,3,1,6], %j: i64[1,3,1,6] = edge.aten.max.dim(", arguments, ")"));
  };
  const auto maxima = [&](const std::string& arguments) {
    return Refusal(absl::StrCat("%y: f32[1,3,1,6] = edge.aten.amax.default(", arguments, ")"));
  };
  EXPECT_EQ(maximum("%z, 2, true"), "it is taken");
  EXPECT_EQ(maximum("%z, 2, false"), others);
  EXPECT_EQ(maximum("%z, 1, true"), others);
  EXPECT_EQ(maximum("%z, 4, true"), "dimension 4");
  EXPECT_EQ(maximum("%zs, 2, true"), "the size of dimension 2 of %zs is not static");
  EXPECT_EQ(maximum("%zc, 2, true"), "the size of dimension 1 of %zc is not static");
  EXPECT_EQ(maximum("%x, 1, true"), "the input has rank 2");
  EXPECT_EQ(maximum("%kg, 2, true"), "the window is one element");
  EXPECT_EQ(maximum("%tall, 2, true"), "the window is too large");
  EXPECT_EQ(maxima("%z, [2,-1], true"), "it is taken");
  EXPECT_EQ(maxima("%z, [], true"), others);
  EXPECT_EQ(maxima("%z, [0,2], true"), others);
  ASSERT_OK_AND_ASSIGN(const Operation all,
                       Read("%y: f32[1,3,1,1] = edge.aten.amax.default(%z, [3,2], true)"));
  EXPECT_EQ(all.type, NodeType::MaxPooling2d);
  EXPECT_EQ(all.window.kernel_height, 4);
  EXPECT_EQ(all.window.kernel_width, 6);
  EXPECT_EQ(all.window.stride_width, 6);
  EXPECT_EQ(Read("%y: f32[1,3,1,6], %j: i64[1,3,1,6] = edge.aten.max.dim(%z, 2, true)",
                 Target::kLocal, "%y user_output, %j user_output")
                .status()
                .message(),
            "its indices are used");
}

// --- Slopes ---

TEST_F(OperationTest, SlopesAreConstantAndPerChannel) {
  const auto prelu = [&](const std::string& arguments) {
    return Refusal(absl::StrCat("%y: f32[1,3,4,6] = edge.aten.prelu.default(", arguments, ")"));
  };
  EXPECT_EQ(prelu("%z, %few"), "it is taken");
  EXPECT_EQ(prelu("%z, %x"), "weight is not a float32 constant");
  EXPECT_EQ(prelu("%z, %d"), "weight is not a float32 constant");
  EXPECT_EQ(prelu("%z, %b"), "weight is [4], expected [3]");
  EXPECT_EQ(prelu("%z, %none"), "weight is [0,4], expected [3]");
  EXPECT_EQ(prelu("%zc, %few"), "the size of dimension 1 of %zc is not static");
  EXPECT_EQ(Refusal("%y: f32[1,2,3] = edge.aten.unsqueeze_copy.default(%x, 0)\n"
                    "%u: f32[1,2,3] = edge.aten.prelu.default(%y, %few)"),
            "it is taken");
  EXPECT_EQ(Refusal("%u: f32[1,2,3] = edge.aten.unsqueeze_copy.default(%x, 0)\n"
                    "%y: f32[1,2,3] = edge.aten.prelu.default(%u, %few)"),
            "it has a slope per channel, and the input has rank 3");
  ASSERT_OK_AND_ASSIGN(const Operation rows,
                       Read("%y: f32[2,3] = edge.aten.prelu.default(%x, %few)"));
  EXPECT_EQ(rows.type, NodeType::PReLU);
  EXPECT_EQ(rows.images, Images::kRows);
  EXPECT_THAT(rows.scales, ElementsAre(0, 0, 0));
  // Slopes that broadcast.
  const auto kernel = [&](const std::string& weight) {
    return Refusal("%y: f32[1,3,4,6] = edge.aten._prelu_kernel.default(%z, %" + weight + ")");
  };
  EXPECT_EQ(kernel("kc"), "it is taken");
  EXPECT_EQ(kernel("few"), "weight is [3], expected [1,3,1,1]");
  EXPECT_EQ(kernel("kw"), "weight is [1,1,1,3], expected [1,3,1,1]");
  ASSERT_OK_AND_ASSIGN(const Operation one,
                       Read("%y: f32[2,3] = edge.aten.prelu.default(%x, %one)"));
  EXPECT_EQ(one.type, NodeType::LeakyReLU);
}

TEST_F(OperationTest, SlopesAreFinite) {
  exir::ExportedProgram program = exir::ParseOrDie(
      "program edge { constants { state \"w\": f32[1] }\n"
      "graph(%w: f32[1] parameter \"w\", %x: f32[2] user_input) {\n"
      "%y: f32[2] = edge.aten.prelu.default(%x, %w)\nreturn (%y user_output) } }",
      *ops_);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto* bytes = reinterpret_cast<const std::byte*>(&infinity);
  program.state_dict.at("w") =
      exir::ConstantTensor::Contiguous(DType::kFloat32, {1},
                                       exir::Storage::Own({bytes, bytes + sizeof(infinity)}))
          .value();
  EXPECT_EQ(CheckSupported(program, *program.top().nodes().begin(), Target::kLocal).message(),
            "a slope is not finite");
}

// --- Nodes without results ---

TEST_F(OperationTest, NodesMustHaveResults) {
  const exir::ExportedProgram program = exir::ParseOrDie(
      "program edge { graph(%x: f32[2] user_input, %b: b8[] user_input) {\n"
      "edge.aten.abs.default(%x)\naten._assert_async.default(%b)\nreturn () } }",
      *ops_);
  std::vector<std::string> reasons;
  for (exir::NodeId id : program.top().nodes()) {
    reasons.emplace_back(CheckSupported(program, id, Target::kLocal).message());
  }
  EXPECT_THAT(reasons, ElementsAre("it has no result",
                                   "operator aten._assert_async.default is not supported"));
}

// --- Targets ---

TEST_F(OperationTest, ParsesCompileSpecs) {
  EXPECT_EQ(ChoicesOf({})->target, Target::kLocal);
  const std::vector<exir::CompileSpec> all = {{"target", "executorch-1.5"},
                                              {"operators", "aten.add.Tensor,aten.mul.Tensor"},
                                              {"precision", "int8"}};
  ASSERT_OK_AND_ASSIGN(const Choices choices, ChoicesOf(all));
  EXPECT_EQ(choices.target, Target::kExecuTorch15);
  EXPECT_THAT(choices.operators, ElementsAre("aten.add.Tensor", "aten.mul.Tensor"));
  EXPECT_EQ(choices.precision, Choices::Precision::kInt8);
  const auto refusal = [](std::vector<exir::CompileSpec> specs) {
    return ChoicesOf(specs).status();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(refusal({{"target", "local"}, {"target", "local"}}),
              StatusIs(kInvalid, testing::HasSubstr("repeated compile spec 'target'")));
  EXPECT_THAT(refusal({{"speed", "9"}}),
              StatusIs(kInvalid, testing::HasSubstr("unknown compile spec 'speed'")));
  EXPECT_THAT(refusal({{"precision", "int4"}}),
              StatusIs(kInvalid, testing::HasSubstr("precision=int4, expected all or float32")));
  EXPECT_THAT(refusal({{"operators", "aten.add.Tensor,add"}}),
              StatusIs(kInvalid, testing::HasSubstr("no rule for the operator 'add'")));
}

TEST_F(OperationTest, ChosenOperatorsAndPrecision) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2,3] user_input) {
      %a: f32[2,3] = edge.aten.add.Tensor(%x, %x)
      %b: f32[2,3] = edge.aten.mul.Tensor(%a, %x)
      %c: f32[3,2] = edge.aten.permute_copy.default(%b, [1,0])
      return (%c user_output) } })",
                                                         *ops_);
  const auto chosen = [&](const Choices& choices) {
    std::vector<bool> ok;
    for (exir::NodeId id : program.top().nodes())
      ok.push_back(CheckChosen(program, id, choices).ok());
    return ok;
  };
  EXPECT_THAT(chosen({}), ElementsAre(true, true, true));
  EXPECT_THAT(chosen({.operators = {"aten.mul.Tensor"}}), ElementsAre(false, true, true));
  EXPECT_THAT(chosen({.operators = {}, .precision = Choices::Precision::kInt8}),
              ElementsAre(false, false, true));
  EXPECT_THAT(chosen({.operators = {}, .precision = Choices::Precision::kFloat32}),
              ElementsAre(true, true, true));
}

TEST_F(OperationTest, BilinearResizing) {
  const auto resize = [&](std::string_view result, std::string_view rest) {
    return Read(absl::StrCat("%y: ", std::string(result), " = edge.aten.upsample_bilinear2d.",
                             std::string(rest)),
                Target::kLocal);
  };
  ASSERT_OK_AND_ASSIGN(const Operation halves,
                       resize("f32[1,3,8,12]", "vec(%z, none, false, [2.0,2.0])"));
  EXPECT_EQ(halves.type, NodeType::StaticResizeBilinear2D);
  EXPECT_EQ(halves.numbers, Sizes({8, 12}));
  EXPECT_EQ(halves.flags, 0u);
  ASSERT_OK_AND_ASSIGN(const Operation corners,
                       resize("f32[1,3,5,7]", "default(%z, [5,7], true, none, none)"));
  EXPECT_EQ(corners.flags, kAlignCorners);
  EXPECT_THAT(resize("f32[1,3,5,7]", "default(%z, [5,7], false, 1.3, none)").status().message(),
              testing::HasSubstr("scale factors are not those of the sizes"));
  EXPECT_THAT(resize("f32[1,3,s0,7]", "default(%zs, [%n,7], false, none, none)").status().message(),
              testing::HasSubstr("is not static"));
}

TEST_F(OperationTest, OnlySomeOperationsHaveBounds) {
  for (NodeType type : {NodeType::Add, NodeType::Subtract, NodeType::Multiply, NodeType::Conv2d,
                        NodeType::DepthwiseConv2d, NodeType::FullyConnected}) {
    EXPECT_TRUE(MayHaveBounds(type)) << fb::EnumNameNodeUnion(type);
  }
  for (NodeType type : {NodeType::Div, NodeType::ConvTranspose2d, NodeType::MaxPooling2d}) {
    EXPECT_FALSE(MayHaveBounds(type)) << fb::EnumNameNodeUnion(type);
  }
}

}  // namespace
}  // namespace belay::xnnpack
