#include "tools/belay/node_gaps.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/profile/testing/unary_call.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A sine that is 0.5 too large.
absl::Status WrongSin(KernelContext& context, const UnaryCall& call) {
  const TensorView* const in = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, in->sizes));
  for (int64_t i = 0; i < in->numel(); ++i) {
    out->as<float>()[i] = std::sin(in->as<float>()[i]) + 0.5f;
  }
  return absl::OkStatus();
}
constexpr Kernel kWrong[] = {
    KernelRow<&WrongSin>("aten.sin.default", "self", "WrongSin", KernelEngine::kHighway),
};

class NodeGapsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(reference_));
    ASSERT_OK(AddStandardKernels(kernels_));
  }

  absl::StatusOr<std::vector<NodeGap>> Measure(std::string_view text, const TestTensor& x) {
    const exir::ExportedProgram program = exir::ParseOrDie(text, *ops_);
    const LoweringSetup setup{.partitioners = {},
                              .aot = &AotBackends(),
                              .runtime = &RuntimeBackends(),
                              .kernels = &kernels_,
                              .reference = &reference_};
    return MeasureNodeGaps(program, {EValue(x.view())}, setup);
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_, reference_;
  const TestTensor x_ = TestTensor::Of<float>({3}, {1, 2, 3});
};

TEST_F(NodeGapsTest, SortsNodesByGap) {
  ASSERT_OK(kernels_.Add(kWrong));
  ASSERT_OK_AND_ASSIGN(const std::vector<NodeGap> gaps, Measure(R"(program edge {
    graph(%x: f32[3] user_input) {
      %n: f32[3] = edge.aten.neg.default(%x)
      %s: f32[3] = edge.aten.sin.default(%x) @"m.py":12
      %t: f32[3] = edge.aten.mul.Tensor(%s, %n)
      %i: b8[3] = edge.aten.gt.Tensor(%t, %s)
      %c: f32[3] = edge.aten.where.self(%i, %n, %t)
      return (%c user_output)
    } })",
                                                                x_));
  ASSERT_EQ(gaps.size(), 4);  // not the comparison, whose result is bool
  EXPECT_THAT(gaps[3].node, HasSubstr("%n"));
  EXPECT_EQ(gaps[3].sums.Value(exir::LossMetric::kSnr), std::numeric_limits<double>::infinity());
  EXPECT_EQ(gaps[3].sums.elements, 3);
  EXPECT_EQ(gaps[3].largest.absolute, 0);
  bool found = false;
  for (const NodeGap& gap : gaps) {
    EXPECT_EQ(gap.backend, "");
    if (gap.node.find("m.py:12") == std::string::npos) continue;
    found = true;
    EXPECT_NEAR(gap.sums.Value(exir::LossMetric::kMse), 0.25, 1e-6);
    EXPECT_NEAR(gap.largest.absolute, 0.5, 1e-6);
  }
  EXPECT_TRUE(found);
}

TEST_F(NodeGapsTest, MeasuresMoreNodesThanOneProgramReturns) {
  std::string text = "program edge { graph(%x: f32[3] user_input) {\n";
  std::string last = "%x";
  for (int i = 0; i < 300; ++i) {
    const std::string next = "%v" + std::to_string(i);
    text += next + ": f32[3] = edge.aten.neg.default(" + last + ")\n";
    last = next;
  }
  text += "return (" + last + " user_output) } }";
  ASSERT_OK_AND_ASSIGN(const std::vector<NodeGap> gaps, Measure(text, x_));
  EXPECT_EQ(gaps.size(), 300);
  // Equal gaps keep the order of the nodes.
  EXPECT_THAT(gaps[0].node, HasSubstr("%v0"));
  EXPECT_THAT(gaps[299].node, HasSubstr("%v299"));
}

TEST_F(NodeGapsTest, PassesOnErrorsOfExecution) {
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  EXPECT_THAT(Measure(R"(program edge { graph(%x: f32[3] user_input) {
      %n: f32[3] = edge.aten.neg.default(%x)
      return (%n user_output)
    } })",
                      x),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x")));
}

TEST_F(NodeGapsTest, ProgramsWithoutNodesHaveNone) {
  ASSERT_OK_AND_ASSIGN(const std::vector<NodeGap> gaps,
                       Measure("program edge { graph(%x: f32[3] user_input) { return (%x "
                               "user_output) } }",
                               x_));
  EXPECT_THAT(gaps, IsEmpty());
}

}  // namespace
}  // namespace belay::tools
