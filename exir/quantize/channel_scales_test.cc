#include "exir/quantize/channel_scales.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/quantize/quantize_program.h"
#include "exir/quantize/recipe_file.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = QuantizationPattern::Kind;

constexpr RowsOptions kInt4 = {.range = {-8, 7}, .group_size = 32};

TEST(ChannelStatisticsTest, AccumulatesByChannel) {
  ChannelStatistics statistics;
  float elements[] = {1, -2, 3, 4, NAN, 6, -7, 8};
  statistics.Add(TensorView::Contiguous(DType::kFloat32, {2, 2, 2}, elements), 1);
  EXPECT_THAT(statistics.low, ElementsAre(-2, -7));
  EXPECT_THAT(statistics.high, ElementsAre(6, 8));
  EXPECT_THAT(statistics.magnitude, ElementsAre(9, 22));
  EXPECT_THAT(statistics.square, ElementsAre(41, 138));
  EXPECT_EQ(statistics.count, 4);
}

// Statistics of 64 channels with equal magnitudes, except every 32nd one.
ChannelStatistics Statistics(float outlier) {
  std::vector<float> x = PseudoRandom(size_t{64} * 64, 5);
  for (size_t i = 0; i < x.size(); i += 32) x[i] *= outlier;
  ChannelStatistics statistics;
  statistics.Add(TensorView::Contiguous(DType::kFloat32, {64, 64}, x.data()), 1);
  return statistics;
}

TEST(ChannelStatisticsTest, KeepsEveryStridedRow) {
  std::vector<float> x(1025);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  ChannelStatistics statistics;
  statistics.Add(TensorView::Contiguous(DType::kFloat32, {1025, 1}, x.data()), 1);
  EXPECT_EQ(statistics.stride, 4);
  ASSERT_THAT(statistics.samples, SizeIs(257));
  for (size_t i = 0; i < 257; ++i) EXPECT_EQ(statistics.samples[i], static_cast<float>(4 * i));
}

TEST(ActivationScalesTest, ScalesLargeChannelsUp) {
  const std::vector<float> weight = PseudoRandom(size_t{16} * 64, 3);
  const ChannelWeight view = {weight, 16, 64};
  KernelRegistry kernels;
  ASSERT_OK(AddReferenceKernels(kernels));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> scales,
                       ActivationScales(Statistics(50), {view}, {kInt4}, kernels));
  ASSERT_THAT(scales, SizeIs(64));
  EXPECT_GT(scales[0], scales[1]);
  EXPECT_GT(scales[32], scales[33]);
}

TEST(ActivationScalesTest, KeepsWeightsWithoutLoss) {
  const std::vector<float> weight(size_t{16} * 64, 0.0F);
  KernelRegistry kernels;
  ASSERT_OK(AddReferenceKernels(kernels));
  EXPECT_THAT(ActivationScales(Statistics(50), {{weight, 16, 64}}, {kInt4}, kernels).value(),
              IsEmpty());
}

TEST(EqualizingScalesTest, MakesRangesOfChannelsEqual) {
  const std::vector<float> weight = PseudoRandom(size_t{16} * 64, 3);
  const ChannelStatistics statistics = Statistics(50);
  const std::vector<float> scales =
      EqualizingScales(statistics, {{weight, 16, 64}}, Observer(ObserverKind::kLeastError));
  ASSERT_THAT(scales, SizeIs(64));
  const auto ratio = [&](auto scale) {
    return statistics.high[0] / scale(0) / (statistics.high[1] / scale(1));
  };
  EXPECT_LT(ratio([&](size_t c) { return scales[c]; }), 0.5 * ratio([](size_t) { return 1; }));
}

TEST(EqualizingScalesTest, KeepsEqualChannels) {
  // Ranges of activations and weights are equal, so that no power changes them.
  std::vector<float> x(64, 1.0F);
  ChannelStatistics statistics;
  statistics.Add(TensorView::Contiguous(DType::kFloat32, {1, 64}, x.data()), 1);
  const std::vector<float> weight(size_t{16} * 64, 0.5F);
  EXPECT_THAT(EqualizingScales(statistics, {{weight, 16, 64}}, Observer(ObserverKind::kLeastError)),
              IsEmpty());
}

// One element is far larger than all others. An observer that cuts it clamps it, unless the factor of
// its channel makes it as small as they are.
TEST(EqualizingScalesTest, CountsElementsThatTheObserverClamps) {
  ChannelStatistics statistics;
  std::vector<float> x = PseudoRandom(size_t{200} * 64, 5);
  x[0] = 30;
  statistics.Add(TensorView::Contiguous(DType::kFloat32, {200, 64}, x.data()), 1);
  const std::vector<float> weight = PseudoRandom(size_t{16} * 64, 3);
  const auto factor = [&](const Observer& observer) {
    const std::vector<float> scales = EqualizingScales(statistics, {{weight, 16, 64}}, observer);
    return scales.empty() ? 1.0F : scales[0];
  };
  EXPECT_GT(factor(Observer(ObserverKind::kPercentile, 99)),
            2 * factor(Observer(ObserverKind::kMinMax)));
}

class ScaleChannelsByDataTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(std::string_view text) const {
    ExportedProgram program = ParseOrDie(text, **ops_);
    uint32_t seed = 1;
    for (auto& [name, tensor] : program.state_dict) {
      std::vector<float> elements =
          PseudoRandom(static_cast<size_t>(tensor.view().numel()), seed++);
      // Rows of the first layer have different magnitudes, and so do its results.
      if (name == "a") {
        const size_t columns = elements.size() / 64;
        for (size_t i = 0; i < elements.size(); ++i) {
          if (i / columns % 32 == 0) elements[i] *= 40;
        }
      }
      if (name == "g") elements[0] *= 40;
      if (name == "e") {
        for (size_t i = 0; i < elements.size(); i += 32) elements[i] /= 40;
      }
      tensor = *FloatConstant(tensor.sizes(), std::move(elements));
    }
    return program;
  }
  absl::StatusOr<QuantizeResult> Quantize(const ExportedProgram& program, const std::string& recipe,
                                          CalibrationData* data) {
    return QuantizeProgram({.program = &program, .patterns = patterns_, .calibration = data},
                           *ParseRecipe(recipe, "r.json"), {.kernels = &kernels_});
  }
  // The SNR of the output after quantization.
  double Snr(std::string_view text, const std::string& recipe, CalibrationData& data, bool scales) {
    const ExportedProgram program = Parse(text);
    absl::StatusOr<QuantizeResult> result = Quantize(program, recipe, &data);
    EXPECT_OK(result);
    EXPECT_OK(Verify(result->program));
    EXPECT_OK(VerifyEdge(result->program));
    EXPECT_EQ(result->notes.size(), scales ? 1 : 0);
    const auto reference = ReferenceOutputs::Record(program, kernels_, data, nullptr);
    EXPECT_OK(reference);
    return reference->LossOf(result->program, {LossMetric::kSnr, 0}, nullptr).value_or(-1);
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
  QuantizationPatterns patterns_ = {
      .patterns = {{.op = "aten.convolution.default", .kind = Kind::kAnchor},
                   {.op = "aten.mm.default", .kind = Kind::kAnchor},
                   {.op = "aten.relu.default", .kind = Kind::kTable, .bounds = true}}};
};

constexpr char kLayers[] = R"(program edge {
  constants { state "a": f32[64,32] state "v": f32[16,64] }
  graph(%a: f32[64,32] parameter "a", %v: f32[16,64] parameter "v", %x: f32[8,32] user_input) {
    %p: f32[32,64] = edge.aten.permute_copy.default(%a, [1,0])
    %y: f32[8,64] = edge.aten.mm.default(%x, %p)
    %g: f32[8,64] = edge.aten.gelu.default(%y)
    %q: f32[64,16] = edge.aten.permute_copy.default(%v, [1,0])
    %z: f32[8,16] = edge.aten.mm.default(%g, %q)
    return (%z user_output) } })";

TEST_F(ScaleChannelsByDataTest, ActivationScalingReducesTheLoss) {
  TensorCalls data({8, 32}, {PseudoRandom(256, 11), PseudoRandom(256, 12)});
  // Only the second layer, whose input has channels of different magnitudes.
  const auto recipe = [](const std::string& keys) {
    return R"({"rules": [{"node": "z", "recipe": "weights-int4")" + keys + "}]}";
  };
  const double plain = Snr(kLayers, recipe(""), data, false);
  const double scaled = Snr(kLayers, recipe(R"(, "activation_scaling": true)"), data, true);
  EXPECT_GT(scaled, plain + 1);
  const double both =
      Snr(kLayers, recipe(R"(, "activation_scaling": true, "error_feedback": true)"), data, true);
  EXPECT_GT(both, scaled);
}

TEST_F(ScaleChannelsByDataTest, EqualizationReducesTheLoss) {
  constexpr char kConvolutions[] = R"(program edge {
  constants { state "a": f32[64,4,1,1] state "e": f32[8,64,1,1] }
  graph(%a: f32[64,4,1,1] parameter "a", %v: f32[8,64,1,1] parameter "e",
        %x: f32[1,4,8,8] user_input) {
    %y: f32[1,64,8,8] = edge.aten.convolution.default(%x, %a, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    %r: f32[1,64,8,8] = edge.aten.relu.default(%y)
    %z: f32[1,8,8,8] = edge.aten.convolution.default(%r, %v, none, [1,1], [0,0], [1,1], false, [0,0], 1)
    return (%z user_output) } })";
  TensorCalls data({1, 4, 8, 8}, {PseudoRandom(256, 11), PseudoRandom(256, 12)});
  // All channels matter equally, since the weights of large ones are small. One step of the
  // activation is 40 / 255 of the other channels' range: about 15 dB. With equal ranges of channels,
  // one step is 40 times smaller, and the int8 weights limit the SNR.
  const double plain = Snr(kConvolutions, R"({"recipe": "int8-static"})", data, false);
  const double equalized =
      Snr(kConvolutions, R"({"recipe": "int8-static", "equalization": "all"})", data, true);
  EXPECT_GT(equalized, plain + 10);
}

// One channel of the norm's result is 40 times as large as the others. With `more`, the result has
// another user, as in transformers with norms after residual sums.
std::string NormAndLayer(std::string_view more) {
  return absl::StrCat(R"(program edge {
  constants { state "g": f32[32] state "b": f32[32] state "e": f32[16,32] }
  graph(%g: f32[32] parameter "g", %b: f32[32] parameter "b", %e: f32[16,32] parameter "e",
        %x: f32[8,32] user_input) {
    %n: f32[8,32], %m: f32[8,1], %d: f32[8,1] = edge.aten.native_layer_norm.default(%x, [32], %g, %b, 1e-05)
    %p: f32[32,16] = edge.aten.permute_copy.default(%e, [1,0])
    %z: f32[8,16] = edge.aten.mm.default(%n, %p)
)",
                      absl::string_view(more.data(), more.size()), "} }");
}

TEST_F(ScaleChannelsByDataTest, EqualizesResultsOfNormsByDefault) {
  TensorCalls data({8, 32}, {PseudoRandom(256, 11), PseudoRandom(256, 12)});
  for (const std::string_view more : {"return (%z user_output)",
                                      "%s: f32[8,32] = edge.aten.add.Tensor(%n, %x)\n"
                                      "return (%z user_output, %s user_output)"}) {
    const std::string program = NormAndLayer(more);
    const double plain =
        Snr(program, R"({"recipe": "int8-static", "equalization": "none"})", data, false);
    const double equalized = Snr(program, R"({"recipe": "int8-static"})", data, true);
    EXPECT_GT(equalized, plain + 10) << more;
  }
}

// A product before the quantization of other activations would be a pass over them.
TEST_F(ScaleChannelsByDataTest, InputsOfTheProgramAreNotEqualized) {
  TensorCalls data({8, 32}, {PseudoRandom(256, 11)});
  const ExportedProgram program = Parse(R"(program edge {
  constants { state "e": f32[16,32] }
  graph(%e: f32[16,32] parameter "e", %x: f32[8,32] user_input) {
    %p: f32[32,16] = edge.aten.permute_copy.default(%e, [1,0])
    %z: f32[8,16] = edge.aten.mm.default(%x, %p)
    return (%z user_output) } })");
  ASSERT_OK_AND_ASSIGN(
      const QuantizeResult result,
      Quantize(program, R"({"recipe": "int8-static", "equalization": "all"})", &data));
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST_F(ScaleChannelsByDataTest, StaticLayersWithoutDataAreAnError) {
  const ExportedProgram program = Parse(NormAndLayer("return (%z user_output)"));
  EXPECT_THAT(Quantize(program, R"({"recipe": "int8-static"})", nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs calibration data")));
}

TEST_F(ScaleChannelsByDataTest, MethodsThatShareWeightsShareTheScales) {
  const ExportedProgram first = Parse(kLayers);
  ExportedProgram second = first.Clone();
  TensorCalls data({8, 32}, {PseudoRandom(256, 11)}), other({8, 32}, {PseudoRandom(256, 12)});
  const Recipe recipe =
      *ParseRecipe(R"({"recipe": "weights-int4", "activation_scaling": true})", "r.json");
  const ProgramToQuantize programs[] = {{.program = &first, .method = "a", .calibration = &data},
                                        {.program = &second, .method = "b", .calibration = &other}};
  ASSERT_OK_AND_ASSIGN(const std::vector<QuantizeResult> results,
                       QuantizePrograms(programs, recipe, {.kernels = &kernels_}));
  size_t shared = 0;
  for (const auto& [name, tensor] : results[0].program.constants) {
    const auto it = results[1].program.constants.find(name);
    ASSERT_NE(it, results[1].program.constants.end()) << name;
    const bool quantized = name.find("_int4") != std::string::npos;
    if (quantized) EXPECT_EQ(tensor.view().data, it->second.view().data) << name;
    shared += quantized ? 1 : 0;
  }
  EXPECT_EQ(shared, 4);
}

TEST_F(ScaleChannelsByDataTest, NeedsCalibrationData) {
  const ExportedProgram program = Parse(kLayers);
  EXPECT_THAT(
      Quantize(program, R"({"recipe": "weights-int4", "activation_scaling": true})", nullptr)
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs calibration data")));
}

TEST_F(ScaleChannelsByDataTest, NotesTheNumberOfActivations) {
  const ExportedProgram program = Parse(kLayers);
  TensorCalls data({8, 32}, {PseudoRandom(256, 11)});
  ASSERT_OK_AND_ASSIGN(
      const QuantizeResult result,
      Quantize(program, R"({"recipe": "weights-int4", "activation_scaling": true})", &data));
  EXPECT_THAT(result.notes, Contains(HasSubstr("activations are scaled, of 0 in the layers")));
  EXPECT_THAT(result.quantized.at(0).scheme, HasSubstr("activation scaling"));
}

}  // namespace
}  // namespace belay::exir
