// Scheme::error_feedback.
#include "exir/quantize/feedback_weights.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kLayers[] = R"(program edge {
  constants { state "first": f32[16,64] state "second": f32[16,64] }
  graph(%w: f32[16,64] parameter "first", %v: f32[16,64] parameter "second",
        %x: f32[2,8,64] user_input) {
    %m: f32[16,64] = edge.aten.view_copy.default(%x, [16,64])
    %p: f32[64,16] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[16,16] = edge.aten.mm.default(%m, %p)
    %n: f32[16,64] = edge.aten.view_copy.default(%x, [16,64])
    %q: f32[64,16] = edge.aten.permute_copy.default(%v, [1,0])
    %z: f32[16,16] = edge.aten.mm.default(%n, %q)
    return (%y user_output, %z user_output) } })";

class FeedbackWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(std::string_view text) const {
    ExportedProgram program = ParseOrDie(text, **ops_);
    uint32_t seed = 1;
    for (auto& [name, tensor] : program.state_dict) {
      tensor = *FloatConstant(tensor.sizes(),
                              PseudoRandom(static_cast<size_t>(tensor.view().numel()), seed++));
    }
    return program;
  }
  static std::vector<float> Correlated(uint32_t seed) {
    std::vector<float> rows = PseudoRandom(16 * 64, seed);
    for (size_t i = 1; i < rows.size(); ++i) rows[i] += 0.9F * rows[i - 1];
    return rows;
  }
  // The SNR of the worst output.
  double Snr(const ExportedProgram& program, const QuantizeResult& result) {
    const MaxLoss snr = {LossMetric::kSnr, 0};
    const auto reference = ReferenceOutputs::Record(program, kernels_, data_, nullptr);
    EXPECT_OK(reference);
    return reference->LossOf(result.program, snr, nullptr).value_or(-1);
  }
  static Recipe RecipeOf(const std::string& name, bool feedback) {
    return *ParseRecipe(
        R"({"recipe": ")" + name + R"(", "error_feedback": )" + (feedback ? "true}" : "false}"),
        "r.json");
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
  TensorCalls data_{{2, 8, 64},
                    {Correlated(1), Correlated(2), Correlated(3), Correlated(4), Correlated(5),
                     Correlated(6), Correlated(7), Correlated(8)}};
};

class FeedbackByRecipeTest : public FeedbackWeightsTest,
                             public ::testing::WithParamInterface<const char*> {};
TEST_P(FeedbackByRecipeTest, LossIsLessThanOfPlainRounding) {
  const ExportedProgram program = Parse(kLayers);
  const auto quantize = [&](bool feedback) {
    absl::StatusOr<QuantizeResult> result =
        QuantizeProgram({.program = &program, .calibration = &data_},
                        RecipeOf(GetParam(), feedback), {.kernels = &kernels_});
    EXPECT_OK(result);
    EXPECT_OK(Verify(result->program));
    EXPECT_OK(VerifyEdge(result->program));
    return *std::move(result);
  };
  const QuantizeResult plain = quantize(false), fed = quantize(true);
  ASSERT_THAT(fed.quantized, SizeIs(2));
  EXPECT_TRUE(fed.quantized[0].error_feedback && fed.quantized[1].error_feedback);
  EXPECT_THAT(fed.quantized[0].scheme, HasSubstr("error feedback"));
  EXPECT_FALSE(plain.quantized.at(0).error_feedback);
  EXPECT_GT(Snr(program, fed), Snr(program, plain) + 1.5);
}
INSTANTIATE_TEST_SUITE_P(Recipes, FeedbackByRecipeTest,
                         ::testing::Values("weights-int4", "8da4w", "weights-int8"));

// A batch per matrix gives the same weights.
TEST_F(FeedbackWeightsTest, BatchesGiveTheSameWeights) {
  const ExportedProgram program = Parse(R"(program edge {
  constants { state "first": f32[64,64] state "second": f32[64,64] }
  graph(%w: f32[64,64] parameter "first", %v: f32[64,64] parameter "second",
        %x: f32[16,64] user_input) {
    %y: f32[16,64] = edge.aten.mm.default(%x, %w)
    %z: f32[16,64] = edge.aten.mm.default(%y, %v)
    return (%z user_output) } })");
  TensorCalls data({16, 64}, {Correlated(1)});
  const auto encode = [&](uint64_t max_gram_bytes, int64_t& runs) {
    const Recipe recipe = RecipeOf("weights-int4", true);
    EncodedWeights encoded;
    std::vector<std::unique_ptr<ProgramQuantizer>> quantizers;
    quantizers.push_back(*ProgramQuantizer::Create({.program = &program, .calibration = &data},
                                                   recipe, &kernels_, {}, encoded));
    CallProgress progress;
    EXPECT_OK(EncodeWithErrorFeedback(quantizers, &kernels_, encoded, progress, max_gram_bytes));
    runs = progress.done;
    std::vector<std::string> weights;
    for (const Anchor& anchor : quantizers[0]->anchors()) {
      const EncodedWeight weight =
          *encoded.Encode(anchor.weight, anchor.use.rows_first, anchor.scheme);
      EXPECT_TRUE(weight.error_feedback);
      const TensorView view = weight.elements.view();
      weights.emplace_back(view.as<char>(), view.nbytes());
    }
    return weights;
  };
  int64_t together = 0, apart = 0;
  EXPECT_EQ(encode(kMaxGramBytes, together), encode(1, apart));
  EXPECT_EQ(together, 1);
  EXPECT_EQ(apart, 2);
}

TEST_F(FeedbackWeightsTest, InputsThatAreZeroGivePlainRounding) {
  const ExportedProgram program = Parse(kLayers);
  TensorCalls zeros({2, 8, 64}, {std::vector<float>(16 * 64)});
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result,
                       QuantizeProgram({.program = &program, .calibration = &zeros},
                                       RecipeOf("weights-int4", true), {.kernels = &kernels_}));
  EXPECT_FALSE(result.quantized.at(0).error_feedback);
}

TEST_F(FeedbackWeightsTest, MethodsShareTheWeight) {
  const ExportedProgram prefill = Parse(kLayers), decode = prefill.Clone();
  TensorCalls other({2, 8, 64}, {Correlated(20)});
  ASSERT_OK_AND_ASSIGN(const std::vector<QuantizeResult> results,
                       QuantizePrograms({{.program = &prefill, .calibration = &data_},
                                         {.program = &decode, .calibration = &other}},
                                        RecipeOf("weights-int4", true), {.kernels = &kernels_}));
  EXPECT_EQ(results[0].program.constants.at("first_int4").view().data,
            results[1].program.constants.at("first_int4").view().data);
  EXPECT_TRUE(results[1].quantized.at(0).error_feedback);
}

TEST_F(FeedbackWeightsTest, NeedsCalibrationData) {
  const ExportedProgram program = Parse(kLayers);
  EXPECT_THAT(QuantizeProgram({.program = &program, .method = "decode"},
                              RecipeOf("weights-int4", true), {.kernels = &kernels_})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("method 'decode'"),
                             HasSubstr("error feedback needs calibration data"))));
}

}  // namespace
}  // namespace belay::exir
