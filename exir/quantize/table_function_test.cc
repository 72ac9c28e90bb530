#include "exir/quantize/table_function.h"

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ir/float_elements.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

class TableFunctionTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  // Evaluates all nodes as functions of the value 'x'.
  absl::StatusOr<std::vector<float>> Evaluate(std::string_view text,
                                              const std::vector<float>& points) {
    ExportedProgram program = ParseOrDie(text, **ops_);
    for (auto& [name, constant] : program.constants) constant = *FloatConstant({}, {0.5F});
    std::vector<NodeId> nodes;
    for (NodeId id : program.top().nodes()) nodes.push_back(id);
    ValueId root;
    for (ValueId input : program.top().inputs()) {
      if (program.top().value(input).name == "x") root = input;
    }
    return EvaluateTable(program, nodes, absl::MakeConstSpan(&root, 1), points, kernels_);
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
};

TEST_F(TableFunctionTest, EvaluatesChainsWithScalarsAndStoredNumbers) {
  const auto result = Evaluate(R"(program edge {
  constants { constant "c": f32[] }
  graph(%c: f32[] tensor_constant "c", %x: f32[1,2,2,2] user_input) {
    %s: f32[1,2,2,2] = edge.aten.sigmoid.default(%x)
    %m: f32[1,2,2,2] = edge.aten.mul.Tensor(%x, %s)
    %h: f32[1,2,2,2] = edge.aten.mul.Tensor(%m, %c)
    %r: f32[1,2,2,2] = edge.aten.add.Scalar(%h, 3)
    return (%r user_output) } })",
                               {-1, 0, 2});
  ASSERT_OK(result);
  const auto expected = [](float x) { return FloatNear(0.5F * x / (1 + std::exp(-x)) + 3, 1e-6F); };
  EXPECT_THAT(*result, ElementsAre(expected(-1), expected(0), expected(2)));
}

TEST_F(TableFunctionTest, RejectsOtherOperands) {
  const auto result = Evaluate(R"(program edge {
  graph(%y: f32[2] user_input, %x: f32[2] user_input) {
    %r: f32[2] = edge.aten.mul.Tensor(%x, %y)
    return (%r user_output) } })",
                               {1});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("'y' is not a constant"));
}

TEST_F(TableFunctionTest, RejectsResultsOfAnotherNumberOfElements) {
  const auto result = Evaluate(R"(program edge {
  graph(%x: f32[2] user_input) {
    %r: f32[2,2] = edge.aten.stack.default([%x, %x])
    return (%r user_output) } })",
                               {1});
  EXPECT_FALSE(result.ok());
}

}  // namespace
}  // namespace belay::exir
