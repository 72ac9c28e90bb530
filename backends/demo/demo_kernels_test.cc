#include "backends/demo/demo_kernels.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::demo {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

struct Operand {
  Sizes sizes;
  std::vector<float> elements;
};

std::vector<float> Computed(const DemoKernelCall& call, std::vector<Operand> operands) {
  std::vector<Sizes> sizes;
  std::vector<TensorView> views;
  for (Operand& operand : operands) {
    sizes.push_back(operand.sizes);
    views.push_back(
        TensorView::Contiguous(DType::kFloat32, operand.sizes, operand.elements.data()));
  }
  const auto of_result = DemoResultSizes(call.op, sizes, /*bounds=*/false);
  EXPECT_OK(of_result.status());
  std::vector<float> result(static_cast<size_t>(*NumElements(*of_result)), -7);
  RunDemoKernel(call, views, TensorView::Contiguous(DType::kFloat32, *of_result, result.data()));
  return result;
}

TEST(DemoKernelsTest, ComputesEachOperator) {
  EXPECT_THAT(Computed({.op = DEMO_OP_RELU}, {{{3}, {-1, 0, 2}}}), ElementsAre(0, 0, 2));
  EXPECT_THAT(Computed({.op = DEMO_OP_SIGMOID}, {{{2}, {0, std::log(3.0f)}}}),
              ElementsAre(0.5f, FloatEq(0.75f)));
  EXPECT_THAT(Computed({.op = DEMO_OP_TANH}, {{{2}, {0, std::log(2.0f)}}}),
              ElementsAre(0, FloatEq(0.6f)));
  EXPECT_THAT(Computed({.op = DEMO_OP_ADD, .alpha = 2}, {{{2}, {1, 2}}, {{2}, {10, 20}}}),
              ElementsAre(21, 42));
  EXPECT_THAT(Computed({.op = DEMO_OP_SUB, .alpha = 2}, {{{2}, {1, 2}}, {{2}, {10, 20}}}),
              ElementsAre(-19, -38));
  EXPECT_THAT(Computed({.op = DEMO_OP_MM}, {{{1, 2}, {1, 10}}, {{2, 2}, {1, 2, 3, 4}}}),
              ElementsAre(31, 42));
  EXPECT_THAT(Computed({.op = DEMO_OP_ADDMM, .alpha = 2, .beta = 3},
                       {{{2}, {100, 200}}, {{1, 2}, {1, 10}}, {{2, 2}, {1, 2, 3, 4}}}),
              ElementsAre(362, 684));
}

// Either operand may be broadcast.
TEST(DemoKernelsTest, Broadcast) {
  EXPECT_THAT(Computed({.op = DEMO_OP_MUL}, {{{2, 1}, {1, 10}}, {{1, 3}, {1, 2, 3}}}),
              ElementsAre(1, 2, 3, 10, 20, 30));
  EXPECT_THAT(Computed({.op = DEMO_OP_MUL}, {{{3}, {1, 2, 3}}, {{2, 1}, {1, 10}}}),
              ElementsAre(1, 2, 3, 10, 20, 30));
  EXPECT_THAT(Computed({.op = DEMO_OP_SUB}, {{{}, {1}}, {{2}, {1, 2}}}), ElementsAre(0, -1));
  EXPECT_THAT(Computed({.op = DEMO_OP_SUB}, {{{2}, {1, 2}}, {{}, {1}}}), ElementsAre(0, 1));
}

TEST(DemoKernelsTest, ZeroBetaIgnoresTheBias) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Computed({.op = DEMO_OP_ADDMM, .alpha = 2, .beta = 0},
                       {{{1}, {kNan}}, {{1, 1}, {3}}, {{1, 2}, {1, 2}}}),
              ElementsAre(6, 12));
}

TEST(DemoKernelsTest, RejectsMismatchedSizes) {
  const auto refused = [](DemoOp op, const std::vector<Sizes>& sizes, const char* message,
                          bool bounds = false) {
    EXPECT_THAT(DemoResultSizes(op, sizes, bounds),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused(DEMO_OP_ADD, {{2}, {3}}, "sizes [2] and [3] do not broadcast");
  refused(DEMO_OP_MM, {{2}, {2, 3}}, "sizes [2] and [2,3] do not form a matmul");
  refused(DEMO_OP_MM, {{2, 3}, {3}}, "do not form a matmul");
  refused(DEMO_OP_MM, {{2, 3}, {2, 3}}, "do not form a matmul");
  refused(DEMO_OP_ADDMM, {{1}, {2, 3}, {2, 3}}, "do not form a matmul");
  refused(DEMO_OP_ADDMM, {{3}, {2, 3}, {3, 4}}, "sizes [3] and [2,4] do not broadcast");
  refused(DEMO_OP_ADDMM, {{5, 2, 4}, {2, 3}, {3, 4}}, "sizes [5,2,4] do not broadcast to [2,4]");
  // Smaller sizes than the bounds may match; ranks do not change.
  refused(DEMO_OP_ADDMM, {{1, 2, 4}, {2, 3}, {3, 4}}, "sizes [1,2,4] do not form a matrix", true);
  EXPECT_EQ(DemoResultSizes(DEMO_OP_ADD, std::vector<Sizes>{{2}, {3}}, true).value(), Sizes({3}));
  EXPECT_EQ(DemoResultSizes(DEMO_OP_MM, std::vector<Sizes>{{2, 3}, {2, 4}}, true).value(),
            Sizes({2, 4}));
  EXPECT_EQ(DemoResultSizes(DEMO_OP_ADDMM, std::vector<Sizes>{{7}, {2, 3}, {3, 4}}, true).value(),
            Sizes({2, 4}));
}

TEST(DemoKernelsTest, OperatorsHaveOneToThreeOperands) {
  for (DemoOp op : {DEMO_OP_RELU, DEMO_OP_SIGMOID, DEMO_OP_TANH}) {
    EXPECT_EQ(DemoOperandCount(op), 1) << op;
  }
  for (DemoOp op : {DEMO_OP_ADD, DEMO_OP_SUB, DEMO_OP_MUL, DEMO_OP_MM}) {
    EXPECT_EQ(DemoOperandCount(op), 2) << op;
  }
  EXPECT_EQ(DemoOperandCount(DEMO_OP_ADDMM), 3);
  EXPECT_EQ(DemoOperandCount(DEMO_OP_UNSPECIFIED), 0);
}

TEST(DemoKernelsTest, MatmulWorkCountsMultiplyAdds) {
  const auto work = [](DemoOp op, const std::vector<Sizes>& sizes) {
    return DemoWork(op, sizes, DemoResultSizes(op, sizes, false).value());
  };
  EXPECT_EQ(work(DEMO_OP_RELU, {{4, 5}}), 20u);
  EXPECT_EQ(work(DEMO_OP_ADD, {{4, 1}, {1, 5}}), 20u);
  EXPECT_EQ(work(DEMO_OP_MM, {{4, 3}, {3, 5}}), 60u);
  EXPECT_EQ(work(DEMO_OP_ADDMM, {{5}, {4, 3}, {3, 5}}), 60u);
  EXPECT_EQ(work(DEMO_OP_MM, {{4, 0}, {0, 5}}), 20u);
  const int64_t many = int64_t{1} << 40;
  EXPECT_EQ(work(DEMO_OP_MM, {{many, many}, {many, 1}}), UINT64_MAX);
  EXPECT_EQ(DemoWork(DEMO_OP_RELU, {}, {many, many}), UINT64_MAX);
}

TEST(DemoKernelsTest, UnknownOperatorWritesNothing) {
  EXPECT_THAT(Computed({.op = DEMO_OP_UNSPECIFIED}, {{{2}, {1, 2}}}), ElementsAre(-7, -7));
}

// A loop over the rows would not terminate.
TEST(DemoKernelsTest, EmptyMatmulWithManyRowsTerminates) {
  constexpr int64_t kRows = int64_t{1} << 58;
  const TensorView a = TensorView::Contiguous(DType::kFloat32, {kRows, 0}, nullptr),
                   b = TensorView::Contiguous(DType::kFloat32, {0, 0}, nullptr);
  ASSERT_OK_AND_ASSIGN(const Sizes sizes,
                       DemoResultSizes(DEMO_OP_MM, {a.sizes, b.sizes}, /*bounds=*/false));
  EXPECT_EQ(sizes, Sizes({kRows, 0}));
  RunDemoKernel({.op = DEMO_OP_MM, .alpha = 1, .beta = 1}, {a, b},
                TensorView::Contiguous(DType::kFloat32, sizes, nullptr));
}

}  // namespace
}  // namespace belay::demo
