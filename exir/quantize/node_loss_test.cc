#include "exir/quantize/node_loss.h"

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/quantize/quantize_program.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::SizeIs;

class NodeLossTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  ExportedProgram Parse(std::string_view text) const { return ParseOrDie(text, **ops_); }
  static double Snr(const NodeLoss& loss) { return loss.sums.Value(LossMetric::kSnr); }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
};

constexpr char kProgram[] = R"(program edge { graph(%x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Scalar(%x, 1, 1)
    %b: f32[2] = edge.aten.mul.Scalar(%a, 2)
    return (%b user_output) } })";

TEST_F(NodeLossTest, EqualProgramsHaveNoLoss) {
  const ExportedProgram program = Parse(kProgram);
  TensorCalls data({2}, {{1, 2}, {3, 4}});
  ASSERT_OK_AND_ASSIGN(const NodeLosses losses,
                       MeasureNodeLosses(program, program.Clone(), {}, kernels_, data, nullptr));
  EXPECT_EQ(losses.calls, 2);
  ASSERT_THAT(losses.nodes, SizeIs(2));
  EXPECT_EQ(losses.nodes[0].op, "aten.add.Scalar");
  for (const NodeLoss& loss : losses.nodes) {
    EXPECT_EQ(loss.sums.elements, 4);
    EXPECT_EQ(Snr(loss), std::numeric_limits<double>::infinity());
  }
}

// The first node adds 1.5 instead of 1; the second one doubles the error.
TEST_F(NodeLossTest, ErrorsReachLaterNodes) {
  const ExportedProgram program = Parse(kProgram);
  std::string changed = kProgram;
  changed.replace(changed.find("%x, 1,"), 6, "%x, 1.5,");
  TensorCalls data({2}, {{1, 2}});
  ASSERT_OK_AND_ASSIGN(const NodeLosses losses,
                       MeasureNodeLosses(program, Parse(changed), {}, kernels_, data, nullptr));
  ASSERT_THAT(losses.nodes, SizeIs(2));
  EXPECT_EQ(losses.nodes[0].sums.max_error, 0.5);
  EXPECT_EQ(losses.nodes[1].sums.max_error, 1);
}

TEST_F(NodeLossTest, ComparesTheCallsThatFit) {
  const ExportedProgram program = Parse(kProgram);
  TensorCalls data({2}, {{1, 2}, {3, 4}, {5, 6}});
  const auto calls = [&](uint64_t max_bytes) {
    const absl::StatusOr<NodeLosses> losses =
        MeasureNodeLosses(program, program.Clone(), {}, kernels_, data, nullptr, max_bytes);
    EXPECT_OK(losses);
    EXPECT_EQ(losses->nodes.at(0).sums.elements, 2 * static_cast<uint64_t>(losses->calls));
    return losses->calls;
  };
  EXPECT_EQ(calls(32), 2);  // a call has 16 bytes of values
  EXPECT_EQ(calls(31), 1);
  EXPECT_EQ(calls(1), 1);
}

// Bias correction replaces the matmul.
TEST_F(NodeLossTest, QuantizedProgramsReportEachFloat32Node) {
  ExportedProgram program = Parse(R"(program edge {
  constants { state "w": f32[8,8] }
  graph(%w: f32[8,8] parameter "w", %x: f32[4,8] user_input) {
    %p: f32[8,8] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[4,8] = edge.aten.mm.default(%x, %p)
    %z: f32[4,8] = edge.aten.tanh.default(%y)
    return (%z user_output) } })");
  program.state_dict.at("w") = *FloatConstant({8, 8}, PseudoRandom(64, 3));
  TensorCalls data({4, 8}, {PseudoRandom(32, 1), PseudoRandom(32, 2)});
  const QuantizationPatterns patterns = {
      .patterns = {{.op = "aten.mm.default", .kind = QuantizationPattern::Kind::kAnchor},
                   {.op = "aten.addmm.default", .kind = QuantizationPattern::Kind::kAnchor}}};
  ASSERT_OK_AND_ASSIGN(
      const QuantizeResult result,
      QuantizeProgram({.program = &program, .patterns = patterns, .calibration = &data},
                      *RecipeByName("int8-static"), {.kernels = &kernels_, .node_losses = true}));
  ASSERT_TRUE(result.node_losses.has_value());
  std::map<std::string, double> by_op;
  for (const NodeLoss& loss : result.node_losses->nodes) by_op[loss.op] = Snr(loss);
  ASSERT_TRUE(by_op.contains("aten.mm.default"));
  ASSERT_TRUE(by_op.contains("aten.tanh.default"));
  for (const char* op : {"aten.mm.default", "aten.tanh.default"}) {
    EXPECT_GT(by_op[op], 25);
    EXPECT_LT(by_op[op], 60);
  }
}

}  // namespace
}  // namespace belay::exir
