// QuantizeOptions::max_loss.
#include "exir/quantize/mixed_precision.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/quantize/quantize_program.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Kind = QuantizationPattern::Kind;

// Three layers; the rows of "wide" have an outlier, so that their other elements are rounded
// coarsely.
constexpr char kLayers[] = R"(program edge {
  constants { state "fine": f32[32,32] state "good": f32[32,32] state "wide": f32[32,32] }
  graph(%fine: f32[32,32] parameter "fine", %good: f32[32,32] parameter "good",
        %wide: f32[32,32] parameter "wide", %x: f32[4,32] user_input) {
    %a: f32[4,32] = edge.aten.mm.default(%x, %fine)
    %b: f32[4,32] = edge.aten.mm.default(%a, %wide)
    %c: f32[4,32] = edge.aten.mm.default(%b, %good)
    return (%c user_output) } })";

class MixedPrecisionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(AddReferenceKernels(kernels_));
    program_.emplace(ParseOrDie(kLayers, **ops_));
    uint32_t seed = 1;
    for (auto& [name, tensor] : program_->state_dict) {
      std::vector<float> elements = PseudoRandom(32 * 32, seed++);
      // Outliers of one output channel per column: the weight is [columns, rows].
      for (size_t n = 0; name == "wide" && n < 32; ++n) elements[n] *= 40;
      tensor = *FloatConstant({32, 32}, elements);
    }
  }
  absl::StatusOr<QuantizeResult> Quantize(const std::optional<MaxLoss>& max_loss,
                                          const std::string& recipe = "weights-int8") {
    return QuantizeProgram({.program = &*program_, .patterns = patterns_, .calibration = &data_},
                           *RecipeByName(recipe), {.kernels = &kernels_, .max_loss = max_loss});
  }
  static std::vector<std::string> KeptNodes(const QuantizeResult& result) {
    std::vector<std::string> nodes;
    for (const UnquantizedNode& node : result.unquantized) nodes.push_back(node.node);
    return nodes;
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
  std::optional<ExportedProgram> program_;
  TensorCalls data_{{4, 32}, {PseudoRandom(128, 11), PseudoRandom(128, 12)}};
  QuantizationPatterns patterns_ = {.patterns = {{.op = "aten.mm.default", .kind = Kind::kAnchor}}};
};

TEST_F(MixedPrecisionTest, QuantizesAllIfTheBoundHolds) {
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result, Quantize(MaxLoss{LossMetric::kSnr, 5}));
  EXPECT_THAT(result.unquantized, IsEmpty());
  ASSERT_TRUE(result.measured.has_value());
  EXPECT_EQ(result.measured->all_quantized, result.measured->loss);
  EXPECT_THAT(result.measured->individual, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const QuantizeResult unbounded, Quantize(std::nullopt));
  EXPECT_EQ(PrintProgram(result.program), PrintProgram(unbounded.program));
  EXPECT_FALSE(unbounded.measured.has_value());
}

TEST_F(MixedPrecisionTest, KeepsTheOperatorThatCostsMost) {
  ASSERT_OK_AND_ASSIGN(const QuantizeResult all, Quantize(MaxLoss{LossMetric::kSnr, 0}));
  // Above the whole program, below that without "wide".
  const MaxLoss bound = {LossMetric::kSnr, *all.measured->loss + 3};
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result, Quantize(bound));
  EXPECT_THAT(KeptNodes(result), ElementsAre("b"));
  EXPECT_THAT(result.unquantized[0].reason,
              AllOf(HasSubstr("kept in float32 for snr >= "),
                    HasSubstr("quantizing only this weight gives snr ")));
  EXPECT_EQ(*result.measured->all_quantized, *all.measured->loss);
  EXPECT_GE(*result.measured->loss, bound.bound);
  EXPECT_THAT(result.measured->individual, UnorderedElementsAre(Key("a"), Key("b"), Key("c")));
  EXPECT_LT(result.measured->individual.at("b"), result.measured->individual.at("a"));
  EXPECT_THAT(result.quantized, SizeIs(2));
  EXPECT_OK(Verify(result.program));
  EXPECT_OK(VerifyEdge(result.program));
}

TEST_F(MixedPrecisionTest, KeepsAllIfNothingElseHolds) {
  for (const MaxLoss& bound : {MaxLoss{LossMetric::kSnr, 500}, MaxLoss{LossMetric::kCosine, 1},
                               MaxLoss{LossMetric::kMse, 0}}) {
    ASSERT_OK_AND_ASSIGN(const QuantizeResult result, Quantize(bound));
    EXPECT_THAT(KeptNodes(result), ElementsAre("a", "b", "c")) << bound.ToString();
    EXPECT_TRUE(bound.Holds(*result.measured->loss));
    EXPECT_EQ(PrintProgram(result.program), PrintProgram(*program_));
  }
}

TEST_F(MixedPrecisionTest, BoundsEachMetric) {
  for (const MaxLoss& bound :
       {MaxLoss{LossMetric::kCosine, 0.99999}, MaxLoss{LossMetric::kMse, 1e-3}}) {
    ASSERT_OK_AND_ASSIGN(const QuantizeResult result, Quantize(bound));
    EXPECT_FALSE(bound.Holds(*result.measured->all_quantized)) << bound.ToString();
    EXPECT_TRUE(bound.Holds(*result.measured->loss)) << bound.ToString();
    EXPECT_THAT(KeptNodes(result), testing::Contains("b"));
  }
}

TEST_F(MixedPrecisionTest, BoundsStaticQuantization) {
  ASSERT_OK_AND_ASSIGN(const QuantizeResult all,
                       Quantize(MaxLoss{LossMetric::kSnr, 0}, "int8-static"));
  const MaxLoss bound = {LossMetric::kSnr, *all.measured->loss + 3};
  ASSERT_OK_AND_ASSIGN(const QuantizeResult result, Quantize(bound, "int8-static"));
  EXPECT_THAT(result.unquantized, testing::Not(IsEmpty()));
  EXPECT_THAT(result.quantized, testing::Not(IsEmpty()));
  EXPECT_GE(*result.measured->loss, bound.bound);
  EXPECT_OK(Verify(result.program));
}

TEST_F(MixedPrecisionTest, SameInputGivesSameProgram) {
  const MaxLoss bound = {LossMetric::kSnr, 40};
  ASSERT_OK_AND_ASSIGN(const QuantizeResult first, Quantize(bound));
  ASSERT_OK_AND_ASSIGN(const QuantizeResult second, Quantize(bound));
  EXPECT_EQ(PrintProgram(first.program), PrintProgram(second.program));
}

// Operators that share a weight are one group, in all methods.
TEST_F(MixedPrecisionTest, MethodsKeepSharedWeightsTogether) {
  const ExportedProgram other = program_->Clone();
  ASSERT_OK_AND_ASSIGN(const QuantizeResult all, Quantize(MaxLoss{LossMetric::kSnr, 0}));
  TensorCalls large({4, 32}, {PseudoRandom(128, 5)});
  ASSERT_OK_AND_ASSIGN(
      const std::vector<QuantizeResult> results,
      QuantizePrograms(
          {{.program = &*program_, .method = "prefill", .calibration = &data_},
           {.program = &other, .method = "decode", .calibration = &large}},
          *RecipeByName("weights-int8"),
          {.kernels = &kernels_, .max_loss = MaxLoss{LossMetric::kSnr, *all.measured->loss + 3}}));
  EXPECT_EQ(KeptNodes(results[0]), KeptNodes(results[1]));
  EXPECT_THAT(KeptNodes(results[0]), testing::Contains("b"));
}

TEST_F(MixedPrecisionTest, ReportsProgress) {
  std::vector<double> fractions;
  ASSERT_OK(QuantizeProgram({.program = &*program_, .calibration = &data_},
                            *RecipeByName("weights-int8"),
                            {.kernels = &kernels_,
                             .max_loss = MaxLoss{LossMetric::kSnr, 500},
                             .progress = [&](double done) { fractions.push_back(done); }})
                .status());
  ASSERT_THAT(fractions, testing::Not(IsEmpty()));
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_LE(fractions.back(), 1);
}

TEST_F(MixedPrecisionTest, StopsWhenCancelled) {
  const std::atomic<bool> cancel = true;
  Budget budget;
  budget.cancel = &cancel;
  const Budget::Scope scope(&budget);
  EXPECT_THAT(Quantize(MaxLoss{LossMetric::kSnr, 500}).status(),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(MixedPrecisionTest, NeedsCalibrationDataAndKernels) {
  const QuantizeOptions options = {.kernels = &kernels_, .max_loss = MaxLoss{}};
  EXPECT_THAT(QuantizeProgram({.program = &*program_, .method = "decode"},
                              *RecipeByName("weights-int8"), options)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("method 'decode'"), HasSubstr("calibration data"))));
  EXPECT_THAT(QuantizeProgram({.program = &*program_, .calibration = &data_},
                              *RecipeByName("weights-int8"), {.max_loss = MaxLoss{}})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kernels")));
}

}  // namespace
}  // namespace belay::exir
