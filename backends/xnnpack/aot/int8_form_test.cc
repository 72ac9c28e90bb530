#include "backends/xnnpack/aot/int8_form.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

// Returns "%q: i8[2,4] = …", which quantizes %from; the next function dequantizes.
std::string Quantize(std::string_view name, std::string_view from, std::string_view numbers,
                     std::string_view range = "-128, 127", std::string_view sizes = "2,4") {
  return absl::StrCat("%", name, ": i8[", sizes,
                      "] = edge.quantized_decomposed.quantize_per_tensor.default(%", from, ", ",
                      numbers, ", ", range, ", dtype:i8)\n");
}
std::string Dequantize(std::string_view name, std::string_view from, std::string_view numbers,
                       std::string_view sizes = "2,4") {
  return absl::StrCat("%", name, ": f32[", sizes,
                      "] = edge.quantized_decomposed.dequantize_per_tensor.default(%", from, ", ",
                      numbers, ", -128, 127, dtype:i8)\n");
}

class Int8FormTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  exir::ExportedProgram Parse(std::string_view body, std::string_view outputs = "") {
    exir::ExportedProgram program = exir::ParseOrDie(
        absl::StrCat("program edge {\nranges { s0: [1, 5] }\n",
                     "constants { state \"w\": i8[4,4] state \"s\": f32[4] state \"f\": f32[4,4] "
                     "state \"b\": f32[4] state \"c\": i8[4] }\n"
                     "graph(%w: i8[4,4] parameter \"w\", %s: f32[4] parameter \"s\", "
                     "%f: f32[4,4] parameter \"f\", %b: f32[4] parameter \"b\", "
                     "%c: i8[4] parameter \"c\", "
                     "%x: f32[2,4] user_input, %i: i8[2,4] user_input, "
                     "%im: f32[1,2,4,4] user_input, %n: symint(s0) user_input) {\n",
                     body, "\nreturn (", outputs, ") } }"),
        *ops_);
    std::vector<float> scales(4, scale_of_weights_);
    const auto* bytes = reinterpret_cast<const std::byte*>(scales.data());
    program.state_dict.at("s") = exir::ConstantTensor::Contiguous(
                                     DType::kFloat32, {4}, exir::Storage::Own({bytes, bytes + 16}))
                                     .value();
    return program;
  }
  // Reads the node that computes %y.
  std::optional<Operation> Read(std::string_view body, std::string_view outputs = "") {
    const exir::ExportedProgram program = Parse(body, outputs);
    const exir::NodeId id = program.top().value(exir::FindValue(program.top(), "y")).producer;
    auto operation = ReadOperation(program, id, Target::kExecuTorch15);
    EXPECT_OK(operation.status()) << body;
    if (!operation.ok()) return std::nullopt;
    return *std::move(operation);
  }
  bool IsInt8(std::string_view body, std::string_view outputs = "") {
    const std::optional<Operation> operation = Read(body, outputs);
    return operation.has_value() && operation->int8.has_value();
  }
  // Whether a call on %p and %q, of scale 0.5, with a result quantized by `numbers` becomes int8.
  bool IsInt8Between(std::string_view call, std::string_view numbers,
                     std::string_view input = "0.5, 0") {
    return IsInt8(absl::StrCat(Quantize("a", "x", input), Dequantize("p", "a", input),
                               "%y: f32[2,4] = edge.aten.", call, "\n",
                               Quantize("r", "y", numbers)));
  }

  float scale_of_weights_ = 0.5;
  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(Int8FormTest, ParametersAreLimitedToPayloads) {
  const auto of = [&](std::string_view numbers) {
    const exir::ExportedProgram program = Parse(Quantize("y", "x", numbers));
    return QuantizationOf(program, exir::FindValue(program.top(), "y"));
  };
  EXPECT_EQ(of("0.5, -128"), (Quantization{0.5, -128}));
  EXPECT_EQ(of("0.5, 127"), (Quantization{0.5, 127}));
  for (const char* numbers : {"0.5, 128", "0.5, -129", "0.0, 0", "-0.5, 0", "1e-45, 0", "1e300, 0",
                              "%n, 0", "0.5, %n", "nan, 0"}) {
    EXPECT_EQ(of(numbers), std::nullopt) << numbers;
  }
}

TEST_F(Int8FormTest, TensorsHaveParametersOfProducerOrUser) {
  const auto of = [&](std::string_view body, std::string_view name) {
    const exir::ExportedProgram program = Parse(body);
    return QuantizationOf(program, exir::FindValue(program.top(), name));
  };
  EXPECT_EQ(of(Dequantize("y", "i", "0.5, 3"), "i"), (Quantization{0.5, 3}));
  EXPECT_EQ(
      of(absl::StrCat("%r: i8[2,4] = edge.aten.neg.default(%i)\n", Dequantize("y", "i", "0.5, 3")),
         "i"),
      (Quantization{0.5, 3}));
  EXPECT_EQ(of("", "i"), std::nullopt);
  EXPECT_EQ(of("%r: i8[2,4] = edge.aten.neg.default(%i)", "i"), std::nullopt);
  EXPECT_EQ(of(Dequantize("y", "i", "0.5, 3"), "y"), std::nullopt);
  EXPECT_EQ(of("", "n"), std::nullopt);
}

TEST_F(Int8FormTest, ReportsUnsupportedConversions) {
  const auto why = [&](std::string_view body) {
    const exir::ExportedProgram program = Parse(body);
    const exir::NodeId id = program.top().value(exir::FindValue(program.top(), "y")).producer;
    return std::string(CheckConversion(program, id).message());
  };
  EXPECT_EQ(why(Quantize("y", "x", "0.5, 3")), "");
  EXPECT_EQ(why(Dequantize("y", "i", "0.5, 3")), "");
  const std::string unknown = "its scale and zero point are not known int8 parameters";
  EXPECT_EQ(why(Quantize("y", "x", "0.5, 200")), unknown);
  EXPECT_EQ(why("%y: i8[2,4] = edge.quantized_decomposed.quantize_per_tensor.default(none, 0.5, 3, "
                "-128, 127, dtype:i8)"),
            unknown);
  EXPECT_EQ(why(absl::StrCat(Quantize("a", "x", "0.5, 3"), Dequantize("y", "a", "0.25, 3"))),
            "%a is not int8 with this scale and zero point");
  for (const char* range : {"-127, 127", "-128, 126"}) {
    EXPECT_EQ(why(Quantize("y", "x", "0.5, 3", range)), "its range is not -128 to 127");
  }
}

TEST_F(Int8FormTest, DoesNotDelegateUnsupportedConversions) {
  for (const std::string& body :
       {Quantize("y", "x", "0.5, 200"), Dequantize("y", "i", "0.5, 200")}) {
    const exir::ExportedProgram program = Parse(body);
    const exir::NodeId id = program.top().value(exir::FindValue(program.top(), "y")).producer;
    EXPECT_THAT(ReadOperation(program, id, Target::kLocal),
                StatusIs(absl::StatusCode::kUnimplemented,
                         "its scale and zero point are not known int8 parameters"));
  }
}

TEST_F(Int8FormTest, ChecksLibraryScaleRange) {
  // Sums: each operand's scale over the result's, from 2^-10 to 2^8.
  for (const char* call : {"add.Tensor(%p, %p)", "sub.Tensor(%p, %p)"}) {
    EXPECT_TRUE(IsInt8Between(call, "0.5, 0")) << call;
    EXPECT_TRUE(IsInt8Between(call, "512.0, 0")) << call;
    EXPECT_FALSE(IsInt8Between(call, "513.0, 0")) << call;
    EXPECT_TRUE(IsInt8Between(call, "0.00196, 0")) << call;
    EXPECT_FALSE(IsInt8Between(call, "0.001953125, 0")) << call;
  }
  // Multiplications: the product of both, from 2^-16 to 2^8.
  EXPECT_TRUE(IsInt8Between("mul.Tensor(%p, %p)", "16384.0, 0"));
  EXPECT_FALSE(IsInt8Between("mul.Tensor(%p, %p)", "16385.0, 0"));
  EXPECT_TRUE(IsInt8Between("mul.Tensor(%p, %p)", "0.00098, 0"));
  EXPECT_FALSE(IsInt8Between("mul.Tensor(%p, %p)", "0.0009765625, 0"));
  // Averages: from 2^-8 to 2^8.
  const auto average = [&](std::string_view numbers) {
    return IsInt8(absl::StrCat(Quantize("a", "im", "0.5, 0", "-128, 127", "1,2,4,4"),
                               Dequantize("p", "a", "0.5, 0", "1,2,4,4"),
                               "%y: f32[1,2,1,1] = edge.aten.mean.dim(%p, [2,3], true)\n",
                               Quantize("r", "y", numbers, "-128, 127", "1,2,1,1")));
  };
  EXPECT_TRUE(average("128.0, 0"));
  EXPECT_FALSE(average("129.0, 0"));
  EXPECT_FALSE(average("0.001953125, 0"));
  // Data movement keeps the parameters.
  EXPECT_TRUE(IsInt8Between("permute_copy.default(%p, [0,1])", "0.5, 0"));
  EXPECT_FALSE(IsInt8Between("permute_copy.default(%p, [0,1])", "0.5, 1"));
  EXPECT_FALSE(IsInt8Between("permute_copy.default(%p, [0,1])", "0.25, 0"));
  // Operators without int8 support.
  EXPECT_FALSE(IsInt8Between("abs.default(%p)", "0.5, 0"));
  EXPECT_FALSE(IsInt8Between("add.Scalar(%p, 2)", "0.5, 0"));
}

TEST_F(Int8FormTest, RequiresDequantizedOperandsAndQuantizedResult) {
  const std::string operand = Quantize("a", "x", "0.5, 0") + Dequantize("p", "a", "0.5, 0");
  const std::string sum = "%y: f32[2,4] = edge.aten.add.Tensor(%p, %p)\n";
  const std::string result = Quantize("r", "y", "0.5, 0");
  EXPECT_TRUE(IsInt8(operand + sum + result));
  EXPECT_FALSE(IsInt8(operand + "%y: f32[2,4] = edge.aten.add.Tensor(%p, %x)\n" + result));
  EXPECT_FALSE(
      IsInt8(Quantize("a", "x", "0.5, 0") + Dequantize("p", "a", "0.25, 0") + sum + result));
  EXPECT_FALSE(IsInt8(operand + sum));
  EXPECT_FALSE(IsInt8(operand + sum + result, "%y user_output"));
  EXPECT_FALSE(IsInt8(operand + sum + result + Quantize("other", "y", "0.5, 0")));
  EXPECT_FALSE(IsInt8(operand + sum + Quantize("r", "y", "0.5, 0", "-127, 127")));
  EXPECT_FALSE(IsInt8(operand + sum + "%r: f32[2,4] = edge.aten.abs.default(%y)"));
  EXPECT_FALSE(IsInt8(operand + sum + "%r: f32[2,4] = edge.aten.erf.default(%y)"));
}

TEST_F(Int8FormTest, FusesClamps) {
  const std::string sum = Quantize("a", "x", "0.5, 0") + Dequantize("p", "a", "0.5, 0") +
                          "%y: f32[2,4] = edge.aten.add.Tensor(%p, %p)\n";
  const std::string clamp = "%k: f32[2,4] = edge.aten.hardtanh.default(%y, ";
  const std::string result = Quantize("r", "k", "0.5, 0");
  const std::optional<Operation> bounded = Read(sum + clamp + "-1, 6)\n" + result);
  ASSERT_TRUE(bounded.has_value() && bounded->int8.has_value());
  EXPECT_EQ(bounded->min, -1);
  EXPECT_EQ(bounded->max, 6);
  EXPECT_EQ(bounded->int8->merged.size(), 2u);
  // Both bounds round to the same step.
  EXPECT_FALSE(IsInt8(sum + clamp + "0, 0.2)\n" + result));
  // The clamped value has other users.
  EXPECT_FALSE(IsInt8(sum + clamp + "-1, 6)\n" + result, "%k user_output"));
  // The operation cannot have bounds.
  EXPECT_FALSE(IsInt8(Quantize("a", "x", "0.5, 0") + Dequantize("p", "a", "0.5, 0") +
                      "%y: f32[2,4] = edge.aten.permute_copy.default(%p, [0,1])\n" + clamp +
                      "-1, 6)\n" + result));
}

TEST_F(Int8FormTest, WeightsHaveOneScaleOrOnePerChannel) {
  const std::string operand = Quantize("a", "x", "0.5, 0") + Dequantize("p", "a", "0.5, 0");
  const auto with = [&](const std::string& weight, const std::string& call,
                        std::string_view numbers = "0.5, 0") {
    return IsInt8(absl::StrCat(operand, weight, "%y: f32[2,4] = edge.aten.", call, "\n",
                               Quantize("r", "y", numbers)));
  };
  const auto channels = [](std::string_view axis) {
    return absl::StrCat(
        "%v: f32[4,4] = edge.quantized_decomposed.dequantize_per_channel.default("
        "%w, %s, none, ",
        axis, ", -127, 127, dtype:i8)\n");
  };
  const std::string one = Dequantize("v", "w", "0.5, 0", "4,4");
  EXPECT_TRUE(with(one, "mm.default(%p, %v)"));
  EXPECT_TRUE(with(channels("1"), "mm.default(%p, %v)"));
  EXPECT_FALSE(with(channels("0"), "mm.default(%p, %v)"));
  EXPECT_FALSE(with("", "mm.default(%p, %f)"));
  EXPECT_TRUE(with(one, "addmm.default(%b, %p, %v)"));
  EXPECT_FALSE(with(one + Dequantize("d", "c", "0.5, 0", "4"), "addmm.default(%d, %p, %v)"));
  // The product of the scales over the result's must be below 2^8 and a normal number.
  EXPECT_FALSE(with(channels("1"), "mm.default(%p, %v)", "0.0009765625, 0"));
  scale_of_weights_ = 1e-37f;
  EXPECT_FALSE(with(channels("1"), "mm.default(%p, %v)", "0.5, 0"));
  scale_of_weights_ = 1.2e-38f;  // half of it is subnormal
  EXPECT_FALSE(with(channels("1"), "mm.default(%p, %v)", "1e-37, 0"));
}

}  // namespace
}  // namespace belay::xnnpack
