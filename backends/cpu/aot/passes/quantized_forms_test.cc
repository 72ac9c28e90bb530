#include "backends/cpu/aot/passes/quantized_forms.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "backends/cpu/aot/passes/weight_only_forms.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// Unverified programs may have any value as any argument.
exir::ExportedProgram Program(std::string_view body, const Numbers& numbers) {
  const std::string text = absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w": i8[8,16] constant "w32": i32[8,16] constant "b": i32[8]
                constant "b2": i32[8,1] constant "h": bf16[8,16] constant "s": f32[8]
                constant "s2": f32[8,2] constant "s3": f32[3] constant "d": f64[8]
                constant "z": i32[8] constant "z2": i32[8,2] constant "zf": f32[8]
                constant "zl": i64[8] constant "zs": i16[8] constant "e": i8[0,16]
                constant "e2": i8[8,0] constant "r": i8[1,16] constant "z3": i32[3]
                constant "one": f32[1] constant "col": f32[8,1] constant "cube": f32[1,8,1]
                constant "first": i8[8,1] }
    graph(%w: i8[8,16] tensor_constant "w", %w32: i32[8,16] tensor_constant "w32",
          %b: i32[8] tensor_constant "b", %b2: i32[8,1] tensor_constant "b2",
          %h: bf16[8,16] tensor_constant "h", %s: f32[8] tensor_constant "s",
          %s2: f32[8,2] tensor_constant "s2", %s3: f32[3] tensor_constant "s3",
          %d: f64[8] tensor_constant "d", %z: i32[8] tensor_constant "z",
          %z2: i32[8,2] tensor_constant "z2", %zf: f32[8] tensor_constant "zf",
          %zl: i64[8] tensor_constant "zl", %zs: i16[8] tensor_constant "zs",
          %e: i8[0,16] tensor_constant "e", %e2: i8[8,0] tensor_constant "e2",
          %r: i8[1,16] tensor_constant "r", %z3: i32[3] tensor_constant "z3", %one: f32[1] tensor_constant "one",
          %col: f32[8,1] tensor_constant "col", %cube: f32[1,8,1] tensor_constant "cube",
          %first: i8[8,1] tensor_constant "first",
          %x: f32[8,16] user_input, %x64: f64[8,16] user_input, %q: u8[8,16] user_input,
          %i: i8[8,16] user_input, %i16: i16[8,16] user_input, %n: symint(s0) user_input,
          %f: symfloat(zf0) user_input, %scale: f32[8,1] user_input, %scale64: f64[1] user_input,
          %half: f16[1] user_input, %zero: i32[8,1] user_input, %zero8: i8[1] user_input,
          %zero64: i64[] user_input, %scalar: i8[] user_input, %many: f32[8,16] user_input) {
      )",
                                        body, " return () } }");
  exir::ExportedProgram program = exir::ParseOrDie(exir::WithOperators(text), CpuPassTestOps());
  Fill(program, numbers);
  return program;
}

class QuantizedFormsTest : public testing::Test {
 protected:
  // Returns the matched forms of %y and their parameters.
  std::string FormsOf(std::string_view body, const Numbers& numbers = {}) {
    const exir::ExportedProgram program = Program(body, numbers);
    const ConstantViews views(program);
    const QuantizedForms forms(program, views);
    const exir::ValueId y = exir::FindValue(program.top(), "y");
    const exir::NodeId node = program.top().value(y).producer;
    const exir::Argument argument = y;
    std::vector<std::string> found;
    const auto number_form = [&](std::string_view name, const std::optional<QuantizedForm>& form) {
      if (!form.has_value()) return;
      found.push_back(absl::StrCat(name, " ", form->scale, " ", form->zero_point, " ",
                                   form->quant_min, " ", form->quant_max, " ",
                                   DTypeName(form->dtype), form->IsCallable() ? " callable" : ""));
    };
    number_form("quantize", forms.Quantize(node));
    number_form("dequantize", forms.Dequantized(argument));
    number_form("bytes", forms.DequantizedBytes(argument));
    if (const auto form = forms.DequantizedDynamically(argument)) {
      found.push_back(absl::StrCat("dynamic ", program.top().value(form->scales).name, " ",
                                   program.top().value(form->zero_points).name));
    }
    if (const auto form = forms.ParametersOf(node)) {
      found.push_back(absl::StrCat("parameters ", form->scales.size(), " ", form->zeros.size(), " ",
                                   form->axis.value_or(-1), " ", form->group_size));
    }
    if (const auto form = forms.Constant(argument)) {
      found.push_back(absl::StrCat("constant ", form->scales.size(), " ", form->axis.value_or(-1)));
    }
    if (const auto form = forms.DequantizedVector(argument)) {
      found.push_back(absl::StrCat("vector ", absl::StrJoin(*form, ",")));
    }
    return absl::StrJoin(found, "; ");
  }
  // Returns the weight-only form of the matrix %y.
  std::string MatrixOf(std::string_view body, const Numbers& numbers = {}) {
    const exir::ExportedProgram program = Program(body, numbers);
    const ConstantViews views(program);
    const QuantizedForms forms(program, views);
    const auto form =
        WeightOnlyForms(program, views, forms).Find(exir::FindValue(program.top(), "y"));
    if (!form.has_value()) return "";
    return absl::StrCat(program.top().value(form->elements.root).name, " ",
                        form->elements.sizes[0].ToString(), "x", form->elements.sizes[1].ToString(),
                        " format ", static_cast<int>(form->format), " group ", form->group, " ",
                        form->scales.size(), " scales ", form->zeros.size(), " zeros");
  }
};

TEST_F(QuantizedFormsTest, MatchesLiteralParameters) {
  EXPECT_EQ(FormsOf("%y: u8[8,16] = Q(%x, 0.5, 3, 0, 255, dtype:u8)"),
            "quantize 0.5 3 0 255 uint8 callable");
  EXPECT_EQ(FormsOf("%y: i8[8,16] = Q(%x, 0.5, -3, -128, 127, dtype:i8)"),
            "quantize 0.5 -3 -128 127 int8");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = D(%q, 0.5, 255, 0, 255, dtype:u8)"),
            "dequantize 0.5 255 0 255 uint8 callable; bytes 0.5 255 0 255 uint8 callable; "
            "parameters 1 1 -1 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = D(%i, 0.5, 0, -127, 127, dtype:i8)"),
            "dequantize 0.5 0 -127 127 int8; parameters 1 0 -1 0");
}

TEST_F(QuantizedFormsTest, CallableRangesContainTheZeroPoint) {
  for (std::string_view numbers : {"3, -1, 255", "3, 4, 255", "3, 0, 2", "3, 0, 256", "3, 3, 2"}) {
    EXPECT_EQ(FormsOf(absl::StrCat("%y: u8[8,16] = Q(%x, 0.5, ", numbers, ", dtype:u8)"))
                  .find("callable"),
              std::string::npos)
        << numbers;
  }
  EXPECT_EQ(FormsOf("%y: u8[8,16] = Q(%x, 0.5, 3, 3, 3, dtype:u8)"),
            "quantize 0.5 3 3 3 uint8 callable");
}

TEST_F(QuantizedFormsTest, ComparesScaleZeroPointAndDType) {
  const QuantizedForm form = {.scale = 0.5, .zero_point = 3, .quant_min = 0, .quant_max = 255};
  QuantizedForm other = form;
  other.quant_max = 7;
  EXPECT_TRUE(form.IsLike(other));
  other.scale = 0.25;
  EXPECT_FALSE(form.IsLike(other));
  other = form;
  other.zero_point = 4;
  EXPECT_FALSE(form.IsLike(other));
  other = form;
  other.dtype = DType::kInt8;
  EXPECT_FALSE(form.IsLike(other));
}

TEST_F(QuantizedFormsTest, RejectsOtherQuantizations) {
  for (std::string_view body : {
           // Parameters that are computed, of other types, or out of range.
           "%y: u8[8,16] = Q(%x, %f, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 0.5, %n, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 0.5, 3, %n, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 0.5, 3, 0, %n, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 0.5, -1, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 0.5, 256, 0, 255, dtype:u8)",
           "%y: i8[8,16] = Q(%x, 0.5, 128, -128, 127, dtype:i8)",
           "%y: i8[8,16] = Q(%x, 0.5, -129, -128, 127, dtype:i8)",
           "%y: i16[8,16] = Q(%x, 0.5, 0, -128, 127, dtype:i16)",
           "%y: u8[8,16] = Q(%x64, 0.5, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 0.0, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 1e-31, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, 1e31, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%x, -0.5, 3, 0, 255, dtype:u8)",
           "%y: symint(s0) = Q(%x, 0.5, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(%n, 0.5, 3, 0, 255, dtype:u8)",
           "%y: u8[8,16] = Q(3.0, 0.5, 3, 0, 255, dtype:u8)",
           "%y: f64[8,16] = D(%q, 0.5, 3, 0, 255, dtype:u8)",
           "%y: f32[8,16] = D(%q, %f, 3, 0, 255, dtype:u8)",
           "%y: f32[8,16] = D(%q, 0.5, %n, 0, 255, dtype:u8)",
           "%y: f32[8,16] = edge.aten.relu.default(%x)",
       }) {
    EXPECT_EQ(FormsOf(body), "") << body;
  }
}

TEST_F(QuantizedFormsTest, MatchesDynamicQuantization) {
  EXPECT_EQ(FormsOf("%y: f32[8,16] = R(%i, %scale, %zero, -128, 127, dtype:i8, dtype:f32)"),
            "dynamic scale zero");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = T(%q, %scale64, %zero64, 0, 255, dtype:u8)"),
            "dynamic scale64 zero64");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = T(%q, %scale, %zero8, 0, 255, dtype:u8)"),
            "dynamic scale zero8");
  for (std::string_view body : {
           "%y: f32[8,16] = T(%i16, %scale, %zero, 0, 255, dtype:i16)",
           "%y: f64[8,16] = T(%q, %scale, %zero, 0, 255, dtype:u8)",
           "%y: symint(s0) = T(%q, %scale, %zero, 0, 255, dtype:u8)",
           "%y: f32[8,16] = T(%q, %half, %zero, 0, 255, dtype:u8)",
           "%y: f32[8,16] = T(%q, %many, %zero, 0, 255, dtype:u8)",
           "%y: f32[8,16] = T(%q, %scale, %many, 0, 255, dtype:u8)",
           "%y: f32[8,16] = T(%q, %scale, %zs, 0, 255, dtype:u8)",
           "%y: f32[] = T(%scalar, %scale64, %zero64, 0, 255, dtype:i8)",
           "%y: f32[8,16] = T(3, %scale, %zero, 0, 255, dtype:u8)",
           "%y: f32[8,16] = T(%q, 0.5, %zero, 0, 255, dtype:u8)",
           "%y: f32[8,16] = T(%q, %scale, 3, 0, 255, dtype:u8)",
           // Computed ranges.
           "%y: f32[8,16] = edge.quantized_decomposed.dequantize_per_tensor.tensor2(%q, %scale64, "
           "%zero64, %zero64, %zero64, dtype:u8)",
       }) {
    EXPECT_EQ(FormsOf(body), "") << body;
  }
}

TEST_F(QuantizedFormsTest, MatchesPerTensorAndPerChannelConstants) {
  EXPECT_EQ(FormsOf("%y: f32[8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8)"),
            "dequantize 0.5 0 -127 127 int8; parameters 1 0 -1 0; constant 1 -1");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%w, %s, none, 0, -127, 127, dtype:i8)"),
            "parameters 8 0 0 0; constant 8 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%w, %s, %zl, -2, -127, 127, dtype:i8)"),
            "parameters 8 0 0 0; constant 8 0");
  // Nonzero zero points; unusual or too few scales; int32; a value that is not constant.
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%w, %s, %z, 0, -127, 127, dtype:i8)", {.i32 = 1}),
            "parameters 8 8 0 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%w, %s, none, 0, -127, 127, dtype:i8)", {.f32 = 0}),
            "parameters 8 0 0 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%w, %s, none, 1, -127, 127, dtype:i8)"),
            "parameters 8 0 1 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%w32, %s, none, 0, -127, 127, dtype:i32)"),
            "parameters 8 0 0 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = C(%i, %s, none, 0, -127, 127, dtype:i8)"),
            "parameters 8 0 0 0");
  EXPECT_EQ(FormsOf("%v: i8[s0,8,16] = edge.aten.expand_copy.default(%w, [%n,8,16]) "
                    "%y: f32[s0,8,16] = D(%v, 0.5, 0, -127, 127, dtype:i8)"),
            "dequantize 0.5 0 -127 127 int8; parameters 1 0 -1 0");
}

TEST_F(QuantizedFormsTest, MatchesGroupAndTokenParameters) {
  const auto group = [&](std::string_view arguments) {
    return FormsOf(absl::StrCat("%y: f32[8,16] = G(%w, ", arguments, ", dtype:f32)"));
  };
  EXPECT_EQ(group("%s2, none, -8, 7, dtype:i8, 8"), "parameters 16 0 -1 8");
  EXPECT_EQ(group("%s2, %z2, -8, 7, dtype:i8, 8"), "parameters 16 0 -1 8");
  EXPECT_EQ(group("%s2, none, -8, 7, dtype:i8, 0"), "");
  EXPECT_EQ(group("%s2, none, -8, 7, dtype:i8, %n"), "");
  EXPECT_EQ(group("%d, none, -8, 7, dtype:i8, 8"), "");     // float64
  EXPECT_EQ(group("%many, none, -8, 7, dtype:i8, 8"), "");  // not constant
  EXPECT_EQ(group("%s2, %zs, -8, 7, dtype:i8, 8"), "");     // int16
  EXPECT_EQ(group("%s2, %zero, -8, 7, dtype:i8, 8"), "");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = R(%w, %s, %zf, -128, 127, dtype:i8, dtype:f32)"),
            "parameters 8 8 0 0");
  EXPECT_EQ(FormsOf("%y: f32[1,8,16] = R(%w, %s, none, -128, 127, dtype:i8, dtype:f32)"), "");
  for (std::string_view axis : {"2", "-3", "%n"}) {
    EXPECT_EQ(
        FormsOf(absl::StrCat("%y: f32[8,16] = C(%w, %s, none, ", axis, ", -127, 127, dtype:i8)")),
        "");
  }
  EXPECT_EQ(FormsOf("%y: f64[8,16] = C(%w, %s, none, 0, -127, 127, dtype:i8)"), "");
}

// Source dtypes of torchao's zero points.
TEST_F(QuantizedFormsTest, MatchesConvertedZeroPoints) {
  const auto converted = [&](std::string_view type, std::string_view from) {
    return FormsOf(absl::StrCat("%c: ", type, " = To(%", from,
                                ") %y: f32[8,16] = C(%w, %s, %c, 0, -127, 127, dtype:i8)"),
                   {.i32 = 1});
  };
  EXPECT_EQ(converted("i64[8]", "z"), "parameters 8 8 0 0");
  EXPECT_EQ(converted("i32[8]", "z"), "");
  EXPECT_EQ(converted("i64[8]", "zf"), "");
  EXPECT_EQ(FormsOf("%c: i64[8] = edge.aten.abs.default(%zl) "
                    "%y: f32[8,16] = C(%w, %s, %c, 0, -127, 127, dtype:i8)"),
            "");
}

TEST_F(QuantizedFormsTest, MatchesInt32Biases) {
  const Numbers numbers = {.i32 = 3, .f32 = 0.25};
  EXPECT_EQ(FormsOf("%y: f32[8] = D(%b, 0.5, 0, -2147483648, 2147483647, dtype:i32)", numbers),
            "parameters 1 0 -1 0; vector 1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5");
  EXPECT_EQ(FormsOf("%y: f32[8] = C(%b, %s, none, 0, -2147483648, 2147483647, dtype:i32)", numbers),
            "parameters 8 0 0 0; vector 0.75,0.75,0.75,0.75,0.75,0.75,0.75,0.75");
  // One scale per element, one dimension, int32.
  EXPECT_EQ(
      FormsOf("%y: f32[8] = C(%b, %s3, none, 0, -2147483648, 2147483647, dtype:i32)", numbers),
      "parameters 3 0 0 0");
  EXPECT_EQ(FormsOf("%y: f32[8,1] = D(%b2, 0.5, 0, -2147483648, 2147483647, dtype:i32)", numbers),
            "parameters 1 0 -1 0");
  EXPECT_EQ(FormsOf("%y: f32[8,16] = D(%i16, 0.5, 0, -32768, 32767, dtype:i16)", numbers),
            "parameters 1 0 -1 0");
}

TEST_F(QuantizedFormsTest, MatchesWeightOnlyMatrices) {
  EXPECT_EQ(MatrixOf("%y: f32[8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8)"),
            "w 8x16 format 0 group 8 16 scales 0 zeros");
  EXPECT_EQ(MatrixOf("%y: f32[8,16] = D(%w, 0.5, 3, -127, 127, dtype:i8)", {.i8 = -8}),
            "w 8x16 format 1 group 8 16 scales 16 zeros");
  EXPECT_EQ(MatrixOf("%d1: f32[8,16] = C(%w, %s, none, 0, -127, 127, dtype:i8) "
                     "%y: f32[16,8] = edge.aten.t_copy.default(%d1)"),
            "w 16x8 format 0 group 16 8 scales 0 zeros");
  EXPECT_EQ(MatrixOf("%d1: f32[8,16] = C(%w, %s, none, 0, -127, 127, dtype:i8) "
                     "%y: f32[16,8] = edge.aten.transpose_copy.int(%d1, 0, -1)"),
            "w 16x8 format 0 group 16 8 scales 0 zeros");
  // Two transpositions cancel, and a transposition of a dimension with itself is the identity.
  EXPECT_EQ(MatrixOf("%d1: f32[8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8) "
                     "%d2: f32[16,8] = P(%d1, [1,0]) %y: f32[8,16] = P(%d2, [-1,-2])"),
            "w 8x16 format 0 group 8 16 scales 0 zeros");
  EXPECT_EQ(MatrixOf("%d1: f32[8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8) "
                     "%d2: f32[8,16] = edge.aten.transpose_copy.int(%d1, 1, -1) "
                     "%y: f32[8,16] = P(%d2, [0,1])"),
            "w 8x16 format 0 group 8 16 scales 0 zeros");
  EXPECT_EQ(MatrixOf("%d1: f32[8,16] = G(%w, %s2, none, -8, 7, dtype:i8, 8, dtype:f32) "
                     "%y: f32[16,8] = P(%d1, [1,0])"),
            "w 16x8 format 0 group 8 16 scales 0 zeros");
  // Zero points of any size, and negative scales.
  EXPECT_EQ(MatrixOf("%y: f32[8,16] = D(%w, -0.5, 129, -127, 127, dtype:i8)"),
            "w 8x16 format 0 group 8 16 scales 16 zeros");
  EXPECT_EQ(
      MatrixOf(
          "%d1: f32[8,16] = C(%w, %s, %zf, 0, -127, 127, dtype:i8) %y: f32[16,8] = P(%d1, [1,0])"),
      "w 16x8 format 0 group 16 8 scales 8 zeros");
  EXPECT_EQ(MatrixOf("%y: f32[8,16] = To(%h)"), "h 8x16 format 2 group 0 0 scales 0 zeros");
  EXPECT_EQ(MatrixOf("%c: f32[8,16] = To(%w) %y: f32[8,16] = edge.aten.mul.Tensor(%c, %one)"),
            "w 8x16 format 0 group 8 16 scales 0 zeros");
  EXPECT_EQ(MatrixOf("%c: f32[8,16] = To(%w) %m: f32[8,16] = edge.aten.mul.Tensor(%col, %c) "
                     "%y: f32[16,8] = P(%m, [1,0])"),
            "w 16x8 format 0 group 16 8 scales 0 zeros");
}

TEST_F(QuantizedFormsTest, RejectsOtherMatrices) {
  const std::string_view product = "%c: f32[8,16] = To(%w) ";
  for (std::string_view body : {
           // Scales per row, or per group of a matrix that is not transposed.
           "%y: f32[8,16] = C(%w, %s, none, 0, -127, 127, dtype:i8)",
           "%y: f32[8,16] = G(%w, %s2, none, -8, 7, dtype:i8, 8, dtype:f32)",
           // Requires one scale per column, groups of a multiple of 8, and int8.
           "%y: f32[8,16] = C(%w, %s3, none, 1, -127, 127, dtype:i8)",
           "%d1: f32[8,16] = G(%w, %s2, none, -8, 7, dtype:i8, 4, dtype:f32) "
           "%y: f32[16,8] = P(%d1, [1,0])",
           "%y: f32[8,16] = D(%w32, 0.5, 0, -127, 127, dtype:i32)",
           "%y: f32[0,16] = D(%e, 0.5, 0, -127, 127, dtype:i8)",
           // Scales of unusual size.
           "%y: f32[8,16] = D(%w, 0.0, 0, -127, 127, dtype:i8)",
           "%y: f32[8,16] = D(%w, -1e31, 0, -127, 127, dtype:i8)",
           // Not float32 matrices, or not constant.
           "%y: f32[1,8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8)",
           "%y: f64[8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8)",
           "%y: f64[8,16] = To(%h)",
           "%y: symint(s0) = D(%w, 0.5, 0, -127, 127, dtype:i8)",
           "%y: f32[8,16] = D(%i, 0.5, 0, -127, 127, dtype:i8)",
           "%y: f32[8,16] = P(%x, [1,0])",
           "%d1: f32[8,16] = D(%w, 0.5, 0, -127, 127, dtype:i8) %y: f32[8,16] = P(%d1, [1,0,2])",
           "%y: f32[8,16] = edge.aten.relu.default(%x)",
           // The constant has other sizes than the result.
           "%y: f32[16,8] = D(%w, 0.5, 0, -127, 127, dtype:i8)",
           "%y: f32[8,0] = D(%e2, 0.5, 0, -127, 127, dtype:i8)",
           "%y: f32[8,16] = D(%h, 0.5, 0, -127, 127, dtype:bf16)",
           "%v: i8[s0,16] = edge.aten.expand_copy.default(%r, [%n,16]) "
           "%y: f32[s0,16] = D(%v, 0.5, 0, -127, 127, dtype:i8)",
       }) {
    EXPECT_EQ(MatrixOf(body), "") << body;
  }
  // A computed value, and factors per row of a square matrix.
  EXPECT_EQ(MatrixOf("%c: f32[8,16] = edge.aten.relu.default(%w) "
                     "%y: f32[8,16] = edge.aten.mul.Tensor(%c, %one)"),
            "");
  EXPECT_EQ(MatrixOf("%v: i8[8,8] = edge.aten.expand_copy.default(%first, [8,8]) "
                     "%c: f32[8,8] = To(%v) %y: f32[8,8] = edge.aten.mul.Tensor(%c, %col)"),
            "");
  EXPECT_EQ(MatrixOf("%v: i8[8,8] = edge.aten.expand_copy.default(%first, [8,8]) "
                     "%c: f32[8,8] = To(%v) %y: f32[8,8] = edge.aten.mul.Tensor(%c, %s)"),
            "first 8x8 format 0 group 8 8 scales 0 zeros");
  for (std::string_view scales : {"%s", "%col", "%cube", "%d", "%many", "%c", "%x"}) {
    EXPECT_EQ(
        MatrixOf(absl::StrCat(product, "%y: f32[8,16] = edge.aten.mul.Tensor(%c, ", scales, ")")),
        "")
        << scales;
  }
  EXPECT_EQ(
      MatrixOf("%c: f32[8,16] = To(%w) %v: f32[s0] = edge.aten.expand_copy.default(%one, [%n]) "
               "%y: f32[8,16] = edge.aten.mul.Tensor(%c, %v)"),
      "");
  EXPECT_EQ(MatrixOf("%d1: f32[8,16] = C(%w, %s, %z3, 0, -127, 127, dtype:i8) "
                     "%y: f32[16,8] = P(%d1, [1,0])",
                     {.i32 = 1}),
            "");
  EXPECT_EQ(MatrixOf("%c: f32[8,16] = edge.aten.relu.default(%x) "
                     "%y: f32[8,16] = edge.aten.mul.Tensor(%c, %one)"),
            "");
  EXPECT_EQ(MatrixOf("%c: f32[8,16] = To(%h) %y: f32[8,16] = edge.aten.mul.Tensor(%c, %one)"), "");
}

}  // namespace
}  // namespace belay::cpu
