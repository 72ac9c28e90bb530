#include "exir/quantize/output_loss.h"

#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "exir/ops/standard_ops.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ParseMaxLossTest, ReadsMetrics) {
  ASSERT_OK_AND_ASSIGN(const MaxLoss snr, ParseMaxLoss("snr=30.5"));
  EXPECT_EQ(snr.ToString(), "snr >= 30.5");
  ASSERT_OK_AND_ASSIGN(const MaxLoss cosine, ParseMaxLoss("cosine=0.99"));
  EXPECT_EQ(cosine.ToString(), "cosine >= 0.99");
  ASSERT_OK_AND_ASSIGN(const MaxLoss mse, ParseMaxLoss("mse=1e-4"));
  EXPECT_EQ(mse.ToString(), "mse <= 0.0001");
}

TEST(ParseMaxLossTest, RejectsInvalidBounds) {
  const auto expect = [](std::string_view text, const std::string& message) {
    EXPECT_THAT(ParseMaxLoss(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  };
  expect("", "expected snr=VALUE, cosine=VALUE or mse=VALUE, got ''");
  expect("snr", "got 'snr'");
  expect("psnr=3", "got 'psnr=3'");
  expect("snr=", "expected a finite number for snr, got ''");
  expect("snr=nan", "expected a finite number for snr, got 'nan'");
  expect("cosine=1.5", "expected a number from -1 to 1 for cosine, got '1.5'");
  expect("mse=-1", "expected a number of at least 0 for mse, got '-1'");
}

TEST(MaxLossTest, LargerSnrAndSmallerMseAreBetter) {
  const MaxLoss snr = {LossMetric::kSnr, 20}, mse = {LossMetric::kMse, 0.1};
  EXPECT_TRUE(snr.Holds(20) && snr.Holds(kInfinity) && !snr.Holds(19.9));
  EXPECT_TRUE(mse.Holds(0.1) && mse.Holds(0) && !mse.Holds(0.2));
  EXPECT_TRUE(snr.IsWorse(1, 2) && mse.IsWorse(2, 1));
}

class ReferenceOutputsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(const std::string& body) const {
    return ParseOrDie("program edge { graph(%x: f32[2] user_input) { " + body + " } }", **ops_);
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
  TensorCalls data_{{2}, {{1, 2}, {3, 4}}};
};

TEST_F(ReferenceOutputsTest, ReturnsTheLossOfTheWorstOutput) {
  const ExportedProgram program = Parse(
      "%a: f32[2] = edge.aten.relu.default(%x) %b: f32[2] = edge.aten.relu.default(%x) "
      "return (%a user_output, %b user_output)");
  const ExportedProgram other = Parse(
      "%a: f32[2] = edge.aten.relu.default(%x) %b: f32[2] = edge.aten.neg.default(%x) "
      "return (%a user_output, %b user_output)");
  ASSERT_OK_AND_ASSIGN(const ReferenceOutputs reference,
                       ReferenceOutputs::Record(program, kernels_, data_, nullptr));
  CallProgress progress;
  const MaxLoss cosine = {LossMetric::kCosine, 1};
  ASSERT_OK_AND_ASSIGN(const double equal, reference.LossOf(program, cosine, &progress));
  EXPECT_EQ(equal, 1);
  ASSERT_OK_AND_ASSIGN(const double opposite, reference.LossOf(other, cosine, &progress));
  EXPECT_NEAR(opposite, -1, 1e-12);
  EXPECT_EQ(progress.done, 4);
}

TEST_F(ReferenceOutputsTest, NeedsAFloatingPointOutput) {
  const ExportedProgram program =
      Parse("%a: b8[2] = edge.aten.logical_not.default(%x) return (%a user_output)");
  EXPECT_THAT(ReferenceOutputs::Record(program, kernels_, data_, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("floating-point outputs")));
}

}  // namespace
}  // namespace belay::exir
