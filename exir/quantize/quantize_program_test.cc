#include "exir/quantize/quantize_program.h"

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "exir/quantize/recipe_file.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class QuantizeProgramTest : public ::testing::Test {
 protected:
  // Weights are filled with small integers, which differ from element to element.
  ExportedProgram Parse(std::string_view text) const {
    ExportedProgram program = ParseOrDie(text, **ops_);
    for (ConstantMap* map : {&program.state_dict, &program.constants}) {
      for (auto& [name, tensor] : *map) {
        if (tensor.dtype() != DType::kFloat32) continue;
        std::vector<float> elements(static_cast<size_t>(tensor.view().numel()));
        for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 15) - 7;
        Fill(tensor, elements);
      }
    }
    return program;
  }
  static void Fill(ConstantTensor& tensor, const std::vector<float>& elements) {
    tensor = *FloatConstant(tensor.sizes(), elements);
  }
  static void ExpectValid(const ExportedProgram& program) {
    EXPECT_OK(Verify(program));
    EXPECT_OK(VerifyEdge(program));
  }
  // Expects the text form of the quantized program.
  QuantizeResult ExpectQuantized(std::string_view before, std::string_view recipe,
                                 std::string_view after) const {
    const ExportedProgram program = Parse(before);
    const std::string text = PrintProgram(program);
    absl::StatusOr<QuantizeResult> result = QuantizeProgram({&program}, *RecipeByName(recipe));
    EXPECT_OK(result);
    ExpectValid(result->program);
    EXPECT_EQ(PrintProgram(result->program), PrintProgram(ParseOrDie(after, **ops_)));
    EXPECT_EQ(PrintProgram(program), text) << "the argument changed";
    return *std::move(result);
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
};

constexpr char kLinear[] = R"(program edge {
  constants { state "fc.weight": f32[4,64] state "fc.bias": f32[4] }
  graph(%w: f32[4,64] parameter "fc.weight", %b: f32[4] parameter "fc.bias",
        %x: f32[2,3,64] user_input) {
    %v: f32[6,64] = edge.aten.view_copy.default(%x, [6,64])
    %p: f32[64,4] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[6,4] = edge.aten.addmm.default(%b, %v, %p)
    return (%y user_output) } })";

TEST_F(QuantizeProgramTest, WeightsBecomeInt8PerRow) {
  const QuantizeResult result = ExpectQuantized(kLinear, "weights-int8", R"(program edge {
  constants { state "fc.bias": f32[4] constant "fc.weight_int8": i8[4,64]
              constant "fc.weight_int8_scales": f32[4] }
  graph(%b: f32[4] parameter "fc.bias", %w_int8: i8[4,64] tensor_constant "fc.weight_int8",
        %w_int8_scales: f32[4] tensor_constant "fc.weight_int8_scales", %x: f32[2,3,64] user_input) {
    %v: f32[6,64] = edge.aten.view_copy.default(%x, [6,64])
    %dequantize_per_channel: f32[4,64] = edge.quantized_decomposed.dequantize_per_channel.default(%w_int8, %w_int8_scales, none, 0, -128, 127, dtype:i8)
    %permute_copy: f32[64,4] = edge.aten.permute_copy.default(%dequantize_per_channel, [1,0])
    %y: f32[6,4] = edge.aten.addmm.default(%b, %v, %permute_copy)
    return (%y user_output) } })");
  ASSERT_THAT(result.quantized, SizeIs(1));
  const QuantizedNode& node = result.quantized[0];
  EXPECT_EQ(node.node, "y");
  EXPECT_EQ(node.op, "aten.addmm.default");
  EXPECT_EQ(node.weight, "fc.weight");
  EXPECT_EQ(node.scheme, "int8 per row");
  EXPECT_EQ(node.bytes_before, 1024);
  EXPECT_EQ(node.bytes_after, 256 + 16);
  EXPECT_GT(node.loss.SnrDb(), 40);
  EXPECT_THAT(result.unquantized, IsEmpty());
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST_F(QuantizeProgramTest, WeightsBecomeInt4InGroups) {
  const QuantizeResult result = ExpectQuantized(kLinear, "weights-int4", R"(program edge {
  constants { state "fc.bias": f32[4] constant "fc.weight_int4": i8[4,64]
              constant "fc.weight_int4_scales": f32[4,2] }
  graph(%b: f32[4] parameter "fc.bias", %w_int4: i8[4,64] tensor_constant "fc.weight_int4",
        %w_int4_scales: f32[4,2] tensor_constant "fc.weight_int4_scales", %x: f32[2,3,64] user_input) {
    %v: f32[6,64] = edge.aten.view_copy.default(%x, [6,64])
    %dequantize_per_channel_group: f32[4,64] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w_int4, %w_int4_scales, none, -8, 7, dtype:i8, 32, dtype:f32)
    %permute_copy: f32[64,4] = edge.aten.permute_copy.default(%dequantize_per_channel_group, [1,0])
    %y: f32[6,4] = edge.aten.addmm.default(%b, %v, %permute_copy)
    return (%y user_output) } })");
  // Integers from -7 to 7 are represented exactly with scale 1, which only the search finds.
  EXPECT_EQ(result.quantized[0].loss.noise, 0);
  EXPECT_EQ(result.quantized[0].bytes_after, 128 + 32);
}

TEST_F(QuantizeProgramTest, WeightsBecomeBFloat16) {
  ExpectQuantized(kLinear, "weights-bf16", R"(program edge {
  constants { state "fc.bias": f32[4] constant "fc.weight_bf16": bf16[4,64] }
  graph(%b: f32[4] parameter "fc.bias", %w_bf16: bf16[4,64] tensor_constant "fc.weight_bf16",
        %x: f32[2,3,64] user_input) {
    %v: f32[6,64] = edge.aten.view_copy.default(%x, [6,64])
    %_to_dim_order_copy: f32[4,64] = edge.dim_order_ops._to_dim_order_copy.default(%w_bf16, dtype=dtype:f32, dim_order=[0,1])
    %permute_copy: f32[64,4] = edge.aten.permute_copy.default(%_to_dim_order_copy, [1,0])
    %y: f32[6,4] = edge.aten.addmm.default(%b, %v, %permute_copy)
    return (%y user_output) } })");
}

// The input is quantized before the view, once for both matmuls.
TEST_F(QuantizeProgramTest, InputsAreQuantizedAtRunTimeOnce) {
  ExpectQuantized(R"(program edge {
  constants { state "q": f32[4,64] state "k": f32[4,64] }
  graph(%q: f32[4,64] parameter "q", %k: f32[4,64] parameter "k", %x: f32[2,3,64] user_input) {
    %v: f32[6,64] = edge.aten.view_copy.default(%x, [6,64])
    %p: f32[64,4] = edge.aten.permute_copy.default(%q, [1,0])
    %y: f32[6,4] = edge.aten.mm.default(%v, %p)
    %u: f32[6,64] = edge.aten.view_copy.default(%x, [6,64])
    %r: f32[64,4] = edge.aten.permute_copy.default(%k, [1,0])
    %z: f32[6,4] = edge.aten.mm.default(%u, %r)
    return (%y user_output, %z user_output) } })",
                  "8da4w", R"(program edge {
  constants { constant "k_int4": i8[4,64] constant "k_int4_scales": f32[4,2]
              constant "q_int4": i8[4,64] constant "q_int4_scales": f32[4,2] }
  graph(%q_int4: i8[4,64] tensor_constant "q_int4", %q_int4_scales: f32[4,2] tensor_constant "q_int4_scales",
        %k_int4: i8[4,64] tensor_constant "k_int4", %k_int4_scales: f32[4,2] tensor_constant "k_int4_scales",
        %x: f32[2,3,64] user_input) {
    %dequantize_per_channel_group: f32[4,64] = edge.quantized_decomposed.dequantize_per_channel_group.default(%q_int4, %q_int4_scales, none, -8, 7, dtype:i8, 32, dtype:f32)
    %permute_copy: f32[64,4] = edge.aten.permute_copy.default(%dequantize_per_channel_group, [1,0])
    %choose_qparams_per_token_asymmetric: f64[2,3,1], %choose_qparams_per_token_asymmetric_1: i64[2,3,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%x, dtype:i8) name="choose_qparams_per_token_asymmetric"
    %quantize_per_token: i8[2,3,64] = edge.quantized_decomposed.quantize_per_token.default(%x, %choose_qparams_per_token_asymmetric, %choose_qparams_per_token_asymmetric_1, -128, 127, dtype:i8)
    %dequantize_per_token: f32[2,3,64] = edge.quantized_decomposed.dequantize_per_token.default(%quantize_per_token, %choose_qparams_per_token_asymmetric, %choose_qparams_per_token_asymmetric_1, -128, 127, dtype:i8, dtype:f32)
    %view_copy: f32[6,64] = edge.aten.view_copy.default(%dequantize_per_token, [6,64])
    %y: f32[6,4] = edge.aten.mm.default(%view_copy, %permute_copy)
    %dequantize_per_channel_group_1: f32[4,64] = edge.quantized_decomposed.dequantize_per_channel_group.default(%k_int4, %k_int4_scales, none, -8, 7, dtype:i8, 32, dtype:f32)
    %permute_copy_1: f32[64,4] = edge.aten.permute_copy.default(%dequantize_per_channel_group_1, [1,0])
    %view_copy_1: f32[6,64] = edge.aten.view_copy.default(%dequantize_per_token, [6,64])
    %z: f32[6,4] = edge.aten.mm.default(%view_copy_1, %permute_copy_1)
    return (%y user_output, %z user_output) } })");
}

// A weight [k, n] that no permutation precedes is stored as [n, k].
TEST_F(QuantizeProgramTest, WeightsByColumnsAreStoredByRows) {
  const QuantizeResult result = ExpectQuantized(R"(program edge {
  constants { state "w": f32[64,4] }
  graph(%w: f32[64,4] parameter "w", %x: f32[6,64] user_input) {
    %y: f32[6,4] = edge.aten.mm.default(%x, %w)
    return (%y user_output) } })",
                                                "weights-int8", R"(program edge {
  constants { constant "w_int8": i8[4,64] constant "w_int8_scales": f32[4] }
  graph(%w_int8: i8[4,64] tensor_constant "w_int8", %w_int8_scales: f32[4] tensor_constant "w_int8_scales",
        %x: f32[6,64] user_input) {
    %dequantize_per_channel: f32[4,64] = edge.quantized_decomposed.dequantize_per_channel.default(%w_int8, %w_int8_scales, none, 0, -128, 127, dtype:i8)
    %permute_copy: f32[64,4] = edge.aten.permute_copy.default(%dequantize_per_channel, [1,0])
    %y: f32[6,4] = edge.aten.mm.default(%x, %permute_copy)
    return (%y user_output) } })");
  // Row 0 is column 0 of the weight: elements 0, 4, 8, … of -7, -6, …, 7, -7, …
  const ConstantTensor& elements = result.program.constants.at("w_int8");
  const auto* row = static_cast<const int8_t*>(elements.view().data);
  EXPECT_THAT(std::vector<int>(row, row + 4), ElementsAre(-127, -55, 18, 91));
}

constexpr char kTied[] = R"(program edge {
  constants { state "table": f32[8,64] }
  graph(%w: f32[8,64] parameter "table", %i: i64[3] user_input) {
    %e: f32[3,64] = edge.aten.embedding.default(%w, %i)
    %p: f32[64,8] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[3,8] = edge.aten.mm.default(%e, %p)
    return (%y user_output) } })";

TEST_F(QuantizeProgramTest, TiedWeightsAreQuantizedOnce) {
  const QuantizeResult result =
      ExpectQuantized(kTied, "weights-int8+embeddings-int8", R"(program edge {
  constants { constant "table_int8": i8[8,64] constant "table_int8_scales": f32[8] }
  graph(%w_int8: i8[8,64] tensor_constant "table_int8", %w_int8_scales: f32[8] tensor_constant "table_int8_scales",
        %i: i64[3] user_input) {
    %dequantize_per_channel: f32[8,64] = edge.quantized_decomposed.dequantize_per_channel.default(%w_int8, %w_int8_scales, none, 0, -128, 127, dtype:i8)
    %e: f32[3,64] = edge.aten.embedding.default(%dequantize_per_channel, %i)
    %dequantize_per_channel_1: f32[8,64] = edge.quantized_decomposed.dequantize_per_channel.default(%w_int8, %w_int8_scales, none, 0, -128, 127, dtype:i8)
    %permute_copy: f32[64,8] = edge.aten.permute_copy.default(%dequantize_per_channel_1, [1,0])
    %y: f32[3,8] = edge.aten.mm.default(%e, %permute_copy)
    return (%y user_output) } })");
  ASSERT_THAT(result.quantized, SizeIs(2));
  EXPECT_EQ(result.quantized[0].shares_with, "");
  EXPECT_EQ(result.quantized[1].shares_with, "e");
  EXPECT_EQ(result.quantized[1].bytes_after, 0);
}

TEST_F(QuantizeProgramTest, NotesWeightsThatStayInFloat32) {
  const ExportedProgram program = Parse(kTied);
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result,
                       QuantizeProgram({&program}, *RecipeByName("embeddings-int8")));
  ExpectValid(result.program);
  EXPECT_THAT(result.notes, ElementsAre("'table' is also stored as float32, for node p"));
  EXPECT_TRUE(result.program.state_dict.contains("table"));
}

TEST_F(QuantizeProgramTest, FirstMatchingRuleDecides) {
  const ExportedProgram program = Parse(R"(program edge {
  constants { state "a": f32[4,64] state "b": f32[4,64] }
  graph(%a: f32[4,64] parameter "a", %b: f32[4,64] parameter "b", %x: f32[6,64] user_input) {
    %p: f32[64,4] = edge.aten.permute_copy.default(%a, [1,0])
    %y: f32[6,4] = edge.aten.mm.default(%x, %p)
    %r: f32[64,4] = edge.aten.permute_copy.default(%b, [1,0])
    %z: f32[6,4] = edge.aten.mm.default(%x, %r)
    return (%y user_output, %z user_output) } })");
  ASSERT_OK_AND_ASSIGN(const Recipe recipe, ParseRecipe(R"({"recipe": "weights-int8", "rules": [
      {"node": "z", "recipe": "none"}, {"op": "linear", "recipe": "weights-int4"},
      {"module": "head", "recipe": "none"}]})",
                                                        "r.json"));
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result, QuantizeProgram({&program}, recipe));
  ASSERT_THAT(result.quantized, SizeIs(1));
  EXPECT_EQ(result.quantized[0].node, "y");
  EXPECT_EQ(result.quantized[0].scheme, "int4 in groups of 32");
  EXPECT_THAT(result.notes, ElementsAre("the rule for module 'head' matches no operator"));
}

TEST_F(QuantizeProgramTest, ReportsWhyOperatorsStayInFloat32) {
  ExportedProgram program = Parse(R"(program edge {
  constants { state "odd": f32[4,40] state "nan": f32[4,64] state "half": f16[4,64] }
  graph(%odd: f32[4,40] parameter "odd", %nan: f32[4,64] parameter "nan",
        %half: f16[4,64] parameter "half", %x: f32[6,40] user_input, %u: f32[6,64] user_input,
        %h: f16[6,64] user_input) {
    %p: f32[40,4] = edge.aten.permute_copy.default(%odd, [1,0])
    %a: f32[6,4] = edge.aten.mm.default(%x, %p)
    %r: f32[64,4] = edge.aten.permute_copy.default(%nan, [1,0])
    %b: f32[6,4] = edge.aten.mm.default(%u, %r)
    %s: f16[64,4] = edge.aten.permute_copy.default(%half, [1,0])
    %c: f16[6,4] = edge.aten.mm.default(%h, %s)
    %t: f32[64,6] = edge.aten.permute_copy.default(%u, [1,0])
    %d: f32[6,6] = edge.aten.mm.default(%u, %t)
    return (%a user_output, %b user_output, %c user_output, %d user_output) } })");
  std::vector<float> elements(256, 1);
  elements[7] = std::numeric_limits<float>::quiet_NaN();
  Fill(program.state_dict.at("nan"), elements);
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result,
                       QuantizeProgram({&program}, *RecipeByName("weights-int4")));
  EXPECT_THAT(result.quantized, IsEmpty());
  std::vector<std::string> reasons;
  for (const UnquantizedNode& node : result.unquantized) {
    reasons.push_back(node.node + ": " + node.reason);
  }
  EXPECT_THAT(reasons, ElementsAre("c: its weight is float16, expected float32",
                                   "d: its weight is not a constant or a transposed constant",
                                   "a: its rows of 40 elements are not a multiple of groups of 32",
                                   "b: its weight has elements that are NaN or infinite"));
  EXPECT_EQ(PrintProgram(result.program), PrintProgram(program));
}

// A weight is copied to check it and to quantize it, not for each of its users.
TEST_F(QuantizeProgramTest, CopiesSharedWeightsOnce) {
  const ExportedProgram program = Parse(R"(program edge { constants { state "w": f32[64,4] }
  graph(%w: f32[64,4] parameter "w", %x: f32[6,64] user_input) {
    %a: f32[6,4] = edge.aten.mm.default(%x, %w)
    %b: f32[6,4] = edge.aten.mm.default(%x, %w)
    %c: f32[6,4] = edge.aten.mm.default(%x, %w)
    return (%a user_output, %b user_output, %c user_output) } })");
  Budget budget;
  const Budget::Scope scope(&budget);
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result,
                       QuantizeProgram({&program}, *RecipeByName("weights-int8")));
  EXPECT_THAT(result.quantized, SizeIs(3));
  EXPECT_EQ(budget.bytes.taken, 2 * 64 * 4 * sizeof(float));
}

TEST_F(QuantizeProgramTest, KeepsTensorsThatChange) {
  const ExportedProgram program = Parse(kLinear);
  ASSERT_OK_AND_ASSIGN(
      const QuantizeResult result,
      QuantizeProgram({&program}, *RecipeByName("weights-int8"), {.changing = {"fc.weight"}}));
  EXPECT_THAT(result.quantized, IsEmpty());
}

TEST_F(QuantizeProgramTest, MethodsShareQuantizedWeights) {
  const ExportedProgram prefill = Parse(kLinear), decode = prefill.Clone();
  ASSERT_OK_AND_ASSIGN(const std::vector<QuantizeResult> results,
                       QuantizePrograms({{.program = &prefill}, {.program = &decode}},
                                        *RecipeByName("weights-int8")));
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[0].program.constants.at("fc.weight_int8").view().data,
            results[1].program.constants.at("fc.weight_int8").view().data);
}

TEST_F(QuantizeProgramTest, RejectsAtenPrograms) {
  const ExportedProgram program = ParseOrDie(
      "program aten { graph(%x: f32[2] user_input) { return (%x user_output) } }", **ops_);
  EXPECT_THAT(QuantizeProgram({&program}, *RecipeByName("weights-int8")).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ATEN")));
}

TEST_F(QuantizeProgramTest, RejectsStaticRecipesWithoutData) {
  const ExportedProgram program = Parse(kLinear);
  EXPECT_THAT(QuantizeProgram({.program = &program,
                               .method = "decode",
                               .patterns = {.patterns = {{.op = "aten.addmm.default"}}}},
                              *RecipeByName("int8-static"))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("method 'decode'"), HasSubstr("calibration data"))));
}

}  // namespace
}  // namespace belay::exir
