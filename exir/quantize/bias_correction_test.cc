// Recipe::bias_correction.
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
using ::testing::FloatNear;
using ::testing::SizeIs;
using Kind = QuantizationPattern::Kind;

constexpr float kInput[] = {1, 2, 3, 5, 0, -4, 0, 8};  // means by channel: 2.75 and 1

class OneCall : public CalibrationData {
 public:
  explicit OneCall(Sizes sizes) {
    std::memcpy(elements_, kInput, sizeof(elements_));
    value_ = TensorView::Contiguous(DType::kFloat32, sizes, elements_);
  }
  int calls() const override { return 1; }
  std::string Name(int) const override { return "call"; }
  absl::StatusOr<absl::Span<const EValue>> Inputs(int) override {
    return absl::MakeConstSpan(&value_, 1);
  }

 private:
  float elements_[8];
  EValue value_;
};

class BiasCorrectionTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  static ConstantTensor Tensor(Sizes sizes, const std::vector<float>& elements) {
    return *FloatConstant(std::move(sizes), elements);
  }
  static std::vector<float> Elements(const ConstantTensor& tensor) {
    const TensorView view = tensor.view();
    return {view.as<float>(), view.as<float>() + view.numel()};
  }
  QuantizeResult Quantize(std::string_view text, Sizes input) {
    ExportedProgram program = ParseOrDie(text, **ops_);
    for (auto& [name, tensor] : program.state_dict) {
      tensor = name == "w" ? Tensor(tensor.sizes(), {0.3F, 1, -0.71F, 0.123F})
                           : Tensor(tensor.sizes(), {10, 20});
    }
    OneCall data(std::move(input));
    absl::StatusOr<QuantizeResult> result =
        QuantizeProgram({.program = &program, .patterns = patterns_, .calibration = &data}, recipe_,
                        {.kernels = &kernels_});
    EXPECT_OK(result);
    EXPECT_OK(Verify(result->program));
    EXPECT_OK(VerifyEdge(result->program));
    return *std::move(result);
  }
  // The expected bias for mean inputs of the two columns.
  static std::vector<float> Corrected(std::vector<float> bias, double first, double second) {
    const double weights[2][2] = {{0.3F, 1}, {-0.71F, 0.123F}};
    for (size_t n = 0; n < 2; ++n) {
      const double scale = std::max(std::abs(weights[n][0]), std::abs(weights[n][1])) / 127;
      const auto error = [&](double w) { return w - std::nearbyint(w / scale) * scale; };
      bias[n] += static_cast<float>(error(weights[n][0]) * first + error(weights[n][1]) * second);
    }
    return bias;
  }
  static auto Near(const std::vector<float>& bias) {
    return ElementsAre(FloatNear(bias[0], 1e-6F), FloatNear(bias[1], 1e-6F));
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
  Recipe recipe_ = *RecipeByName("int8-static");
  QuantizationPatterns patterns_ = {
      .patterns = {{.op = "aten.convolution.default", .kind = Kind::kAnchor},
                   {.op = "aten.addmm.default", .kind = Kind::kAnchor},
                   {.op = "aten.mm.default", .kind = Kind::kAnchor}}};
};

constexpr char kConvolution[] = R"(program edge {
  constants { state "w": f32[2,2,1,1] }
  graph(%w: f32[2,2,1,1] parameter "w", %x: f32[1,2,2,2] user_input) {
    %y: f32[1,2,2,2] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    return (%y user_output) } })";

TEST_F(BiasCorrectionTest, ConvolutionsWithoutBiasGetOne) {
  const QuantizeResult result = Quantize(kConvolution, {1, 2, 2, 2});
  EXPECT_THAT(Elements(result.program.constants.at("w_bias_corrected")),
              Near(Corrected({0, 0}, 2.75, 1)));
  ASSERT_THAT(result.quantized, SizeIs(1));
  EXPECT_TRUE(result.quantized[0].corrects_bias);
}

TEST_F(BiasCorrectionTest, PaddingCountsAsZero) {
  const QuantizeResult result = Quantize(R"(program edge {
  constants { state "w": f32[2,2,1,1] }
  graph(%w: f32[2,2,1,1] parameter "w", %x: f32[1,2,2,2] user_input) {
    %y: f32[1,2,4,4] = edge.aten.convolution.default(%x, %w, none, [1,1], [1,1], [1,1], false, [0,0], 1)
    return (%y user_output) } })",
                                         {1, 2, 2, 2});
  EXPECT_THAT(Elements(result.program.constants.at("w_bias_corrected")),
              Near(Corrected({0, 0}, 2.75 / 4, 1.0 / 4)));
}

TEST_F(BiasCorrectionTest, GroupsUseTheirOwnChannels) {
  const QuantizeResult result = Quantize(R"(program edge {
  constants { state "w": f32[2,1,1,2] }
  graph(%w: f32[2,1,1,2] parameter "w", %x: f32[1,2,1,4] user_input) {
    %y: f32[1,2,1,3] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2)
    return (%y user_output) } })",
                                         {1, 2, 1, 4});
  std::vector<float> expected = Corrected({0, 0}, 2, 10.0 / 3);
  expected[1] = Corrected({0, 0}, -4.0 / 3, 4.0 / 3)[1];
  EXPECT_THAT(Elements(result.program.constants.at("w_bias_corrected")), Near(expected));
}

TEST_F(BiasCorrectionTest, ConstantBiasIsReplaced) {
  const QuantizeResult result = Quantize(R"(program edge {
  constants { state "b": f32[2] state "w": f32[2,2] }
  graph(%b: f32[2] parameter "b", %w: f32[2,2] parameter "w", %x: f32[4,2] user_input) {
    %p: f32[2,2] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[4,2] = edge.aten.addmm.default(%b, %x, %p)
    return (%y user_output) } })",
                                         {4, 2});
  EXPECT_THAT(Elements(result.program.constants.at("b_corrected")),
              Near(Corrected({10, 20}, 1, 2.75)));
  EXPECT_FALSE(result.program.state_dict.contains("b"));
}

TEST_F(BiasCorrectionTest, MatmulsBecomeAddmm) {
  constexpr char kMatmul[] = R"(program edge {
  constants { state "w": f32[2,2] }
  graph(%w: f32[2,2] parameter "w", %x: f32[4,2] user_input) {
    %p: f32[2,2] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[4,2] = edge.aten.mm.default(%x, %p)
    return (%y user_output) } })";
  const QuantizeResult result = Quantize(kMatmul, {4, 2});
  const Graph& graph = result.program.top();
  const NodeId last = graph.value(*graph.outputs()[0].get_if<ValueId>()).producer;
  EXPECT_EQ(graph.node(last).target->aten()->name(), "aten.addmm.default");
  EXPECT_THAT(Elements(result.program.constants.at("w_bias_corrected")),
              Near(Corrected({0, 0}, 1, 2.75)));
  // Only if the backend supports addmm.
  std::swap(patterns_.patterns[1], patterns_.patterns.back());
  patterns_.patterns.pop_back();
  EXPECT_FALSE(Quantize(kMatmul, {4, 2}).quantized.at(0).corrects_bias);
}

TEST_F(BiasCorrectionTest, ComputedBiasStays) {
  const QuantizeResult result = Quantize(R"(program edge {
  constants { state "b": f32[2] state "w": f32[2,2] }
  graph(%b: f32[2] parameter "b", %w: f32[2,2] parameter "w", %x: f32[4,2] user_input) {
    %a: f32[2] = edge.aten.relu.default(%b)
    %p: f32[2,2] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[4,2] = edge.aten.addmm.default(%a, %x, %p)
    return (%y user_output) } })",
                                         {4, 2});
  ASSERT_THAT(result.quantized, SizeIs(1));
  EXPECT_FALSE(result.quantized[0].corrects_bias);
}

TEST_F(BiasCorrectionTest, RecipesDisableIt) {
  recipe_.bias_correction = false;
  const QuantizeResult result = Quantize(kConvolution, {1, 2, 2, 2});
  EXPECT_FALSE(result.program.constants.contains("w_bias_corrected"));
  EXPECT_FALSE(result.quantized.at(0).corrects_bias);
}

TEST_F(BiasCorrectionTest, RoundsBiasesThatBackendsAddAsIntegers) {
  patterns_.integer_biases = true;
  for (bool corrects : {true, false}) {
    recipe_.bias_correction = corrects;
    const QuantizeResult result = Quantize(R"(program edge {
    constants { state "b": f32[2] state "w": f32[2,2] }
    graph(%b: f32[2] parameter "b", %w: f32[2,2] parameter "w", %x: f32[4,2] user_input) {
      %p: f32[2,2] = edge.aten.permute_copy.default(%w, [1,0])
      %y: f32[4,2] = edge.aten.addmm.default(%b, %x, %p)
      return (%y user_output) } })",
                                           {4, 2});
    EXPECT_EQ(result.quantized.at(0).corrects_bias, corrects);
    std::vector<float> exact = {10, 20};
    if (corrects) exact = Corrected(exact, 1, 2.75);
    const std::vector<float> bias = Elements(result.program.constants.at("b_corrected"));
    const std::vector<float> weight_scales = Elements(result.program.constants.at("w_int8_scales"));
    ASSERT_THAT(bias, SizeIs(2));
    for (size_t n = 0; n < 2; ++n) {
      const float scale = weight_scales[n] * result.activations.at(0).parameters.scale;
      EXPECT_EQ(bias[n], std::nearbyint(bias[n] / scale) * scale);
      EXPECT_NEAR(bias[n], exact[n], scale / 2);
      EXPECT_NE(bias[n], exact[n]);
    }
  }
}

TEST_F(BiasCorrectionTest, WeightsAreNotInMemoryAfterwards) {
  ExportedProgram program = ParseOrDie(R"(program edge {
  constants { state "w": f32[512,512] }
  graph(%w: f32[512,512] parameter "w", %x: f32[1,512] user_input) {
    %p: f32[512,512] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[1,512] = edge.aten.mm.default(%x, %p)
    return (%y user_output) } })",
                                       **ops_);
  const std::optional<MappedTensor> weight = MappedTensor::Create({512, 512});
  if (!weight.has_value()) GTEST_SKIP() << "the system has no temporary files without a name";
  program.state_dict.at("w") = weight->tensor;
  TensorCalls data({1, 512}, {PseudoRandom(512, 1)});
  ASSERT_OK_AND_ASSIGN(
      const QuantizeResult result,
      QuantizeProgram({.program = &program, .patterns = patterns_, .calibration = &data}, recipe_,
                      {.kernels = &kernels_}));
  EXPECT_THAT(result.quantized, SizeIs(1));
  EXPECT_EQ(weight->ResidentBytes(), 0);
}

}  // namespace
}  // namespace belay::exir
