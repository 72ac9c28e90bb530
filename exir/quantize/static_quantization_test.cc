// Static quantization: selected operators, insertion points and parameters.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/quantize/quantize_program.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = QuantizationPattern::Kind;

class StaticQuantizationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(std::string_view text) const {
    ExportedProgram program = ParseOrDie(text, **ops_);
    for (auto& [name, tensor] : program.state_dict) {
      const auto count = static_cast<size_t>(tensor.view().numel());
      tensor = *FloatConstant(tensor.sizes(), std::vector<float>(count, 1.0F));
    }
    return program;
  }
  absl::StatusOr<QuantizeResult> Quantize(const ExportedProgram& program, CalibrationData& data) {
    Recipe recipe = *RecipeByName("int8-static");
    recipe.observer = observer_;
    recipe.bias_correction = bias_correction_;
    recipe.quantize_io = quantize_io_;
    recipe.tables = tables_;
    return QuantizeProgram({.program = &program, .patterns = patterns_, .calibration = &data},
                           recipe, {.kernels = &kernels_});
  }
  // Returns the text of the nodes of the quantized program: operator(operands).
  std::vector<std::string> QuantizedNodes(std::string_view text) {
    const ExportedProgram program = Parse(text);
    TensorCalls data({1, 2, 2, 2}, {{-1, 2, 0.5, 1, 0, 0, 1, 3}});
    absl::StatusOr<QuantizeResult> result = Quantize(program, data);
    EXPECT_OK(result);
    if (!result.ok()) return {};
    EXPECT_OK(Verify(result->program));
    EXPECT_OK(VerifyEdge(result->program));
    std::vector<std::string> nodes;
    for (NodeId id : result->program.top().nodes()) {
      const Node& node = result->program.top().node(id);
      std::string name = node.target->aten()->name();
      name = name.substr(name.find('.') + 1);
      name = name.substr(0, name.find('.'));
      std::string operands;
      for (const Argument& argument : node.arguments) {
        ForEachValue(argument, [&](ValueId value) {
          absl::StrAppend(&operands, operands.empty() ? "" : ", ",
                          result->program.top().value(value).name);
        });
      }
      nodes.push_back(absl::StrReplaceAll(absl::StrCat(name, "(", operands, ")"),
                                          {{"dequantize_per_tensor", "d"},
                                           {"quantize_per_tensor", "q"},
                                           {"dequantize_per_channel", "w"}}));
    }
    result_.emplace(*std::move(result));
    return nodes;
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
  QuantizationPatterns patterns_ = {
      .patterns = {{.op = "aten.convolution.default", .kind = Kind::kAnchor},
                   {.op = "aten.relu.default", .kind = Kind::kTable, .bounds = true},
                   {.op = "aten.sigmoid.default", .kind = Kind::kTable},
                   {.op = "aten.mul.Tensor", .kind = Kind::kTable},
                   {.op = "aten.permute_copy.default", .kind = Kind::kMovement},
                   {.op = "aten.add.Tensor", .kind = Kind::kSum}}};
  ObserverKind observer_ = ObserverKind::kMinMax;
  bool bias_correction_ = false, quantize_io_ = false, tables_ = true;
  std::optional<QuantizeResult> result_;
};

constexpr char kConvolution[] = "edge.aten.convolution.default(";
constexpr char kEnd[] = ", %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)";
std::string Program(std::string_view body) {
  return absl::StrReplaceAll(
      absl::StrCat(R"(program edge {
  constants { state "w": f32[2,2,1,1] }
  graph(%w: f32[2,2,1,1] parameter "w", %x: f32[1,2,2,2] user_input) {
)",
                   absl::string_view(body.data(), body.size()), "} }"),
      {{": T =", ": f32[1,2,2,2] ="}, {"CONV(", kConvolution}, {"W)", kEnd}});
}

TEST_F(StaticQuantizationTest, QuantizesBetweenConvolutions) {
  EXPECT_THAT(
      QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %r: T = edge.aten.relu.default(%a)
    %b: T = CONV(%rW)
    return (%b user_output) )")),
      ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "relu(a)",
                  "q(r)", "d(q_1)", "w(w_int8, w_int8_scales)", "convolution(d_1, w_1)"));
  ASSERT_THAT(result_->activations, SizeIs(2));
  EXPECT_EQ(result_->activations[0].value, "x");
  EXPECT_EQ(result_->activations[0].low, -1);
  EXPECT_EQ(result_->activations[0].high, 3);
  EXPECT_EQ(result_->activations[0].parameters, (AffineParameters{4.0F / 255, -64}));
  EXPECT_EQ(result_->activations[1].low, 0);
  EXPECT_EQ(result_->activations[1].high, 4);
  ASSERT_THAT(result_->quantized, SizeIs(2));
  EXPECT_EQ(result_->quantized[0].scheme, "static int8 x int8 per row");
}

// The sums of the convolution are from -100 to 100, where most sigmoids are 0 or 1.
TEST_F(StaticQuantizationTest, LeastErrorRangeOfATableInputIsThatOfItsResult) {
  observer_ = ObserverKind::kLeastError;
  std::vector<std::vector<float>> calls(200);
  for (size_t i = 0; i < 1600; ++i) {
    calls[i / 8].push_back(static_cast<float>(i * 37 % 1001) / 10 - 50);
  }
  for (const bool is_output : {false, true}) {
    const ExportedProgram program =
        Parse(Program(absl::StrCat(R"(
    %a: T = CONV(%xW)
    %p: T = edge.aten.permute_copy.default(%a, [0,1,3,2])
    %s: T = edge.aten.sigmoid.default(%p)
    %b: T = CONV(%sW)
    return (%b user_output)",
                                   is_output ? ", %a user_output)" : ")")));
    TensorCalls data({1, 2, 2, 2}, calls);
    const absl::StatusOr<QuantizeResult> result = Quantize(program, data);
    ASSERT_OK(result);
    ASSERT_THAT(result->activations, SizeIs(4));
    for (size_t i : {1, 2}) {
      const QuantizedTensor& activation = result->activations[i];
      if (is_output) {
        EXPECT_LT(activation.low, -80) << activation.value;
        EXPECT_GT(activation.high, 80) << activation.value;
      } else {
        EXPECT_GT(activation.low, -50) << activation.value;
        EXPECT_LT(activation.high, 50) << activation.value;
        EXPECT_LT(activation.low, -3) << activation.value;
        EXPECT_GT(activation.high, 3) << activation.value;
      }
    }
  }
}

TEST_F(StaticQuantizationTest, ResultsStayInFloat32WithoutQuantizedUser) {
  EXPECT_THAT(
      QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %s: T = edge.aten.exp.default(%a)
    return (%s user_output) )")),
      ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "exp(a)"));
}

TEST_F(StaticQuantizationTest, ResultsAreQuantizedIfThePatternsNeedIt) {
  patterns_.quantizes_results = true;
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    return (%a user_output) )")),
              ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "q(a)",
                          "d(q_1)"));
}

TEST_F(StaticQuantizationTest, QuantizesInputsAndOutputs) {
  quantize_io_ = true;
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    return (%a user_output) )")),
              ElementsAre("d(x)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "q(a)"));
  const Graph& graph = result_->program.top();
  EXPECT_EQ(graph.MetaOf(graph.inputs().back()).dtype, DType::kInt8);
  EXPECT_EQ(graph.MetaOf(*graph.outputs()[0].get_if<ValueId>()).dtype, DType::kInt8);
  EXPECT_THAT(result_->notes, ElementsAre(HasSubstr("input 0 'x' is int8: scale 0.015686"),
                                          HasSubstr("output 0 'a' is int8: scale 0.019607")));
}

// Only results of quantized operators are quantized, and inputs that nothing else uses.
TEST_F(StaticQuantizationTest, OtherInputsAndOutputsStayInFloat32) {
  quantize_io_ = true;
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %e: T = edge.aten.exp.default(%x)
    %s: T = edge.aten.sub.Tensor(%a, %e)
    return (%s user_output) )")),
              ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "exp(x)",
                          "sub(a, e)"));
  EXPECT_THAT(result_->notes, IsEmpty());
}

TEST_F(StaticQuantizationTest, SumsOfQuantizedResultsAreQuantized) {
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %b: T = CONV(%xW)
    %s: T = edge.aten.add.Tensor(%a, %b)
    %c: T = CONV(%sW)
    return (%c user_output) )")),
              ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "q(a)",
                          "d(q)", "w(w_int8, w_int8_scales)", "convolution(d_1, w_1)", "q(b)",
                          "d(q_1)", "d(q_2)", "add(d_2, d_3)", "q(s)", "d(q_3)",
                          "w(w_int8, w_int8_scales)", "convolution(d_4, w_2)"));
}

// Quantizing the float32 operand would lose accuracy and save no time.
TEST_F(StaticQuantizationTest, SumsWithFloat32StayInFloat32) {
  EXPECT_THAT(
      QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %s: T = edge.aten.add.Tensor(%a, %x)
    return (%s user_output) )")),
      ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "add(a, x)"));
}

TEST_F(StaticQuantizationTest, MovementSharesParameters) {
  QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %p: T = edge.aten.permute_copy.default(%a, [0,1,3,2])
    %b: T = CONV(%pW)
    return (%b user_output) )"));
  ASSERT_TRUE(result_.has_value());
  ASSERT_THAT(result_->activations, SizeIs(3));
  EXPECT_EQ(result_->activations[1].parameters, result_->activations[2].parameters);
}

TEST_F(StaticQuantizationTest, MovedWeightsAreNotActivations) {
  patterns_.patterns.push_back({.op = "aten.mm.default", .kind = Kind::kAnchor});
  QuantizedNodes(R"(program edge {
  constants { state "w": f32[2,2] }
  graph(%w: f32[2,2] parameter "w", %x: f32[1,2,2,2] user_input) {
    %v: f32[4,2] = edge.aten.view_copy.default(%x, [4,2])
    %p: f32[2,2] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[4,2] = edge.aten.mm.default(%v, %p)
    return (%y user_output) } })");
  ASSERT_TRUE(result_.has_value());
  ASSERT_THAT(result_->activations, SizeIs(1));
  EXPECT_EQ(result_->activations[0].value, "v");
}

// SiLU is a table: nothing inside is quantized.
TEST_F(StaticQuantizationTest, FunctionsOfOneTensorAreQuantizedAsAWhole) {
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %s: T = edge.aten.sigmoid.default(%a)
    %m: T = edge.aten.mul.Tensor(%a, %s)
    %b: T = CONV(%mW)
    return (%b user_output) )")),
              ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)", "q(a)",
                          "d(q_1)", "sigmoid(d_1)", "d(q_1)", "mul(d_2, s)", "q(m)", "d(q_2)",
                          "w(w_int8, w_int8_scales)", "convolution(d_3, w_1)"));
}

// Bounds still belong to the convolution.
TEST_F(StaticQuantizationTest, FunctionsAreFloat32WithoutTables) {
  tables_ = false;
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    %r: T = edge.aten.relu.default(%a)
    %s: T = edge.aten.sigmoid.default(%r)
    %b: T = CONV(%sW)
    return (%b user_output) )")),
              ElementsAre("q(x)", "d(q)", "w(w_int8, w_int8_scales)", "convolution(d, w)",
                          "relu(a)", "sigmoid(r)", "q(s)", "d(q_1)", "w(w_int8, w_int8_scales)",
                          "convolution(d_1, w_1)"));
}

TEST_F(StaticQuantizationTest, ReportsAnchorsWithoutPattern) {
  patterns_.patterns[0].accepts = [](const ExportedProgram&, NodeId) { return false; };
  EXPECT_THAT(QuantizedNodes(Program(R"(
    %a: T = CONV(%xW)
    return (%a user_output) )")),
              ElementsAre("convolution(x, w)"));
  ASSERT_THAT(result_->unquantized, SizeIs(1));
  EXPECT_EQ(result_->unquantized[0].reason, "the backend does not compute it on integers");
  EXPECT_THAT(result_->quantized, IsEmpty());
}

TEST_F(StaticQuantizationTest, NamesTheCallOfAnError) {
  const ExportedProgram program = Parse(Program(R"(
    %a: T = CONV(%xW)
    return (%a user_output) )"));
  TensorCalls wrong({1, 2, 2, 1}, {{1, 2, 3, 4}});
  EXPECT_THAT(Quantize(program, wrong).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tensor 0")));
}

}  // namespace
}  // namespace belay::exir
